// Steps that several algorithms share, written against the builder.
#pragma once

#include <functional>

#include "algorithms/trees.hpp"
#include "schedule/builder.hpp"

namespace omnes::inline algorithms {

/// Each segment of the message in `recv` flows from `root` to the leaves of a tree over the ranks counted from there.
void flow_down(Builder& b, const Tree& tree, int root);

/// The whole bcast along such a tree, segment by segment.
void bcast_along(Builder& b, const Tree& tree, int root);

/// Each segment of `own` flows from the leaves to the root of a tree over ranks, combined in rank order: every
/// subtree has to be a range of ranks. `into` is scratch on the way, where there are children, and at the tree's
/// root the result.
void flow_up(Builder& b, const Tree& tree, Blocks own, Blocks into);
/// The same for one segment, which `own` and `into` are.
void pass_up(Builder& b, const Tree& tree, Blocks own, Blocks into);

/// The whole reduce along such a tree, segment by segment: rooted at the root, or at rank 0, which forwards to the root.
void reduce_along(Builder& b, const Tree& tree);

/// into <- a ∘ incoming, or incoming ∘ a when `from` stands for lower ranks.
void recv_reduce_in_order(Builder& b, int from, Blocks a, Blocks into);

/// into <- x0 ∘ x1 ∘ ... ∘ x(p-1), associated from the left, on any rank: xr is this rank's `own`, the others
/// arrive from their ranks. `into` may be `own`. All algorithms that use it give the same bits for any p and any
/// count.
void reduce_from_left(Builder& b, Blocks own, Blocks into, bool published = false);

/// The same for a group of ranks that this one is in.
void reduce_from_left(Builder& b, Range group, Blocks own, Blocks into, bool published = false);

/// Sends every other rank `part(rank)`, and combines what this one is sent with its own: into <- x0 ∘ x1 ∘ ..., as above.
void reduce_scatter_from_left(Builder& b, const std::function<Blocks(int rank)>& part, Blocks into);

/// Calls run(first, n) for the one or two runs of consecutive numbers that make up first, first + 1, ... modulo p.
void cyclic_runs(int first, int count, int p, const std::function<void(int first, int n)>& run);

}  // namespace omnes::inline algorithms
