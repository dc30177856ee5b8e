// Cuts the message so that every level's algorithm finds pieces to work with, then runs them.
#include "algorithms/message_levels.hpp"

#include <algorithm>
#include <numeric>

#include "algorithms/embedding.hpp"

namespace omnes::inline algorithms {

namespace {

/// A segment is cut into as many blocks as let all levels cut it evenly; but no more than so many times what one of
/// them needs.
constexpr int max_times_needed = 4;

Problem inner_problem(Operation operation, const Picked& picked, int p, int rank, int root, int segments) {
  return {.operation = operation, .p = p, .rank = rank, .root = root, .radix = picked.radix, .segments = segments};
}

/// The pieces that an algorithm cuts a message of one segment into.
int natural_pieces(const Picked& picked, Operation operation, int p) {
  return build(*picked.algorithm, inner_problem(operation, picked, p, 0, 0, 1)).pieces;
}

int blocks_of_segment(const Builder& b, const Phases& phases) {
  const Algorithm composing{.operation = b.problem().operation,
                            .name = "",
                            .summary = "",
                            .source = "",
                            .build = nullptr,
                            .hierarchical = phases};
  const Hierarchy& hierarchy = *b.problem().hierarchy;
  std::int64_t most = 1, all = 1;
  for (std::size_t level = 0; level < hierarchy.levels(); ++level)
    for (const Operation operation : phases_at(composing, level + 1 == hierarchy.levels()))
      for (const int p : hierarchy.sizes(level)) {
        const std::int64_t pieces = natural_pieces(picked(b.problem(), level, operation), operation, p);
        most = std::max(most, pieces);
        all = std::lcm(std::min(all, most * max_times_needed * max_times_needed), pieces);
      }
  return static_cast<int>(all <= most * max_times_needed ? all : most);
}

}  // namespace

MessageLevels::MessageLevels(Builder& b, const Phases& phases, int root)
    : MessageLevels(b, phases, root, [&] {
        b.cut(b.problem().radix * b.segments() * blocks_of_segment(b, phases));
        return b.pieces();
      }()) {
  const int n = b.problem().radix, blocks = b.pieces() / n;
  slices_.clear();
  for (int i = 0; i < n; ++i)
    slices_.push_back({b.problem().hierarchy->groups_of(b.rank(), root, i), i * blocks, blocks, Place::own});
}

MessageLevels::MessageLevels(Builder& b, const Phases& phases, int root, int blocks)
    : b_(b), phases_(phases), last_(b.problem().hierarchy->levels() - 1), shared_(phases.top ? last_ : last_ + 1) {
  steps_ = blocks == 0;
  slices_.push_back({b.problem().hierarchy->groups_of(b.rank(), root), 0, blocks, Place::own});
}

bool MessageLevels::leads() const {
  return std::ranges::any_of(
      slices_, [](const Slice& slice) { return slice.groups.size() > 1 || slice.groups.front().leads(); });
}

void MessageLevels::up(Blocks own, Blocks into) {
  for (std::size_t level = 0; level < shared_; ++level) {
    for (Slice& slice : slices_) {
      if (!in_group(slice, level) || slice.groups[level].size() == 1) continue;
      run(*phases_.up, slice, level, sub(slice.sum == Place::own ? own : into, slice.first, slice.count),
          sub(into, slice.first, slice.count));
      if (slice.groups[level].leads()) slice.sum = Place::into;
    }
    if (steps_) b_.step();
  }
  own_ = own;
}

void MessageLevels::across(Blocks into) {
  for (Slice& slice : slices_) {
    if (!in_group(slice, last_)) continue;
    const Blocks from = sub(slice.sum == Place::own ? own_ : into, slice.first, slice.count);
    const Blocks result = sub(into, slice.first, slice.count);
    if (slice.groups[last_].size() > 1)
      run(*phases_.top, slice, last_, from, result);
    else if (!steps_)
      b_.copy(from, result);
  }
  if (steps_) b_.step();
}

void MessageLevels::down(Blocks message) {
  for (std::size_t level = shared_; level-- > 0;) {
    for (const Slice& slice : slices_) {
      if (!in_group(slice, level) || slice.groups[level].size() == 1) continue;
      const Blocks blocks = sub(message, slice.first, slice.count);
      run(*phases_.down, slice, level, blocks, blocks);
    }
    if (steps_) b_.step();
  }
}

void MessageLevels::run(Operation operation, const Slice& slice, std::size_t level, Blocks from, Blocks into) {
  const Group& group = slice.groups[level];
  const Picked one = picked(b_.problem(), level, operation);
  const bool at_root = !rooted(operation) || group.leads();
  Problem inner = inner_problem(operation, one, group.size(), group.self, rooted(operation) ? group.root : 0, 1);
  inner.in_place = has_in_place(operation) && at_root && from == into && !steps_;

  const int segments = steps_ ? 1 : b_.segments();
  Schedule schedule = build(*one.algorithm, inner);
  int runs = segments;
  if (segments > 1 && one.algorithm->segmented && schedule.pieces == 1) {
    inner.segments = segments;
    schedule = build(*one.algorithm, inner);
    runs = 1;
  }
  for (int s = 0; s < runs; ++s) {
    const int begin = slice.count * s / runs, count = slice.count * (s + 1) / runs - begin;
    const View data = cut_evenly({Buffer::recv, slice.first + begin, count}, schedule.pieces);
    const auto sizes = [&](Like like, std::vector<Like>& all) {
      const Blocks blocks = data(recv_blocks(like.block));
      for (int i = 0; i < blocks.count; ++i) all.push_back({blocks.first + i, b_.rank()});
    };
    embed(b_, schedule,
          {group.ranks, cut_evenly(sub(from, begin, count), schedule.pieces),
           cut_evenly(sub(into, begin, count), schedule.pieces), sizes});
  }
}

}  // namespace omnes::inline algorithms
