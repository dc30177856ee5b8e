// The groups of a placement, level by level: what hierarchical algorithms are composed over.
//
// Overview. From the nearest level up, the ranks of a unit form a group; one of them represents it in the group of the
// next level's unit, and so on, up to one group for all. Levels that would only have groups of one member are passed
// over.
// How. Ranks get positions, so that the ranks of every unit have consecutive ones and its parts follow each other;
// units and their parts are ordered by their lowest ranks. Then a level is only a list: where the parts of each unit
// begin. Who represents a unit is no part of it, as that depends on the root and on the slice of the message.
// Cost. Once O(p log(p) L), and 4 bytes for each unit of each level; a rank's own groups take the members that they
// have.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.hpp"
#include "schedule/placement.hpp"

namespace omnes {

/// The name of the group of all, where no level has one unit for all.
inline constexpr const char* top_level = "top";
/// The names that the levels of a hierarchy may have, nearest first.
inline constexpr auto names_of_levels = [] {
  std::array<const char*, level_names.size() + 1> names{};
  std::ranges::copy(level_names, names.begin());
  names.back() = top_level;
  return names;
}();
/// Whether ranks on one unit of the level share a node's memory.
bool within_node(std::string_view level);

/// A group, as one of its members sees it. Member i stands for the ranks at positions starts[i] .. starts[i + 1] - 1.
struct Group {
  std::size_t level = 0;
  std::vector<std::int32_t> ranks = {};   ///< of the members
  std::vector<std::int32_t> starts = {};  ///< members' first positions, and the last one's end
  int self = 0;                           ///< this rank's number among them
  int root = 0;                           ///< the number of the one that represents them all

  int size() const { return static_cast<int>(ranks.size()); }
  bool leads() const { return self == root; }
  int first() const {
    OMNES_ASSERT(!starts.empty());  // as lanes_of() leaves them
    return starts.front();
  }
  int count() const { return starts.back() - starts.front(); }
  int count_of(int member) const {
    OMNES_ASSERT(member >= 0 && member + 1 < static_cast<int>(starts.size()));
    return starts[member + 1] - starts[member];
  }
};

class Hierarchy {
 public:
  /// Throws std::invalid_argument when a level does not list a unit for every rank.
  explicit Hierarchy(const Placement& placement);

  int p() const { return static_cast<int>(order_.size()); }
  /// At least 1; the last has one unit, of all ranks.
  std::size_t levels() const { return levels_.size(); }
  const std::string& name(std::size_t level) const {
    OMNES_ASSERT(level < levels());
    return levels_[level].name;
  }
  /// Where positions are ranks: the ranks of every unit are consecutive.
  bool in_rank_order() const { return in_rank_order_; }
  int rank_at(int position) const {
    OMNES_ASSERT(position >= 0 && position < p());
    return order_[position];
  }
  int position_of(int rank) const { return position_[rank]; }

  /// The sizes that the level's groups have, each once, ascending.
  std::span<const std::int32_t> sizes(std::size_t level) const { return levels_[level].sizes; }
  /// Whether some member of one of the level's groups stands for more ranks than another member of it.
  bool uneven(std::size_t level) const { return levels_[level].uneven; }

  /// Whether every unit of a level has as many parts as any other: then ranks of different units correspond.
  bool uniform() const;

  /// Where the members of the last group begin, in positions, and the end.
  std::vector<int> starts_of_widest() const;

  /// The groups that the rank is a member of, nearest level first. Units with `root` in them are represented by it;
  /// others by their lowest rank, or, to share the work, for the i-th `slice` by a rank of their i-th part, in turn. A
  /// unit's parts come before their ranks, so that the first slices are spread over all of its parts.
  std::vector<Group> groups_of(int rank, int root = -1, int slice = 0) const;
  /// The same with the last rank of each unit as its representative.
  std::vector<Group> groups_by_last(int rank) const;
  /// Of a uniform hierarchy, a group of each level: the parts of a unit, each by the rank that is to its part what this
  /// rank is to its own. So all ranks are in a group of every level.
  std::vector<Group> lanes_of(int rank) const;

 private:
  struct Tier {
    std::string name;
    std::vector<std::int32_t>
        starts;  // first part of each unit (parts: units of the level below, or positions), and the end
    std::vector<std::int32_t> sizes;
    bool uneven = false;
  };
  enum class Represents { by_slice, last };
  std::vector<Group> groups(int rank, int root, int slice, Represents how) const;
  int representative(std::size_t level, int unit, int root, int slice, Represents how) const;
  int position_before(std::size_t level, int unit) const;
  int unit_of(std::size_t level, int part) const;
  void add(std::string name, std::vector<std::int32_t> starts);

  std::vector<std::int32_t> order_, position_;
  std::vector<Tier> levels_;
  bool in_rank_order_ = true;
};

}  // namespace omnes
