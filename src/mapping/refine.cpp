// Swaps between two parts at a time. A pair of parts is tried where a vertex would rather be on the other side; in small graphs,
// where more can be afforded, every pair that talks.
#include <algorithm>
#include <set>

#include "mapping/partition.hpp"

namespace omnes::mapping {

namespace {

// Up to so many vertices all pairs of parts that talk are tried: 64 ranks must be mapped while a communicator is made, and for a
// few thousand it takes tenths of a second.
constexpr int try_all = 2048;
// Passes over the boundary. Most gain comes with the first two.
constexpr int max_passes = 12;
// Of each part so many vertices with the largest gains are looked at for the next swap: all of them up to a node of eight.
constexpr std::size_t looked_at = 8;
// A row of swaps ends after so many that have brought no new best cut.
constexpr std::size_t patience = 24;

/// The state of swaps between two parts.
class Swaps {
 public:
  Swaps(const Graph& graph, Parts& part_of, Effort effort)
      : graph_(graph), part_of_(part_of), effort_(effort), gain_(part_of.size(), 0) {}

  /// Returns what the cut has become less by.
  std::int64_t between(std::vector<std::int32_t>& a, std::vector<std::int32_t>& b) {
    const std::int32_t part_a = part_of_[a[0]], part_b = part_of_[b[0]];
    std::int64_t hope = 0;  // the gain of the best swap, or more
    for (auto* side : {&a, &b}) {
      std::int64_t most = INT64_MIN;
      for (const std::int32_t v : *side) most = std::max(most, gain_[v] = gain(v, part_a, part_b));
      hope += most;
    }
    if (effort_ == Effort::quick && hope <= 0) return 0;
    free_[0] = a;
    free_[1] = b;
    row_.clear();
    std::int64_t sum = 0, best = 0;
    std::size_t kept = 0;
    while (!free_[0].empty() && !free_[1].empty() && row_.size() < kept + patience) {
      const auto [gained, v, w] = best_swap();
      sum += gained;
      row_.push_back({v, w});
      swap(v, w, part_a, part_b);
      if (sum > best) {
        best = sum;
        kept = row_.size();
      }
    }
    for (std::size_t i = row_.size(); i-- > kept;) std::swap(part_of_[row_[i].first], part_of_[row_[i].second]);
    for (std::size_t i = 0; i < kept; ++i) {
      *std::ranges::find(a, row_[i].first) = row_[i].second;
      *std::ranges::find(b, row_[i].second) = row_[i].first;
    }
    return best;
  }

 private:
  struct Swap {
    std::int64_t gained;
    std::int32_t a, b;
  };

  /// What moving the vertex to the other of both parts would bring.
  std::int64_t gain(std::int32_t v, std::int32_t part_a, std::int32_t part_b) const {
    const std::int32_t here = part_of_[v], there = here == part_a ? part_b : part_a;
    std::int64_t sum = 0;
    for (std::int64_t e = graph_.first[v]; e < graph_.first[v + 1]; ++e) {
      const std::int32_t part = part_of_[graph_.peer[e]];
      sum += part == there ? graph_.weight[e] : part == here ? -graph_.weight[e] : 0;
    }
    return sum;
  }

  Swap best_swap() {
    for (auto& side : free_) {
      const auto middle = side.begin() + static_cast<std::ptrdiff_t>(std::min(looked_at, side.size()));
      std::partial_sort(side.begin(), middle, side.end(), [&](int v, int w) { return gain_[v] > gain_[w]; });
    }
    Swap best{INT64_MIN, 0, 0};
    for (std::size_t i = 0; i < std::min(looked_at, free_[0].size()); ++i)
      for (std::size_t j = 0; j < std::min(looked_at, free_[1].size()); ++j) {
        const std::int32_t v = free_[0][i], w = free_[1][j];
        if (gain_[v] + gain_[w] <= best.gained) break;  // later ones gain no more
        const std::int64_t gained = gain_[v] + gain_[w] - 2 * weight_between(graph_, v, w);
        if (gained > best.gained) best = {gained, v, w};
      }
    return best;
  }

  void swap(std::int32_t v, std::int32_t w, std::int32_t part_a, std::int32_t part_b) {
    std::swap(part_of_[v], part_of_[w]);
    std::erase(free_[0], v);
    std::erase(free_[1], w);
    for (const std::int32_t moved : {v, w})
      for (const std::int32_t other : graph_.peers(moved))
        if (part_of_[other] == part_a || part_of_[other] == part_b) gain_[other] = gain(other, part_a, part_b);
  }

  const Graph& graph_;
  Parts& part_of_;
  Effort effort_;
  std::vector<std::int64_t> gain_;
  std::vector<std::int32_t> free_[2];
  std::vector<std::pair<std::int32_t, std::int32_t>> row_;
};

/// For each vertex of the part, what it says to other parts; calls found(part) for those worth a try.
template <class Found>
void worth_trying(const Graph& graph, const Parts& part_of, int v, std::vector<std::int64_t>& talk,
                  const Found& found) {
  std::int64_t inside = 0;
  for (std::int64_t e = graph.first[v]; e < graph.first[v + 1]; ++e) {
    const std::int32_t part = part_of[graph.peer[e]];
    if (part == part_of[v])
      inside += graph.weight[e];
    else
      talk[part] += graph.weight[e];
  }
  const std::int64_t least = graph.vertices() <= try_all ? 0 : inside;
  for (const std::int32_t peer : graph.peers(v)) {
    std::int64_t& said = talk[part_of[peer]];
    if (said > least) found(part_of[peer]);
    said = 0;
  }
}

}  // namespace

void refine(const Graph& graph, Parts& part_of, std::size_t parts, Effort effort) {
  std::vector<std::vector<std::int32_t>> members(parts);
  for (int v = 0; v < graph.vertices(); ++v) members[part_of[v]].push_back(v);
  std::vector<std::int64_t> talk(parts, 0);
  Swaps swaps(graph, part_of, effort);
  for (int pass = 0; pass < max_passes; ++pass) {
    std::set<std::pair<std::int32_t, std::int32_t>> pairs;
    for (int v = 0; v < graph.vertices(); ++v)
      worth_trying(graph, part_of, v, talk, [&](std::int32_t other) { pairs.insert(std::minmax(part_of[v], other)); });
    std::int64_t gained = 0;
    for (const auto& [a, b] : pairs) gained += swaps.between(members[a], members[b]);
    if (gained == 0) return;
  }
}

}  // namespace omnes::mapping
