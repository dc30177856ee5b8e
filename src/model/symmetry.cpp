// Finding the symmetry: first the placement's, which is cheap, then a few schedules.
#include "model/symmetry.hpp"

#include <algorithm>
#include <unordered_map>

namespace omnes::model {

namespace {

constexpr int max_tried = 4;        // numbers of classes whose schedules are compared
constexpr int representatives = 4;  // classes that are looked at, of each number
constexpr int members = 3;          // further ranks of each that are looked at

/// Whether renumbering maps units of a level onto units.
bool maps_units(const PlacementLevel& level, int p, const auto& renumbered) {
  std::unordered_map<std::int32_t, std::int32_t> image, preimage;
  for (int rank = 0; rank < p; ++rank) {
    const std::int32_t from = level.unit[rank], to = level.unit[renumbered(rank)];
    if (image.try_emplace(from, to).first->second != to || preimage.try_emplace(to, from).first->second != from)
      return false;
  }
  return true;
}

bool allows(const Placement& placement, const Symmetry& symmetry) {
  const int p = symmetry.p;
  return std::ranges::all_of(placement.levels, [&](const PlacementLevel& level) {
    if (!symmetry.exclusive) return maps_units(level, p, [&](int r) { return (r + symmetry.classes) % p; });
    for (int bit = symmetry.classes; bit < p; bit *= 2)
      if (!maps_units(level, p, [&](int r) { return r ^ bit; })) return false;
    return true;
  });
}

/// Whether both schedules are the same up to the renumbering of ranks.
bool alike(const Schedule& a, const Schedule& b, const Symmetry& symmetry) {
  if (a.ops.size() != b.ops.size() || a.pieces != b.pieces || a.deps != b.deps || a.peers.size() != b.peers.size())
    return false;
  const int ra = a.problem.rank, rb = b.problem.rank;
  const auto same_peer = [&](int pa, int pb) { return symmetry.displacement(ra, pa) == symmetry.displacement(rb, pb); };
  for (std::size_t i = 0; i < a.ops.size(); ++i) {
    const Op &x = a.ops[i], &y = b.ops[i];
    if (x.kind != y.kind || x.published != y.published || x.a.count != y.a.count || x.dst.count != y.dst.count)
      return false;
    const auto pa = a.peers_of(x), pb = b.peers_of(y);
    if (!std::equal(pa.begin(), pa.end(), pb.begin(), pb.end(), same_peer)) return false;
  }
  return true;
}

bool alike(const Symmetry& symmetry, const ScheduleOf& schedule) {
  const int m = symmetry.classes, turns = symmetry.p / m;
  for (int i = 0; i < std::min(representatives, m); ++i) {
    const int first =
        static_cast<int>(static_cast<std::int64_t>(m - 1) * i / std::max(1, std::min(representatives, m) - 1));
    const Schedule expected = schedule(first);
    for (int j = 1; j <= members; ++j) {
      const int turn = j == 1 ? 1 : j == 2 ? turns / 2 : turns - 1 - (i % 2) * (turns / 3);
      if (turn % turns != 0 && !alike(expected, schedule(first + turn * m), symmetry)) return false;
    }
  }
  return true;
}

}  // namespace

Symmetry find_symmetry(int p, const Placement& placement, const ScheduleOf& schedule) {
  const bool power_of_two = (p & (p - 1)) == 0;
  int tried = 0;
  for (int m = 1; m <= p / 2 && tried < max_tried; ++m) {
    if (p % m != 0) continue;
    bool compared = false;
    for (const bool exclusive : {false, true}) {
      if (exclusive && !power_of_two) continue;
      const Symmetry symmetry{p, m, exclusive};
      if (!allows(placement, symmetry)) continue;
      compared = true;
      if (alike(symmetry, schedule)) return symmetry;
    }
    if (compared) ++tried;
  }
  return {p, p, false};
}

}  // namespace omnes::model
