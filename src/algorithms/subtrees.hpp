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

/// `subtree(v)` is the arc of vrank v.
template <class Subtree>
Place place_in(int v, const Tree& tree, const Subtree& subtree) {
  Place place{{v, subtree(v)}, tree.parent, {}};
  for (const int child : tree.children) place.children.push_back({child, subtree(child)});
  return place;
}

void gather_subtrees(Builder& b, const Place& place);
void scatter_subtrees(Builder& b, const Place& place);

}  // namespace omnes::inline algorithms
