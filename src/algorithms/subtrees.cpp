// The two directions; small subtrees are ready first on the way up, large ones are sent first on the way down.
#include "algorithms/subtrees.hpp"

#include <algorithm>

#include "algorithms/bine.hpp"
#include "algorithms/patterns.hpp"

namespace omnes::inline algorithms {

namespace {

/// Where the parts of `inner` lie among those of the arc `outer`, which `parts` holds.
Blocks within(Blocks parts, Arc outer, Arc inner, int p) {
  return sub(parts, (inner.first - outer.first + p) % p, inner.count);
}

Arc alone(const Branch& branch) { return {branch.vrank, 1}; }

/// Splits a subtree's parts as the root's buffer does where they travel to or from the root.
void for_messages(const Builder& b, const Place& place, Blocks parts, const std::function<void(Blocks)>& run) {
  if (place.parent != 0) return run(parts);
  int done = 0;
  cyclic_runs(b.real(place.self.subtree.first), parts.count, b.p(), [&](int, int n) {
    run(sub(parts, done, n));
    done += n;
  });
}

Blocks temp_for_parts(Builder& b, int parts) { return b.temp_like(std::vector<std::int32_t>(parts, 0)); }

/// `subtree(v)` is the arc of vrank v.
template <class Subtree>
Place place_in(const Tree& tree, int v, const Subtree& subtree) {
  Place place{{v, subtree(v)}, tree.parent, {}};
  for (const int child : tree.children) place.children.push_back({child, subtree(child)});
  return place;
}

void gather_parts(Builder& b, const Place& place) {
  const auto& [self, parent, children] = place;
  if (parent < 0) {
    b.copy(b.own(), b.part(Buffer::recv, b.rank()));
    for (const Branch& child : children)
      cyclic_runs(b.real(child.subtree.first), child.subtree.count, b.p(),
                  [&](int first, int n) { b.recv(b.real(child.vrank), b.part(Buffer::recv, first, n)); });
    return;
  }
  Blocks parts = b.own();
  if (!children.empty()) {
    parts = temp_for_parts(b, self.subtree.count);
    b.copy(b.own(), within(parts, self.subtree, alone(self), b.p()));
    for (const Branch& child : children) b.recv(b.real(child.vrank), within(parts, self.subtree, child.subtree, b.p()));
  }
  for_messages(b, place, parts, [&](Blocks run) { b.send(b.real(parent), run); });
}

void scatter_parts(Builder& b, const Place& place) {
  const auto& [self, parent, children] = place;
  const Blocks own = b.part(Buffer::recv, 0);
  if (parent < 0) {
    for (auto child = children.rbegin(); child != children.rend(); ++child)
      cyclic_runs(b.real(child->subtree.first), child->subtree.count, b.p(),
                  [&](int first, int n) { b.send(b.real(child->vrank), b.part(Buffer::send, first, n)); });
    if (!b.problem().in_place) b.copy(b.part(Buffer::send, b.rank()), own);
    return;
  }
  const Blocks parts = children.empty() ? own : temp_for_parts(b, self.subtree.count);
  for_messages(b, place, parts, [&](Blocks run) { b.recv(b.real(parent), run); });
  for (auto child = children.rbegin(); child != children.rend(); ++child)
    b.send(b.real(child->vrank), within(parts, self.subtree, child->subtree, b.p()));
  b.copy(within(parts, self.subtree, alone(self), b.p()), own);
}

}  // namespace

Place bine_place(const Builder& b) {
  const int p = b.p(), v = b.vrank();
  return place_in(bine_tree(v, p), v, [p](int of) { return bine_subtree(of, p); });
}

Place knomial_place(const Builder& b) {
  const int p = b.p(), v = b.vrank(), k = b.problem().radix;
  return place_in(knomial_tree(v, p, k), v, [p, k](int of) { return Arc{of, knomial_extent(of, p, k)}; });
}

Place postal_place(const Builder& b) {
  const int p = b.p(), v = b.vrank(), k = b.problem().radix;
  return place_in(postal_tree(v, p, k), v, [p, k](int of) { return Arc{of, postal_extent(of, p, k)}; });
}

void move_subtrees(Builder& b, const Place& place) {
  if (b.problem().operation == Operation::gather)
    gather_parts(b, place);
  else
    scatter_parts(b, place);
}

}  // namespace omnes::inline algorithms
