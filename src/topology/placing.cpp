// Which levels hold for all ranks, which of these say something, and in which order they nest.
#include "topology/placing.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>

namespace omnes::inline topology {

namespace {

/// Where two levels part the ranks alike or cross each other, the one named earlier here stays: the node, as what lies
/// beyond it is another transport; then as the paper has them (memories before sockets before caches).
constexpr std::array<std::size_t, level_count> precedence = {5, 6, 7, 8, 9, 3, 4, 2, 1, 0};

struct Candidate {
  std::size_t level;
  PlacementLevel units;  ///< numbered from 0 in the order of their lowest ranks
  std::int32_t count;
};

struct Unknown {
  std::uint64_t value;
  const char* why;
};
constexpr Unknown unknowns[] = {
    {Whereabouts::several, "not bound to one"},
    {Whereabouts::unlisted, "on a node that the network's file does not name"},
    {Whereabouts::none, "without one"},
};

/// "not bound to one: rank 3", or "...: rank 3 and 7 more"; empty when all ranks know their unit.
std::string why_unknown(std::span<const Whereabouts> ranks, std::size_t level) {
  for (const auto& [value, why] : unknowns) {
    const auto is = [&](const Whereabouts& rank) { return rank.unit[level] == value; };
    const auto first = std::ranges::find_if(ranks, is);
    if (first == ranks.end()) continue;
    const auto more = std::ranges::count_if(ranks, is) - 1;
    return std::string(why) + ": rank " + std::to_string(first - ranks.begin()) +
           (more > 0 ? " and " + std::to_string(more) + " more" : "");
  }
  return "";
}

Candidate number_units(std::span<const Whereabouts> ranks, std::size_t level) {
  Candidate made{level, {level_names[level], {}}, 0};
  made.units.unit.reserve(ranks.size());
  std::unordered_map<std::uint64_t, std::int32_t> numbers;
  for (const Whereabouts& rank : ranks) {
    const auto [at, fresh] = numbers.try_emplace(rank.unit[level], made.count);
    made.count += fresh;
    made.units.unit.push_back(at->second);
  }
  return made;
}

/// Whether ranks on one unit of the finer level lie on one unit of the coarser.
bool nests(const Candidate& finer, const Candidate& coarser) {
  std::vector<std::int32_t> above(static_cast<std::size_t>(finer.count), -1);
  for (std::size_t rank = 0; rank < finer.units.unit.size(); ++rank) {
    std::int32_t& seen = above[static_cast<std::size_t>(finer.units.unit[rank])];
    if (seen >= 0 && seen != coarser.units.unit[rank]) return false;
    seen = coarser.units.unit[rank];
  }
  return true;
}

std::optional<LeftOut> clash(const Candidate& one, const std::vector<Candidate>& kept) {
  using Kind = LeftOut::Kind;
  for (const Candidate& other : kept) {
    // Numbered alike, equal parts are equal vectors.
    if (one.units.unit == other.units.unit)
      return LeftOut{Kind::inactive, one.units.name, "the same as " + other.units.name};
    if (!(one.count > other.count ? nests(one, other) : nests(other, one)))
      return LeftOut{Kind::declined, one.units.name, "crosses " + other.units.name};
  }
  return std::nullopt;
}

std::optional<LeftOut> useless(std::span<const Whereabouts> ranks, std::size_t level, LevelSet wanted,
                               std::optional<Candidate>& candidate) {
  using Kind = LeftOut::Kind;
  const std::string name = level_names[level];
  if (std::ranges::all_of(ranks, [&](const Whereabouts& rank) { return rank.unit[level] == Whereabouts::none; }))
    return LeftOut{Kind::absent, name, "there is none"};
  if (!wanted[level]) return LeftOut{Kind::off, name, "switched off"};
  if (std::string why = why_unknown(ranks, level); !why.empty()) return LeftOut{Kind::declined, name, std::move(why)};
  candidate = number_units(ranks, level);
  if (candidate->count == 1) return LeftOut{Kind::inactive, name, "all ranks share one"};
  if (candidate->count == static_cast<std::int32_t>(ranks.size()))
    return LeftOut{Kind::inactive, name, "no two ranks share one"};
  return std::nullopt;
}

}  // namespace

const char* name(LeftOut::Kind kind) {
  static constexpr const char* names[] = {"off", "absent", "inactive", "declined"};
  return names[static_cast<int>(kind)];
}

Placed place(std::span<const Whereabouts> ranks, LevelSet wanted) {
  std::array<std::optional<LeftOut>, level_count> left_out;
  std::vector<Candidate> kept;
  for (const std::size_t level : precedence) {
    std::optional<Candidate> candidate;
    left_out[level] = useless(ranks, level, wanted, candidate);
    if (!left_out[level]) left_out[level] = clash(*candidate, kept);
    if (!left_out[level]) kept.push_back(std::move(*candidate));
  }
  // They nest and differ, so the wider has fewer units.
  std::ranges::sort(kept, std::greater{}, &Candidate::count);
  Placed placed{{static_cast<int>(ranks.size()), {}}, {}};
  for (Candidate& one : kept) placed.placement.levels.push_back(std::move(one.units));
  for (std::optional<LeftOut>& one : left_out)
    if (one) placed.left_out.push_back(std::move(*one));
  return placed;
}

}  // namespace omnes::inline topology
