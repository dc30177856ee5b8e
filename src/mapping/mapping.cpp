// Units are walked as a tree: the real ranks in an order in which those of a unit are consecutive, at every level.
#include "mapping/mapping.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <stdexcept>
#include <unordered_map>

#include "base/assert.hpp"

namespace omnes::mapping {

namespace {

/// Ranks of one unit by the units of a nearer level, in the order in which these first appear.
std::vector<std::vector<std::int32_t>> split(std::span<const std::int32_t> ranks, const PlacementLevel& level) {
  std::vector<std::vector<std::int32_t>> units;
  std::unordered_map<std::int32_t, std::size_t> place;
  for (const std::int32_t rank : ranks) {
    const auto [at, is_new] = place.try_emplace(level.unit[rank], units.size());
    if (is_new) units.emplace_back();
    units[at->second].push_back(rank);
  }
  return units;
}

std::vector<std::int32_t> all_ranks(int p) {
  std::vector<std::int32_t> ranks(p);
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

/// Real ranks in the order of the tree; `sizes` gets the size of the units of each level, nearest first, or 0 where they differ.
std::vector<std::int32_t> in_tree_order(const Placement& placement, std::vector<std::int32_t>& sizes) {
  std::vector<std::vector<std::int32_t>> units{all_ranks(placement.p)};
  sizes.assign(placement.levels.size(), 0);
  for (std::size_t level = placement.levels.size(); level-- > 0;) {
    std::vector<std::vector<std::int32_t>> nearer;
    for (const auto& unit : units)
      for (auto& part : split(unit, placement.levels[level])) nearer.push_back(std::move(part));
    units = std::move(nearer);
    const auto size = units.front().size();
    if (std::ranges::all_of(units, [&](const auto& unit) { return unit.size() == size; }))
      sizes[level] = static_cast<std::int32_t>(size);
  }
  std::vector<std::int32_t> order;
  for (const auto& unit : units) order.insert(order.end(), unit.begin(), unit.end());
  return order;
}

Mapping inverted(std::vector<std::int32_t> real_of) {
  Mapping mapping{std::vector<std::int32_t>(real_of.size()), std::move(real_of)};
  for (std::size_t v = 0; v < mapping.real_of.size(); ++v)
    mapping.virtual_of[mapping.real_of[v]] = static_cast<std::int32_t>(v);
  return mapping;
}

/// Places virtual ranks on the units of a placement, recursively.
class Placer {
 public:
  Placer(const Placement& placement, Fixed fixed, const Partitioner& partitioner)
      : placement_(placement),
        fixed_(fixed),
        partitioner_(partitioner),
        real_of_(placement.p),
        home_(placement.p, SIZE_MAX) {}

  /// The virtual ranks (ascending; their graph) go to the real ranks, which share a unit of `level`.
  void place(const Graph& graph, std::span<const std::int32_t> virtuals, std::span<const std::int32_t> reals,
             std::size_t level) {
    if (level == 0) return settle(virtuals, reals);
    auto units = split(reals, placement_.levels[level - 1]);
    if (units.size() == 1) return place(graph, virtuals, reals, level - 1);
    std::ranges::stable_sort(units, [](const auto& a, const auto& b) { return a.size() > b.size(); });
    std::vector<std::int32_t> sizes;
    for (const auto& unit : units) sizes.push_back(static_cast<std::int32_t>(unit.size()));
    const Parts part_of = partitioner_(graph, sizes);
    std::vector<std::vector<std::int32_t>> parts(units.size());  // of vertices
    for (std::size_t v = 0; v < virtuals.size(); ++v) parts[part_of[v]].push_back(static_cast<std::int32_t>(v));
    const auto unit_of = chosen_units(virtuals, parts, units);
    for (std::size_t part = 0; part < parts.size(); ++part) {
      std::vector<std::int32_t> members;
      for (const std::int32_t v : parts[part]) members.push_back(virtuals[v]);
      place(level > 1 ? induced(graph, parts[part]) : Graph{}, members, units[unit_of[part]], level - 1);
    }
  }

  Mapping take() { return inverted(std::move(real_of_)); }

 private:
  /// For each part the unit, of its size, with which it shares more than half of its ranks, above all the fixed one; the
  /// others in their order, so that parts whose numbers follow each other lie on hosts that do.
  std::vector<std::size_t> chosen_units(std::span<const std::int32_t> virtuals,
                                        const std::vector<std::vector<std::int32_t>>& parts,
                                        const std::vector<std::vector<std::int32_t>>& units) {
    struct Shared {
      std::int64_t ranks;
      std::size_t part, unit;
    };
    constexpr std::size_t none = SIZE_MAX;
    for (std::size_t unit = 0; unit < units.size(); ++unit)
      for (const std::int32_t rank : units[unit]) home_[rank] = unit;
    std::vector<Shared> all;
    for (std::size_t part = 0; part < parts.size(); ++part) {
      std::map<std::size_t, std::int64_t> shared;
      for (const std::int32_t v : parts[part])
        if (const std::size_t unit = home_[virtuals[v]]; unit != none && units[unit].size() == parts[part].size())
          shared[unit] += virtuals[v] == fixed_.rank ? placement_.p : 1;
      for (const auto& [unit, ranks] : shared)
        if (2 * ranks > std::ssize(parts[part])) all.push_back({ranks, part, unit});
    }
    for (const auto& unit : units)
      for (const std::int32_t rank : unit) home_[rank] = none;
    std::ranges::stable_sort(all, [](const Shared& a, const Shared& b) { return a.ranks > b.ranks; });
    std::vector<std::size_t> unit_of(parts.size(), none);
    std::vector<bool> taken(units.size(), false);
    for (const Shared& s : all) {
      if (unit_of[s.part] != none || taken[s.unit]) continue;
      unit_of[s.part] = s.unit;
      taken[s.unit] = true;
    }
    std::map<std::size_t, std::vector<std::size_t>> free;  // by size
    for (std::size_t unit = units.size(); unit-- > 0;)
      if (!taken[unit]) free[units[unit].size()].push_back(unit);
    for (std::size_t part = 0; part < parts.size(); ++part) {
      if (unit_of[part] != none) continue;
      auto& fitting = free[parts[part].size()];
      unit_of[part] = fitting.back();
      fitting.pop_back();
    }
    return unit_of;
  }

  /// On one unit, who can play itself does.
  void settle(std::span<const std::int32_t> virtuals, std::span<const std::int32_t> reals) {
    std::vector<std::int32_t> players(reals.begin(), reals.end()), parts, rest;
    std::ranges::sort(players);
    std::ranges::set_difference(virtuals, players, std::back_inserter(parts));
    std::ranges::set_difference(players, virtuals, std::back_inserter(rest));
    for (const std::int32_t v : virtuals) real_of_[v] = v;
    for (std::size_t i = 0; i < parts.size(); ++i) real_of_[parts[i]] = rest[i];
  }

  const Placement& placement_;
  Fixed fixed_;
  const Partitioner& partitioner_;
  std::vector<std::int32_t> real_of_;
  std::vector<std::size_t> home_;  // of each real rank the unit that is being filled; none outside chosen_units
};

template <class Edges>
Cost summed(const Placement& placement, std::span<const double> bandwidths, const Edges& edges) {
  OMNES_ASSERT(bandwidths.size() == placement.levels.size() + 1);
  Cost cost{0, std::vector<std::int64_t>(placement.levels.size() + 1, 0)};
  edges([&](int a, int b, std::int64_t amount) { cost.amount[placement.level_between(a, b)] += amount; });
  for (std::size_t level = 0; level < cost.amount.size(); ++level)
    cost.time += static_cast<double>(cost.amount[level]) / bandwidths[level];
  return cost;
}

}  // namespace

bool Mapping::identity() const {
  for (std::size_t i = 0; i < virtual_of.size(); ++i)
    if (virtual_of[i] != static_cast<std::int32_t>(i)) return false;
  return true;
}

Mapping identity(int p) { return {all_ranks(p), all_ranks(p)}; }

Mapping mapping_of(std::vector<std::int32_t> virtual_of) {
  std::vector<std::int32_t> sorted = virtual_of;
  std::ranges::sort(sorted);
  if (sorted != all_ranks(static_cast<int>(virtual_of.size())))
    throw std::invalid_argument("a mapping must name each of the ranks 0.." +
                                std::to_string(static_cast<int>(virtual_of.size()) - 1) + " once");
  Mapping mapping = inverted(std::move(virtual_of));
  std::swap(mapping.virtual_of, mapping.real_of);
  return mapping;
}

Mapping map_by_structure(const Pattern& pattern, const Placement& placement) {
  std::vector<std::int32_t> sizes;
  const std::vector<std::int32_t> reals = in_tree_order(placement, sizes);
  if (std::ranges::find(sizes, 0) != sizes.end()) return {};
  const std::vector<std::int32_t> virtuals = grouped(pattern, sizes);
  if (virtuals.empty()) return {};
  std::vector<std::int32_t> real_of(placement.p);
  for (int i = 0; i < placement.p; ++i) real_of[virtuals[i]] = reals[i];
  return inverted(std::move(real_of));
}

Mapping map_by_graph(const Graph& graph, const Placement& placement, Fixed fixed, const Partitioner& partitioner) {
  Placer placer(placement, fixed, partitioner);
  const std::vector<std::int32_t> all = all_ranks(placement.p);
  placer.place(graph, all, all, placement.levels.size());
  Mapping mapping = placer.take();
  if (fixed.rank >= 0 && mapping.virtual_of[fixed.rank] != fixed.rank) {  // units of different sizes
    const std::int32_t other = mapping.real_of[fixed.rank];
    std::swap(mapping.virtual_of[fixed.rank], mapping.virtual_of[other]);
    mapping.real_of[mapping.virtual_of[other]] = other;
    mapping.real_of[fixed.rank] = fixed.rank;
  }
  return mapping;
}

Cost cost_of(const Traffic& traffic, const Placement& placement, const Mapping& mapping,
             std::span<const double> bandwidths) {
  return summed(placement, bandwidths, [&](const auto& add) {
    for (int v = 0; v < traffic.p; ++v)
      for (std::int64_t e = traffic.first[v]; e < traffic.first[v + 1]; ++e)
        add(mapping.real_of[v], mapping.real_of[traffic.peer[e]], traffic.amount[e]);
  });
}

Cost cost_of(const Pattern& pattern, const Placement& placement, const Mapping& mapping,
             std::span<const double> bandwidths) {
  return summed(placement, bandwidths, [&](const auto& add) {
    for (int v = 0; v < pattern.p; ++v)
      for (const auto& [offset, amount] : pattern.offsets)
        add(mapping.real_of[v], mapping.real_of[pattern.shifted(v, offset)], amount);
  });
}

std::vector<double> default_bandwidths(const Placement& placement) {
  constexpr double ratio = 8;
  std::vector<double> bandwidths(placement.levels.size() + 1);
  for (std::size_t level = 0; level < bandwidths.size(); ++level)
    bandwidths[level] = level == 0 ? ratio : bandwidths[level - 1] / ratio;
  return bandwidths;
}

}  // namespace omnes::mapping
