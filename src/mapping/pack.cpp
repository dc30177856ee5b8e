// Packing: the largest groups first, each where it talks most among the parts that have room, else where it fits tightest.
#include <algorithm>
#include <numeric>
#include <set>

#include "mapping/partition.hpp"

namespace omnes::mapping {

namespace {

/// Parts and the room that they have left.
class Bins {
 public:
  Bins(const Graph& graph, std::span<const std::int32_t> sizes)
      : graph_(graph), part_of_(graph.vertices(), -1), room_(sizes.begin(), sizes.end()), talk_(sizes.size(), 0) {
    for (std::size_t part = 0; part < sizes.size(); ++part) by_room_.insert({room_[part], static_cast<int>(part)});
  }

  /// How many were placed: where no part has room for all of them, as many as the roomiest part takes.
  std::size_t place(std::span<const std::int32_t> group) {
    int part = best_for(group);
    if (part < 0) part = std::prev(by_room_.end())->second;
    group = group.first(std::min<std::size_t>(group.size(), room_[part]));
    for (const std::int32_t v : group) part_of_[v] = part;
    by_room_.erase({room_[part], part});
    room_[part] -= static_cast<std::int32_t>(group.size());
    by_room_.insert({room_[part], part});
    return group.size();
  }

  Parts take() { return std::move(part_of_); }

 private:
  int best_for(std::span<const std::int32_t> group) {
    const auto needed = static_cast<std::int32_t>(group.size());
    std::vector<std::int32_t> near;
    for (const std::int32_t v : group)
      for (std::int64_t e = graph_.first[v]; e < graph_.first[v + 1]; ++e) {
        const std::int32_t part = part_of_[graph_.peer[e]];
        if (part < 0 || room_[part] < needed) continue;
        if (talk_[part] == 0) near.push_back(part);
        talk_[part] += graph_.weight[e];
      }
    int best = -1;
    for (const std::int32_t part : near)
      if (best < 0 || talk_[part] > talk_[best] || (talk_[part] == talk_[best] && part < best)) best = part;
    for (const std::int32_t part : near) talk_[part] = 0;
    if (best >= 0) return best;
    const auto tightest = by_room_.lower_bound({needed, -1});
    return tightest == by_room_.end() ? -1 : tightest->second;
  }

  const Graph& graph_;
  Parts part_of_;
  std::vector<std::int32_t> room_;
  std::vector<std::int64_t> talk_;
  std::set<std::pair<std::int32_t, int>> by_room_;
};

}  // namespace

Parts pack(const Graph& graph, std::span<const std::int32_t> group_of, std::span<const std::int32_t> sizes) {
  const int groups = group_of.empty() ? 0 : *std::ranges::max_element(group_of) + 1;
  std::vector<std::int32_t> start(groups + 1, 0), members(group_of.size()), order(groups);
  for (const std::int32_t group : group_of) ++start[group + 1];
  std::partial_sum(start.begin(), start.end(), start.begin());
  std::vector<std::int32_t> next(start.begin(), start.end() - 1);
  for (std::size_t v = 0; v < group_of.size(); ++v) members[next[group_of[v]]++] = static_cast<std::int32_t>(v);
  const auto group = [&](int g) {
    return std::span<const std::int32_t>(members).subspan(start[g], start[g + 1] - start[g]);
  };
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](int a, int b) { return group(a).size() > group(b).size(); });

  Bins bins(graph, sizes);
  std::vector<std::int32_t> rest;
  for (const std::int32_t g : order) {
    const auto left = group(g).subspan(bins.place(group(g)));
    rest.insert(rest.end(), left.begin(), left.end());
  }
  for (const std::int32_t& v : rest) bins.place({&v, 1});
  return bins.take();
}

}  // namespace omnes::mapping
