// Bcast, scatter + recursive doubling allgather: log2(p) rounds each way and about two messages of traffic per
// rank.
//
// How: with q the largest power of two that is not above p, a binomial scatter leaves unit v (1/q of the message)
// on vrank v < q; then ranks at distance 1, 2, 4, ... exchange all they have gathered. What a rank holds already,
// as an inner rank of the scatter tree, it is not sent again. Each vrank v + q < p listens in: whatever is v's own
// or is sent to v goes to the set {v, v + q}, so any p takes the same rounds.
#include <bit>

#include "algorithms/bcast/binomial_scatter.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  const int p = b.p(), v = b.vrank();
  const int q = static_cast<int>(std::bit_floor(static_cast<unsigned>(p)));
  b.cut(q);
  scatter_units(b, q, 1);

  const bool listens = v >= q;
  const int member = listens ? v - q : v;  // the listener receives as if it were this one
  if (listens) b.recv(b.real(member), recv_blocks(member));
  if (!listens && v + q < p) b.send(b.real(v + q), recv_blocks(v));

  for (int distance = 1; distance < q; distance *= 2) {
    const int peer = member ^ distance;
    const auto gathered = [&](int of) { return recv_blocks(of & ~(distance - 1), distance); };
    // Else what the peer has gathered lies in its subtree of the scatter.
    const auto needs = [&](int of) { return of % (2 * distance) != 0; };
    if (!listens) {
      std::vector<std::int32_t> to;
      if (needs(peer)) to.push_back(b.real(peer));
      if (peer + q < p) to.push_back(b.real(peer + q));
      b.send(to, gathered(v));
    }
    if (listens || needs(v)) b.recv(b.real(peer), gathered(peer));
  }
}

const Register registered{{
    .operation = Operation::bcast,
    .name = "scatter_recursive_doubling",
    .summary = "binomial scatter, then recursive doubling allgather",
    .source = "Barnett et al. 1994; Thakur, Rabenseifner, Gropp 2005",
    .build = build,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
