// Divides and puts together, level by level.
#include "algorithms/lanes.hpp"

#include <algorithm>

namespace omnes::inline algorithms {

namespace {

/// Parts that an operation among p has in `send` and `recv`, where it has any.
std::pair<int, int> parts(Operation operation, int p) {
  switch (regular(operation)) {
    case Operation::scatter:
    case Operation::reduce_scatter_block: return {p, 1};
    case Operation::gather:
    case Operation::allgather: return {1, p};
    case Operation::alltoall: return {p, p};
    default: return {1, 1};
  }
}

}  // namespace

MultiLane::MultiLane(Builder& b) : b_(b), groups_(b.problem().hierarchy->lanes_of(b.rank())) {
  for (const Group& group : b.problem().hierarchy->lanes_of(b.root())) roots_.push_back(group.self);
}

bool MultiLane::near_root(std::size_t level) const {
  for (std::size_t wider = level + 1; wider < groups_.size(); ++wider)
    if (groups_[wider].self != roots_[wider]) return false;
  return true;
}

Blocks MultiLane::slice(Blocks run, std::size_t level) const {
  for (std::size_t below = 0; below < level; ++below) {
    run.count /= groups_[below].size();
    run.first += run.count * groups_[below].self;
  }
  return run;
}

int MultiLane::slices(std::size_t level) const {
  int all = 1;
  for (std::size_t below = 0; below < level; ++below) all *= groups_[below].size();
  return all;
}

void MultiLane::run(Operation operation, std::size_t level, bool in_place, Blocks send, Blocks recv, int first,
                    const std::function<Like(int)>& like) {
  const Group& group = groups_[level];
  operation = at_level(b_.problem(), level, operation);
  const Schedule schedule = schedule_in(b_.problem(), group, operation, roots_[level], in_place);
  const auto [sent, received] = parts(operation, group.size());
  const bool more_sent = sent > received;
  const std::int32_t units = std::max(send.count / sent, recv.count / received) * std::max(sent, received);
  const View data = cut_evenly({Buffer::recv, first, units}, schedule.pieces * (more_sent ? sent : received));
  embed(b_, schedule,
        {group.ranks, cut_evenly(send, schedule.pieces * sent), cut_evenly(recv, schedule.pieces * received),
         [&](Like inner, std::vector<Like>& all) {
           const Blocks blocks = data(recv_blocks(inner.block));
           for (int i = 0; i < blocks.count; ++i) all.push_back(like(blocks.first + i));
         }});
}

LaneMessage::LaneMessage(Builder& b, Operation top) : b_(b), lanes_(b) {
  const std::size_t last = lanes_.last();
  const Picked one = picked(b.problem(), last, top);
  const Schedule widest = build(*one.algorithm, {.operation = top, .p = lanes_.group(last).size(), .radix = one.radix});
  b.cut(b.segments() * lanes_.slices(last) * widest.pieces);
}

template <class Step>
void LaneMessage::each_segment(const Step& step) {
  const int blocks = b_.pieces() / b_.segments();
  for (int s = 0; s < b_.segments(); ++s) step(s, s * blocks, blocks);
}

void LaneMessage::run(Operation operation, std::size_t level, bool in_place, Blocks send, Blocks recv, int first) {
  lanes_.run(operation, level, in_place, send, recv, first, [&](int block) { return Like{block, b_.rank()}; });
}

void LaneMessage::reduce_scatter(Blocks own) {
  each_segment([&](int, int first, int count) {
    Blocks sum = sub(own, first, count);
    for (std::size_t level = 0; level < lanes_.last(); ++level) {
      const int all = lanes_.slice(recv_blocks(first, count), level).first;
      const Blocks slice = lanes_.slice(recv_blocks(first, count), level + 1);
      const Blocks into = b_.temp(slice.count, slice.first);
      run(Operation::reduce_scatter_block, level, false, sum, into, all);
      sum = into;
    }
    sums_.push_back(sum);
  });
}

void LaneMessage::scatter() {
  for (std::size_t level = 0; level < lanes_.last(); ++level)
    each_segment([&](int, int first, int count) {
      if (!lanes_.near_root(level)) return;
      const Blocks all = lanes_.slice(recv_blocks(first, count), level);
      const Blocks slice = lanes_.slice(recv_blocks(first, count), level + 1);
      if (lanes_.group(level).self == lanes_.root(level))
        run(Operation::scatter, level, true, all, {}, all.first);
      else
        run(Operation::scatter, level, false, {}, slice, all.first);
    });
}

void LaneMessage::across(Operation operation, Blocks message) {
  const std::size_t last = lanes_.last();
  each_segment([&](int s, int first, int count) {
    const Blocks slice = lanes_.slice(sub(message, first, count), last);
    const Blocks from = sums_.empty() ? slice : sums_[s];
    const bool at_root = !rooted(operation) || lanes_.group(last).self == lanes_.root(last);
    run(operation, last, has_in_place(operation) && at_root && from == slice, from, slice,
        lanes_.slice(recv_blocks(first, count), last).first);
  });
}

void LaneMessage::allgather(Blocks message, Blocks into) {
  for (std::size_t level = lanes_.last(); level-- > 0;)
    each_segment([&](int, int first, int count) {
      const Blocks slice = lanes_.slice(sub(message, first, count), level + 1);
      run(Operation::allgather, level, message == into, slice, lanes_.slice(sub(into, first, count), level),
          lanes_.slice(recv_blocks(first, count), level).first);
    });
}

void LaneMessage::gather(Blocks message) {
  for (std::size_t level = lanes_.last(); level-- > 0;)
    each_segment([&](int, int first, int count) {
      if (!lanes_.near_root(level)) return;
      const bool at_root = lanes_.group(level).self == lanes_.root(level);
      const Blocks all = lanes_.slice(sub(message, first, count), level);
      run(Operation::gather, level, at_root, lanes_.slice(sub(message, first, count), level + 1),
          at_root ? all : Blocks{}, lanes_.slice(recv_blocks(first, count), level).first);
    });
}

LaneTable::LaneTable(Builder& b, const Hierarchy& hierarchy) : b_(b), ranks_(b.p()) {
  for (int position = 0; position < b.p(); ++position) {
    int rest = position, row = 0;
    for (std::size_t level = 0; level < hierarchy.levels(); ++level) {
      const int parts = hierarchy.sizes(level).front();
      row = row * parts + rest % parts;
      rest /= parts;
    }
    ranks_[row] = hierarchy.rank_at(position);
  }
  in_rank_order_ = std::ranges::is_sorted(ranks_);
}

Blocks LaneTable::table_of(Buffer buffer, bool filled) {
  if (in_rank_order_) return b_.part(buffer, 0, b_.p());
  std::vector<Like> sizes;
  for (int row = 0; row < b_.p(); ++row) sizes.push_back(like(row));
  const Blocks table = b_.temp_sized(sizes);
  for (int row = 0; filled && row < b_.p(); ++row) b_.copy(b_.part(buffer, ranks_[row]), sub(table, row));
  return table;
}

void LaneTable::unpack(Blocks table, Buffer buffer) {
  for (int row = 0; table.buffer != buffer && row < b_.p(); ++row)
    b_.copy(sub(table, row), b_.part(buffer, ranks_[row]));
}

}  // namespace omnes::inline algorithms
