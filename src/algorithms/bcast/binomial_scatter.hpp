// The scatter with which the two-phase broadcasts begin: units of the message go down a binomial tree.
#pragma once

#include "algorithms/trees.hpp"
#include "schedule/builder.hpp"

namespace omnes::inline algorithms {

/// Which units vrank v holds after the scatter over `ranks` vranks: [v, v + units_held(v)). The root holds them all.
inline int units_held(int v, int ranks) { return knomial_extent(v, ranks, 2); }

/// Hands unit v (and those of v's subtree) to vrank v, for v < ranks. A unit is `unit` consecutive blocks.
inline void scatter_units(Builder& b, int ranks, int unit) {
  const int v = b.vrank();
  if (v >= ranks) return;
  const Tree tree = knomial_tree(v, ranks, 2);
  if (tree.parent >= 0) b.recv(b.real(tree.parent), recv_blocks(v * unit, units_held(v, ranks) * unit));
  for (auto child = tree.children.rbegin(); child != tree.children.rend(); ++child)
    b.send(b.real(*child), recv_blocks(*child * unit, units_held(*child, ranks) * unit));
}

}  // namespace omnes::inline algorithms
