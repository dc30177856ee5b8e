// Bcast, Bine scatter + Bine allgather: ceil(log2(p)) rounds each way and about two messages of traffic per rank, between
// ranks that are nearer to each other than in scatter_recursive_doubling.
//
// How: the message is cut into one unit per rank. Down the Bine tree, each rank receives the units of its subtree, an
// arc; along the Bine butterfly, the rest, an arc per step, except what it has already. The butterfly takes an even
// number of ranks: of an odd number, the last one only listens. It is sent all that vrank 1 is sent, which as a leaf
// receives the whole message.
#include <algorithm>

#include "algorithms/bine.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

/// Calls run(units) for each run of consecutive units of `arc` of a ring of q that are not in `held`.
void for_missing(Arc arc, Arc held, int q, const auto& run) {
  for (int i = 0, n; i < arc.count; i += n) {
    const int unit = (arc.first + i) % q, place = (unit - held.first + q) % q;  // in `held`, or behind it
    n = place < held.count ? held.count - place : std::min({arc.count - i, q - unit, q - place});
    if (place >= held.count) run(recv_blocks(unit, n));
  }
}

void build(Builder& b) {
  constexpr int heard = 1;  // whom the last of an odd number of ranks listens to
  constexpr Arc nothing{0, 0};
  const int p = b.p(), q = p - p % 2;
  b.cut(std::max(q, 1));
  if (p == 1) return;
  const bool listens = b.vrank() == q;
  const int v = listens ? heard : b.vrank();

  const auto send = [&](int to, Blocks units) {
    if (listens) return;
    std::vector<std::int32_t> set = {b.real(to)};
    if (to == heard && q < p) set.push_back(b.real(q));
    b.send(set, units);
  };
  const auto recv_from = [&](int from) { return [&b, from](Blocks units) { b.recv(b.real(from), units); }; };
  const auto send_to = [&](int to) { return [&send, to](Blocks units) { send(to, units); }; };

  const Tree tree = bine_tree(v, q);
  const Arc held = bine_subtree(v, q);
  if (tree.parent >= 0) for_missing(held, nothing, q, recv_from(tree.parent));
  for (auto child = tree.children.rbegin(); child != tree.children.rend(); ++child)
    for_missing(bine_subtree(*child, q), nothing, q, send_to(*child));

  for (int step = 0; step < bine_steps(q); ++step) {
    const int peer = bine_peer(v, step, q);
    for_missing(bine_incoming(peer, step, q), bine_subtree(peer, q), q, send_to(peer));
    for_missing(bine_incoming(v, step, q), held, q, recv_from(peer));
  }
}

const Register registered{{
    .operation = Operation::bcast,
    .name = "scatter_bine",
    .summary = "scatter down a Bine tree, then Bine allgather",
    .source = "De Sensi et al. 2025",
    .build = build,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
