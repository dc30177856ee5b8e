// Gather and scatter along a tree in which every subtree is an arc of the ring of vranks, and travels in one message.
//
// In an inner rank's temporary the parts of its arc lie in the arc's order. At the root they lie in rank order, so an
// arc may wrap around there: then it travels as two messages, which the root and its child split alike.
#pragma once

#include "algorithms/trees.hpp"
#include "schedule/builder.hpp"

namespace omnes::inline algorithms {

struct Branch {
  int vrank;
  Arc subtree;
};

/// One rank's view of the tree: itself, its parent's vrank (-1 at the root), and its children, smallest subtree first.
struct Place {
  Branch self;
  int parent;
  std::vector<Branch> children;
};

/// This rank's in a Bine tree, and in the trees of the problem's radix.
Place bine_place(const Builder& b);
Place knomial_place(const Builder& b);
Place postal_place(const Builder& b);

/// The whole gather or scatter, whichever the problem asks for.
void move_subtrees(Builder& b, const Place& place);

}  // namespace omnes::inline algorithms
