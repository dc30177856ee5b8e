// Parts through the groups of a hierarchy: those of a unit's ranks travel in one bundle, in each group by any algorithm
// of the catalogue.
//
// How. Parts on their way lie in a table, in the order of positions (schedule/hierarchy.hpp), in which every bundle is
// one run. A row of the table is what belongs to one rank: its part, or, for alltoall, several. Where ranks are not in
// the order of positions, parts are copied between the table and the buffers.
#pragma once

#include "algorithms/embedding.hpp"
#include "algorithms/levels.hpp"

namespace omnes::inline algorithms {

/// The rows of the ranks at positions first .. first + count - 1.
struct Table {
  Blocks blocks;
  int first = 0, count = 0;
  int width = 1;  ///< blocks in a row

  Blocks rows(int from, int n) const { return sub(blocks, (from - first) * width, n * width); }
};

/// The sizes of the blocks in rows first .. first + count - 1.
using RowSizes = std::function<void(int first, int count, std::vector<Like>& sizes)>;

class PartLevels {
 public:
  /// `root` represents all units that it is in; -1: there is none.
  explicit PartLevels(Builder& b, int root = -1);

  const Hierarchy& hierarchy() const { return hierarchy_; }
  const std::vector<Group>& groups() const { return groups_; }
  bool in_last_group() const { return groups_.size() == hierarchy_.levels(); }
  const Group& last_group() const { return groups_.back(); }

  /// Positions of the ranks that this one speaks for in the last of its groups; where it leads that, of all in it.
  std::pair<int, int> range(bool with_last = true) const;
  /// Parts of the ranks at these positions, in their order.
  RowSizes parts() const;
  /// A new table of one part for each rank in the range.
  Table new_table(std::pair<int, int> range);
  /// The parts of a buffer that holds all, as a table: the buffer itself where ranks are in order; else a new table,
  /// filled from it if so asked.
  Table table_of(Buffer buffer, bool filled);
  /// From such a table to the buffer, unless it is the buffer.
  void unpack(const Table& table, Buffer buffer);

  /// Gathers rows in `table` at the representatives, through the levels below `end`. `own`: where this rank's row lies.
  /// Returns where the rows lie that this rank speaks for then.
  Blocks gather(const Table& table, Blocks own, std::size_t end, const RowSizes& sizes);
  /// Scatters the rows of `table`; the rank's own comes to `own`, unless it represents others and `stays`.
  void scatter(const Table& table, Blocks own, std::size_t end, const RowSizes& sizes, bool stays = false);
  /// An operation on bundles in one of the groups.
  void run(Operation operation, const Group& group, bool in_place, View send, View recv,
           const std::function<void(Like, std::vector<Like>&)>& sizes);
  /// The members' bundles in a table that has the whole group.
  static View bundles(const Group& group, const Table& table);

 private:
  Builder& b_;
  const Hierarchy& hierarchy_;
  std::vector<Group> groups_;
};

}  // namespace omnes::inline algorithms
