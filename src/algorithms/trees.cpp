// Neighbours in trees, by walking from the root (or from the digits of the rank) to the rank in question.
#include "algorithms/trees.hpp"

#include <algorithm>
#include <bit>

#include "base/assert.hpp"

namespace omnes::inline algorithms {

namespace {

/// The weight of the lowest non-zero digit of v in base k; for v = 0 the first weight that is not below p.
long long knomial_weight(int v, int p, int k) {
  long long weight = 1;
  while (weight < p && v % (weight * k) == 0) weight *= k;
  return weight;
}

/// Walks a postal tree from rank 0 down to v: calls hand(parent, child) for all children of the ranks on the way, and
/// returns the size of v's subtree. In t steps a rank and those it sends to reach F(t) = F(t - 1) + F(t - k) ranks: it
/// keeps the first F(t - 1) for itself, and hands the rest to the first of them.
template <class Hand>
int walk_postal(int v, int p, int k, const Hand& hand) {
  const int delay = std::min(k, p);
  std::vector<int> reach(delay, 1);
  while (reach.back() < p) reach.push_back(reach.back() + reach[reach.size() - delay]);
  int here = 0, count = p, subtree = p;
  for (int step = static_cast<int>(reach.size()) - 1; count > 1; --step) {
    const int kept = std::min(count, reach[step - 1]), child = here + kept;
    if (kept == count) continue;
    hand(here, child);
    if (v < child) {
      count = kept;
    } else {
      here = child;
      count -= kept;
      subtree = count;
      step -= delay - 1;
    }
  }
  return subtree;
}

}  // namespace

int knomial_extent(int v, int p, int k) {
  return static_cast<int>(std::min<long long>(knomial_weight(v, p, k), p - v));
}

Tree knomial_tree(int v, int p, int k) {
  OMNES_ASSERT(v >= 0 && v < p && k >= 2);
  Tree tree;
  const long long weight = knomial_weight(v, p, k);
  if (v > 0) tree.parent = static_cast<int>(v - v % (weight * k));
  for (long long w = 1; w < weight; w *= k)
    for (int digit = 1; digit < k && v + digit * w < p; ++digit)
      tree.children.push_back(static_cast<std::int32_t>(v + digit * w));
  return tree;
}

Tree postal_tree(int v, int p, int k) {
  OMNES_ASSERT(v >= 0 && v < p && k >= 1);
  Tree tree;
  walk_postal(v, p, k, [&](int parent, int child) {
    if (child == v) tree.parent = parent;
    if (parent == v) tree.children.push_back(child);
  });
  std::reverse(tree.children.begin(), tree.children.end());
  return tree;
}

int postal_extent(int v, int p, int k) {
  return walk_postal(v, p, k, [](int, int) {});
}

Tree doubling_tree(int v, int p) {
  OMNES_ASSERT(v >= 0 && v < p);
  Tree tree;
  const int above = v == 0 ? 1 : 2 * static_cast<int>(std::bit_floor(static_cast<unsigned>(v)));
  if (v > 0) tree.parent = v - above / 2;
  for (long long distance = above; v + distance < p; distance *= 2)
    tree.children.push_back(static_cast<std::int32_t>(v + distance));
  std::reverse(tree.children.begin(), tree.children.end());
  return tree;
}

Tree group_tree(int rank, int p, int k) {
  OMNES_ASSERT(rank >= 0 && rank < p && k >= 1);
  const int first = rank / k * k;
  Tree tree = knomial_tree(rank - first, std::min(k, p - first), 2);
  if (tree.parent >= 0) tree.parent += first;
  for (std::int32_t& child : tree.children) child += first;
  return tree;
}

Tree smp_tree(int rank, int p, int root, int k) {
  OMNES_ASSERT(rank >= 0 && rank < p && root >= 0 && root < p && k >= 1);
  const int groups = (p + k - 1) / k, top = root / k;
  const auto head = [&](int group) { return group == top ? root : group * k; };
  const int group = rank / k, first = group * k, size = std::min(k, p - first), here = head(group);

  Tree tree = knomial_tree((rank - here + size) % size, size, 2);
  const auto in_group = [&](int v) { return first + (here - first + v) % size; };
  if (tree.parent >= 0) tree.parent = in_group(tree.parent);
  for (std::int32_t& child : tree.children) child = in_group(child);
  if (rank != here) return tree;

  const Tree above = knomial_tree((group - top + groups) % groups, groups, 2);
  if (above.parent >= 0) tree.parent = head((above.parent + top) % groups);
  for (const int child : above.children) tree.children.push_back(head((child + top) % groups));
  return tree;
}

Tree kary_tree(int v, int p, int k) {
  OMNES_ASSERT(v >= 0 && v < p && k >= 1);
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
  OMNES_ASSERT(rank >= 0 && rank < p && root >= 0 && root < p);
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

}  // namespace omnes::inline algorithms
