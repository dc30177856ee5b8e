// Two binary trees over the same ranks, in which no rank but the root has children twice: each carries half of the
// message.
//
// How. On each side of the root, number the ranks 1..n. The first tree puts a rank as high as its number has trailing
// zero bits, so the odd ones are leaves. The second swaps odd and even: it is the mirror image for even n; for odd n
// the numbers move down by one, and 0 goes on top. Walked in order, both meet the ranks ascending, so every subtree is
// a range of ranks and reductions keep the rank order.
// Cost. A rank that is not the root sends and receives the message once, whatever its place, where in a single binary
// tree inner ranks receive it twice and leaves never. A root between both sides takes it in from either.
// Source: Sanders, Speck, Träff 2009, "Two-tree algorithms for full bandwidth broadcast, reduction and scan".
#pragma once

#include "algorithms/trees.hpp"
#include "schedule/builder.hpp"

namespace omnes::inline algorithms {

/// The neighbours of `rank` in tree `which`, 0 or 1.
Tree double_tree(int rank, int p, int root, int which);

/// The first half of `own`'s blocks flows up one tree, the other half up the other, combined in rank order: `into` is
/// scratch on the way, where there are children, and at the root the result.
void double_flow_up(Builder& b, int root, Blocks own, Blocks into);
/// Both halves of `blocks` flow down from `root`, along trees over the ranks counted from there.
void double_flow_down(Builder& b, int root, Blocks blocks);

}  // namespace omnes::inline algorithms
