// Flat: who contributes sends to all who get it, who combine. Sliced: the contributing group shares the work of combining, by slices.
// Tree: up the contributing group, across, and down the other one; for many ranks, and between nodes.
#include "algorithms/between.hpp"

#include <algorithm>
#include <numeric>

#include "algorithms/patterns.hpp"

namespace omnes::inline algorithms {
namespace {

/// Who contributes, and whom they send to, seen from one rank. Of a rooted operation, ranks beside the root have neither.
struct Sides {
  explicit Sides(const Builder& b) {
    const Problem& problem = b.problem();
    const auto groups = {group_of(0, problem), contributors_to(0, problem)};
    for (const Range group : groups) {
      const Range other = contributors_to(group.first, problem);
      const bool root_sends = problem.operation == Operation::bcast;
      const bool sends = !rooted(problem.operation) || group.has(problem.root) == root_sends;
      if (!sends) continue;
      if (group.has(b.rank())) {
        own = group;
        const bool to_root = problem.operation == Operation::reduce;
        receivers = to_root ? Range{problem.root, 1} : other;
      } else if (problem.operation != Operation::reduce || b.rank() == problem.root) {
        senders = group;
      }
    }
  }
  Range own;        ///< this rank's group, if it contributes
  Range receivers;  ///< then: who gets it
  Range senders;    ///< whose contributions this rank gets
};

std::vector<std::int32_t> ranks_of(Range range) {
  std::vector<std::int32_t> ranks(range.count);
  std::iota(ranks.begin(), ranks.end(), range.first);
  return ranks;
}

void bcast_flat(Builder& b) {
  b.cut(b.segments());
  const Sides sides(b);
  for (int s = 0; s < b.pieces(); ++s) {
    if (b.rank() == b.root()) b.send(ranks_of(sides.receivers), recv_blocks(s));
    if (sides.senders.count > 0) b.recv(b.root(), recv_blocks(s));
  }
}

/// The root of the tree is the root's; its other nodes are the group that receives.
void bcast_tree(Builder& b) {
  b.cut(b.segments());
  const Sides sides(b);
  const Range group = contributors_to(b.root(), b.problem());
  const bool at_root = b.rank() == b.root();
  if (!at_root && sides.senders.count == 0) return;
  const auto real = [&](int v) { return v == 0 ? b.root() : group.first + v - 1; };
  const Tree tree = knomial_tree(at_root ? 0 : b.rank() - group.first + 1, group.count + 1, b.problem().radix);
  std::vector<std::int32_t> children;  // the largest subtree first
  for (auto child = tree.children.rbegin(); child != tree.children.rend(); ++child) children.push_back(real(*child));
  for (int s = 0; s < b.pieces(); ++s) {
    if (!at_root) b.recv(real(tree.parent), recv_blocks(s));
    b.send(children, recv_blocks(s));
  }
}

void reduce_flat(Builder& b) {
  b.cut(b.segments());
  const Sides sides(b);
  for (int s = 0; s < b.pieces(); ++s) {
    if (sides.own.count > 0) b.send(ranks_of(sides.receivers), sub(b.own(), s));
    for (int i = 0; i < sides.senders.count; ++i) {
      const int from = sides.senders.first + i;
      if (i == 0)
        b.recv(from, recv_blocks(s));
      else
        b.recv_reduce(from, recv_blocks(s), recv_blocks(s));
    }
  }
}

/// As many slices as the larger contributing group has ranks: the smaller one's take several each.
void reduce_sliced(Builder& b) {
  const Sides sides(b);
  const Problem& problem = b.problem();
  const int first = problem.first_group, second = problem.p - first;
  const int slices = b.problem().operation == Operation::allreduce ? std::max(first, second)
                                                                   : contributors_to(problem.root, problem).count;
  b.cut(slices * b.segments());
  const int n = sides.own.count, own = b.rank() - sides.own.first;
  const auto piece = [&](int slice, int s) { return slice * b.segments() + s; };
  for (int s = 0; s < b.segments(); ++s) {
    for (int i = 1; i < n; ++i)
      for (int slice = (own + i) % n; slice < slices; slice += n)
        b.send(sides.own.first + slice % n, sub(b.own(), piece(slice, s)));
    for (int slice = own; n > 0 && slice < slices; slice += n) {
      Blocks sum = sub(b.own(), piece(slice, s));
      if (n > 1) {
        sum = b.temp(1, piece(slice, s));
        reduce_from_left(b, sides.own, sub(b.own(), piece(slice, s)), sum);
      }
      b.send(ranks_of(sides.receivers), sum);
    }
    for (int slice = 0; slice < slices && sides.senders.count > 0; ++slice)
      b.recv(sides.senders.first + slice % sides.senders.count, recv_blocks(piece(slice, s)));
  }
}

/// Over a group's ranks, rooted at its first.
Tree tree_over(Range group, const Builder& b) {
  Tree tree = knomial_tree(b.rank() - group.first, group.count, b.problem().radix);
  if (tree.parent >= 0) tree.parent += group.first;
  for (std::int32_t& child : tree.children) child += group.first;
  return tree;
}

void reduce_tree(Builder& b) {
  b.cut(b.segments());
  const Sides sides(b);
  const bool to_all = b.problem().operation == Operation::allreduce;
  if (sides.own.count > 0) {
    const Tree up = tree_over(sides.own, b);
    const Blocks sums = up.children.empty() ? b.own() : b.temp(b.pieces());
    flow_up(b, up, b.own(), sums);
    for (int s = 0; up.parent < 0 && s < b.pieces(); ++s) b.send(sides.receivers.first, sub(sums, s));
  }
  if (sides.senders.count == 0) return;
  const Tree down = to_all ? tree_over(sides.own, b) : Tree{};
  for (int s = 0; s < b.pieces(); ++s) {
    b.recv(down.parent < 0 ? sides.senders.first : down.parent, recv_blocks(s));
    b.send(down.children, recv_blocks(s));
  }
}

constexpr Algorithm flat{.operation = Operation::bcast,
                         .name = "flat between groups",
                         .summary = "the root sends to all of the other group",
                         .source = "folklore",
                         .build = bcast_flat,
                         .segmented = true};
constexpr Algorithm tree{.operation = Operation::bcast,
                         .name = "tree between groups",
                         .summary = "along a k-nomial tree over the root and the other group",
                         .source = "folklore",
                         .build = bcast_tree,
                         .default_radix = 2,
                         .segmented = true};

/// The same for both operations that combine.
constexpr Algorithm combining(Operation operation, const char* name, const char* summary, void (*build)(Builder&)) {
  return {.operation = operation,
          .name = name,
          .summary = summary,
          .source = "MPICH, Open MPI (reduce, exchange, bcast); slices as in oneCCL's nreduce",
          .build = build,
          .default_radix = build == reduce_tree ? 2 : 0,
          .segmented = true,
          .ordered = true,
          .from_left = build != reduce_tree};
}
constexpr Algorithm combining_flat(Operation operation) {
  return combining(operation, "flat between groups", "who gets the result combines", reduce_flat);
}
constexpr Algorithm combining_sliced(Operation operation) {
  return combining(operation, "sliced between groups", "who contributes combines a slice each", reduce_sliced);
}
constexpr Algorithm combining_tree(Operation operation) {
  return combining(operation, "tree between groups", "up a k-nomial tree, across, and down another one", reduce_tree);
}
constexpr Algorithm reductions[] = {combining_flat(Operation::reduce), combining_sliced(Operation::reduce),
                                    combining_tree(Operation::reduce)};
constexpr Algorithm allreduces[] = {combining_flat(Operation::allreduce), combining_sliced(Operation::allreduce),
                                    combining_tree(Operation::allreduce)};

}  // namespace

std::vector<const Algorithm*> between_groups(Operation operation) {
  switch (operation) {
    case Operation::bcast: return {&flat, &tree};
    case Operation::reduce: return {&reductions[0], &reductions[1], &reductions[2]};
    case Operation::allreduce: return {&allreduces[0], &allreduces[1], &allreduces[2]};
    default: return {};
  }
}

}  // namespace omnes::inline algorithms
