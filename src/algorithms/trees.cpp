// Neighbours in trees, by walking from the root (or from the digits of the rank) to the rank in question.
#include "algorithms/trees.hpp"

#include <algorithm>
#include <bit>

namespace omnes {

namespace {

/// The weight of the lowest non-zero digit of v in base k; for v = 0 the first weight that is not below p.
long long knomial_weight(int v, int p, int k) {
  long long weight = 1;
  while (weight < p && v % (weight * k) == 0) weight *= k;
  return weight;
}

}  // namespace

int knomial_extent(int v, int p, int k) {
  return static_cast<int>(std::min<long long>(knomial_weight(v, p, k), p - v));
}

Tree knomial_tree(int v, int p, int k) {
  Tree tree;
  const long long weight = knomial_weight(v, p, k);
  if (v > 0) tree.parent = static_cast<int>(v - v % (weight * k));
  for (long long w = 1; w < weight; w *= k)
    for (int digit = 1; digit < k && v + digit * w < p; ++digit)
      tree.children.push_back(static_cast<std::int32_t>(v + digit * w));
  return tree;
}

Tree doubling_tree(int v, int p) {
  Tree tree;
  const int above = v == 0 ? 1 : 2 * static_cast<int>(std::bit_floor(static_cast<unsigned>(v)));
  if (v > 0) tree.parent = v - above / 2;
  for (long long distance = above; v + distance < p; distance *= 2)
    tree.children.push_back(static_cast<std::int32_t>(v + distance));
  std::reverse(tree.children.begin(), tree.children.end());
  return tree;
}

Tree kary_tree(int v, int p, int k) {
  Tree tree;
  if (v > 0) tree.parent = (v - 1) / k;
  const long long first = static_cast<long long>(v) * k + 1;
  for (long long child = first; child < std::min<long long>(first + k, p); ++child)
    tree.children.push_back(static_cast<std::int32_t>(child));
  return tree;
}

Tree chain_tree(int v, int p) {
  Tree tree;
  tree.parent = v - 1;
  if (v + 1 < p) tree.children.push_back(v + 1);
  return tree;
}

Tree in_order_binary_tree(int rank, int p, int root) {
  Tree tree;
  int first = 0, last = p, here = root;  // `here` heads the range [first, last)
  while (here != rank) {
    tree.parent = here;
    (rank < here ? last : first) = rank < here ? here : here + 1;
    here = first + (last - first) / 2;
  }
  if (first < here) tree.children.push_back(first + (here - first) / 2);
  if (here + 1 < last) tree.children.push_back(here + 1 + (last - here - 1) / 2);
  return tree;
}

Tree in_order_chain_tree(int rank, int p, int root) {
  Tree tree;
  if (rank != root) tree.parent = rank < root ? rank + 1 : rank - 1;
  if (rank > 0 && rank <= root) tree.children.push_back(rank - 1);
  if (rank + 1 < p && rank >= root) tree.children.push_back(rank + 1);
  return tree;
}

}  // namespace omnes
