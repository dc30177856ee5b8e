// Shapes of trees over ranks 0..p-1, seen from one rank and found in O(log p).
#pragma once

#include <cstdint>
#include <vector>

namespace omnes::inline algorithms {

/// The neighbours of one rank in a tree.
struct Tree {
  int parent = -1;                     ///< -1 at the root
  std::vector<std::int32_t> children;  ///< in ascending order where nothing else is said
};

/// The ranks first, first + 1, ..., first + count - 1 modulo p.
struct Arc {
  int first, count;
  friend bool operator==(const Arc&, const Arc&) = default;
};

/// k-nomial tree rooted at 0: the subtree of v is the range [v, v + knomial_extent(v, p, k)).
Tree knomial_tree(int v, int p, int k);
int knomial_extent(int v, int p, int k);

/// Tree rooted at 0 that reaches all ranks soonest where a message takes k times as long to arrive as to send: its
/// receiver is sending, too, while its sender goes on. Subtrees are ranges, as in a k-nomial tree; k = 1 is binomial.
Tree postal_tree(int v, int p, int k);
int postal_extent(int v, int p, int k);

/// Binomial tree rooted at 0 in which the ranks below 2^i send to those at distance 2^i; the largest subtree is the last.
Tree doubling_tree(int v, int p);

/// Binomial tree over the k consecutive ranks, fewer at the end, that the rank is one of; rooted at the first of them.
Tree group_tree(int rank, int p, int k);

/// A binomial tree over each group of k consecutive ranks, and one over their heads: the root, and the first ranks of
/// the other groups. Children: those of the group first, then other heads, each with the largest subtree last. With
/// root 0 they ascend, and every subtree is a range of ranks.
Tree smp_tree(int rank, int p, int root, int k);

/// Complete k-ary tree rooted at 0: the children of v are kv + 1, ..., kv + k.
Tree kary_tree(int v, int p, int k);
inline Tree binary_tree(int v, int p) { return kary_tree(v, p, 2); }

/// Path rooted at 0: v's child is v + 1.
Tree chain_tree(int v, int p);

/// Binary tree rooted at any rank whose in-order walk is 0..p-1: left subtree below, right subtree above the rank.
Tree in_order_binary_tree(int rank, int p, int root);

/// Two paths, 0..root and p-1..root, that meet at the root; its in-order walk is 0..p-1.
Tree in_order_chain_tree(int rank, int p, int root);

}  // namespace omnes::inline algorithms
