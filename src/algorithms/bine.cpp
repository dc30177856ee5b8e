// Arcs in coordinates relative to their head. The mirror image of a structure belongs to odd ranks (butterfly), or to
// children of ranks that are not mirrored themselves (tree).
#include "algorithms/bine.hpp"

#include <algorithm>
#include <bit>

#include "algorithms/alternating.hpp"
#include "base/assert.hpp"

namespace omnes::inline algorithms {

namespace {

int modulo(int rank, int p) { return (rank % p + p) % p; }

/// Whether the head of n ranks, not mirrored, has its second half above itself.
bool turns_up(int n) { return bine_steps(n) % 2 == 1; }

/// How many of n ranks are below their head, not mirrored.
int below_head(int n) {
  int below = 0;
  for (; n > 1; n -= n / 2)
    if (!turns_up(n)) below += n / 2;
  return below;
}

/// The first `count` ranks, at and beside `rank`, of its side of the butterfly.
Arc arc_at(int rank, int count, int p) {
  const int below = rank % 2 == 0 ? below_head(count) : count - 1 - below_head(count);
  return {modulo(rank - below, p), count};
}

struct Position {
  Tree tree;
  Arc subtree;
};

/// Walks from the root to v. The arc [first, last) belongs to `head`, and what of it is not head's own half goes to a child.
Position find(int v, int p, bool with_children) {
  OMNES_ASSERT(v >= 0 && v < p);
  Position place;
  int head = 0, first = -below_head(p), last = first + p;
  if (v >= last) v -= p;
  place.subtree = {modulo(first, p), p};
  for (bool mirrored = false; last - first > 1;) {
    const int half = (last - first) / 2;
    const bool up = turns_up(last - first) != mirrored;
    const int begin = up ? last - half : first;
    const auto child = [&] { return begin + (mirrored ? below_head(half) : half - 1 - below_head(half)); };
    if (begin <= v && v < begin + half) {  // v is in the child's half
      place.tree.parent = modulo(head, p);
      place.tree.children.clear();
      place.subtree = {modulo(begin, p), half};
      head = child(), first = begin, last = begin + half;
      mirrored = !mirrored;
    } else {
      if (head == v && with_children) place.tree.children.push_back(modulo(child(), p));
      (up ? last : first) = up ? begin : begin + half;
    }
  }
  std::reverse(place.tree.children.begin(), place.tree.children.end());
  return place;
}

}  // namespace

Tree bine_tree(int v, int p) { return find(v, p, true).tree; }
Arc bine_subtree(int v, int p) { return find(v, p, false).subtree; }

int bine_steps(int p) { return std::bit_width(static_cast<unsigned>(p - 1)); }

int bine_peer(int rank, int step, int p) { return alternating_partner(rank, step, p); }

Arc bine_gathered(int rank, int steps, int p) {
  return steps == bine_steps(p) ? Arc{0, p} : arc_at(rank, 1 << steps, p);
}

Arc bine_incoming(int rank, int step, int p) {
  OMNES_ASSERT(step >= 0 && step < bine_steps(p));
  if (step < bine_steps(p) - 1) return bine_gathered(bine_peer(rank, step, p), step, p);
  const Arc gathered = bine_gathered(rank, step, p);
  return {modulo(gathered.first + gathered.count, p), p - gathered.count};
}

}  // namespace omnes::inline algorithms
