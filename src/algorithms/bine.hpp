// Bine trees and butterflies: like binomial ones, but peers are only about two thirds as far away.
//
// How: a binomial tree gives its root's second half to the rank in its own direction, so the halves lie side by side
// and their heads half the ring apart. A Bine tree turns: even steps go one way and odd steps the other, by the
// distances 1, -1, 3, -5, 11, ..., the sums of (-2)^i, and each head lies within the arc that it stands for, about a
// third from one end. What a rank stands for after some steps is an arc of the ring of ranks in any case.
// Source: De Sensi et al., "Bine Trees: Enhancing Collective Operations by Optimizing Communication Locality", SC'25.
// There, p is a power of two. Here the tree serves any p, by halving arcs as evenly as they go; the butterfly any
// even p, because a last step that finds arcs overlapping moves only what is missing.
#pragma once

#include "algorithms/trees.hpp"

namespace omnes::inline algorithms {

/// The tree rooted at 0, of depth at most ceil(log2(p)); children in ascending order of their subtrees' sizes.
Tree bine_tree(int v, int p);
/// The subtree of v.
Arc bine_subtree(int v, int p);

/// Steps of the butterfly: ceil(log2(p)).
int bine_steps(int p);
/// With whom `rank` exchanges in step 0, 1, ...: at distances 1, 1, 3, 5, 11, ..., on alternating sides. p is even.
int bine_peer(int rank, int step, int p);
/// An allgather that takes the steps in ascending order: what `rank` has after the first `steps` of them.
Arc bine_gathered(int rank, int steps, int p);
/// What `rank` receives there in `step`; its peer has it by then. A reduce-scatter takes the steps in descending
/// order, and in each a rank sends what it would receive here.
Arc bine_incoming(int rank, int step, int p);

}  // namespace omnes::inline algorithms
