// Alltoall along a hierarchy: what a unit's ranks send to another unit goes there in one message, from one of its ranks
// to one of the other's. What stays inside one of the widest units goes straight from rank to rank.
//
// How. For each other unit, gathers up to the representative: a table with a row for each source in the unit, and in it
// a block for each rank of the other. These tables are what the representatives exchange. What arrives is turned, block
// by block, into a table with a row for each rank of the unit, which is scattered.
#include "algorithms/part_levels.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

constexpr Phases phases{.up = Operation::gather, .top = Operation::alltoall, .down = Operation::scatter};

class Exchange {
 public:
  explicit Exchange(Builder& b)
      : b_(b),
        levels_(b),
        hierarchy_(levels_.hierarchy()),
        last_(hierarchy_.levels() - 1),
        starts_(hierarchy_.starts_of_widest()),
        position_(hierarchy_.position_of(b.rank())) {
    while (starts_[unit_ + 1] <= position_) ++unit_;
  }

  void run() {
    if (last_ == 0) return across_ranks();
    pack();
    within_unit();
    const Blocks leaving = gather();
    Blocks arrived;
    if (levels_.in_last_group()) {
      arrived = temp_for([&](auto add) {
        each_other_unit([&](int from, int n) {
          for (int source = from; source < from + n; ++source)
            for (int to = begin(); to < end(); ++to) add(source, to);
        });
      });
      across_units(leaving, arrived);
    }
    scatter(arrived);
  }

 private:
  int begin() const { return starts_[unit_]; }
  int end() const { return starts_[unit_ + 1]; }
  int size() const { return end() - begin(); }
  int others() const { return b_.p() - size(); }
  /// The number of a position outside of the unit among those.
  int outside(int position) const { return position < begin() ? position : position - size(); }
  template <class Visit>
  void each_other_unit(const Visit& visit) const {
    for (int i = 0; i + 1 < static_cast<int>(starts_.size()); ++i)
      if (i != unit_) visit(starts_[i], starts_[i + 1] - starts_[i]);
  }

  /// The size of what the rank at one position sends to that at another.
  Like between(int from, int to) const {
    return {hierarchy_.rank_at(from), sized_by_pairs(b_.problem().operation) ? hierarchy_.rank_at(to) : b_.rank()};
  }
  /// Temporary blocks for the pairs of positions that `list(add)` adds.
  template <class List>
  Blocks temp_for(const List& list) {
    std::vector<Like> sizes;
    list([&](int from, int to) { sizes.push_back(between(from, to)); });
    return b_.temp_sized(sizes);
  }

  /// What this rank sends, in the order of positions.
  void pack() {
    const Buffer source = b_.problem().in_place ? Buffer::recv : Buffer::send;
    outgoing_ = b_.part(source, 0, b_.p());
    if (source == Buffer::send && hierarchy_.in_rank_order()) return;
    outgoing_ = temp_for([&](auto add) {
      for (int to = 0; to < b_.p(); ++to) add(position_, to);
    });
    for (int to = 0; to < b_.p(); ++to) b_.copy(b_.part(source, hierarchy_.rank_at(to)), sub(outgoing_, to));
  }

  /// From a row of blocks of the ranks at these positions to their parts of `recv`.
  void unpack(Blocks row, int first, int count) {
    for (int i = 0, next = 0; i < count; i = next) {
      const int rank = hierarchy_.rank_at(first + i);
      for (next = i + 1; next < count && hierarchy_.rank_at(first + next) == rank + next - i;) ++next;
      b_.copy(sub(row, i, next - i), b_.part(Buffer::recv, rank, next - i));
    }
  }

  void across_ranks() {
    const Group& group = levels_.last_group();
    const bool in_place = b_.problem().in_place;
    const Blocks send = in_place ? Blocks{} : b_.part(Buffer::send, 0, b_.p()), recv = b_.part(Buffer::recv, 0, b_.p());
    levels_.run(Operation::alltoall, group, in_place, cut_evenly(send, b_.p()), cut_evenly(recv, b_.p()),
                [&](Like like, std::vector<Like>& all) { all.push_back(between(like.block, like.rank)); });
  }

  /// All at once, as in alltoall/linear.
  void within_unit() {
    for (int i = 1; i < size(); ++i) {
      const int to = begin() + (position_ - begin() + i) % size();
      b_.send(hierarchy_.rank_at(to), sub(outgoing_, to));
    }
    for (int i = 1; i < size(); ++i) {
      const int from = begin() + (position_ - begin() + size() - i) % size();
      b_.recv(hierarchy_.rank_at(from), b_.part(Buffer::recv, hierarchy_.rank_at(from)));
    }
    b_.copy(sub(outgoing_, position_), b_.part(Buffer::recv, b_.rank()));
  }

  /// Returns the tables of what goes to the other units, one behind the other; where this rank represents its unit.
  Blocks gather() {
    const auto [first, count] = levels_.range(false);
    const bool collects = count > 1 || levels_.in_last_group();
    const Blocks tables = temp_for([&, first = first, count = count](auto add) {
      each_other_unit([&](int to, int n) {
        for (int from = first; collects && from < first + count; ++from)
          for (int i = 0; i < n; ++i) add(from, to + i);
      });
    });
    int used = 0;
    each_other_unit([&, first = first, count = count](int to, int n) {
      Table table{{}, first, count, n};
      if (collects) table.blocks = sub(tables, used, count * n);
      used += count * n;
      const RowSizes sizes = [&](int row, int rows, std::vector<Like>& all) {
        for (int from = row; from < row + rows; ++from)
          for (int i = 0; i < n; ++i) all.push_back(between(from, to + i));
      };
      const Blocks gathered = levels_.gather(table, sub(outgoing_, to, n), last_, sizes);
      if (levels_.in_last_group()) b_.copy(gathered, table.blocks);
    });
    return tables;
  }

  /// The representatives' bundles; each has nothing for itself.
  void across_units(Blocks leaving, Blocks arrived) {
    View send = whole(leaving), recv = whole(arrived);
    send.starts = {0};
    for (int i = 0; i + 1 < static_cast<int>(starts_.size()); ++i)
      send.starts.push_back(send.starts.back() + (i == unit_ ? 0 : size() * (starts_[i + 1] - starts_[i])));
    recv.starts = send.starts;
    levels_.run(Operation::alltoall, levels_.last_group(), false, send, recv, [&](Like like, std::vector<Like>& all) {
      for (int from = starts_[like.block]; from < starts_[like.block + 1]; ++from)
        for (int to = starts_[like.rank]; to < starts_[like.rank + 1]; ++to) all.push_back(between(from, to));
    });
  }

  /// Turns what has arrived, by source, to rows by destination, and scatters these.
  void scatter(Blocks arrived) {
    const auto [first, count] = levels_.range(false);
    const RowSizes sizes = [&](int row, int rows, std::vector<Like>& all) {
      for (int to = row; to < row + rows; ++to)
        each_other_unit([&](int from, int n) {
          for (int i = 0; i < n; ++i) all.push_back(between(from + i, to));
        });
    };
    std::vector<Like> row_sizes;
    sizes(position_, 1, row_sizes);
    Table table{arrived, first, count, others()};
    if (size() > 1) {
      std::vector<Like> all;
      if (count > 1 || levels_.in_last_group()) sizes(first, count, all);
      table.blocks = b_.temp_sized(all);
      if (levels_.in_last_group()) turn(arrived, table);
    }
    Blocks row = table.blocks;  // where the unit, or this rank's part of it, has but one rank
    if (count > 1 || !levels_.in_last_group()) row = b_.temp_sized(row_sizes);
    levels_.scatter(table, row, last_, sizes);
    unpack(sub(row, 0, begin()), 0, begin());
    unpack(sub(row, begin(), b_.p() - end()), end(), b_.p() - end());
  }

  void turn(Blocks arrived, const Table& table) {
    each_other_unit([&](int first, int n) {
      for (int from = first; from < first + n; ++from)
        for (int to = begin(); to < end(); ++to)
          b_.copy(sub(arrived, outside(from) * size() + to - begin()), sub(table.rows(to, 1), outside(from)));
    });
  }

  Builder& b_;
  PartLevels levels_;
  const Hierarchy& hierarchy_;
  std::size_t last_;
  std::vector<int> starts_;
  int position_, unit_ = 0;
  Blocks outgoing_;
};

void build(Builder& b) { Exchange(b).run(); }

const Register registered{{
    .operation = Operation::alltoall,
    .name = "hierarchical",
    .summary = "bundles for each other of the widest units, through one rank of each; inside a unit directly",
    .source = "Träff, Rougier 2014 and others (node-aware alltoall); any levels and algorithms are ours",
    .build = build,
    .unequal = true,
    .needs_all_counts = true,
    .hierarchical = phases,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
