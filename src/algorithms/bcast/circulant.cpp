// Bcast, circulant graph: n blocks reach everybody in n - 1 + ceil(log2(p)) rounds, which is optimal where a rank sends
// one block and receives one per round. For any p, and without a tree: all ranks send and receive all the time.
#include "algorithms/circulant_broadcast.hpp"

#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  const int v = b.vrank();
  b.cut(b.segments());
  for (const auto [skip, sent, received] : CirculantBroadcast(b.p()).rounds(v, b.segments())) {
    if (sent >= 0) b.send(b.real(v + skip), recv_blocks(sent));
    if (received >= 0) b.recv(b.real(v - skip), recv_blocks(received));
  }
}

const Register registered{{
    .operation = Operation::bcast,
    .name = "circulant",
    .summary = "segments on a circulant graph, as few rounds as possible",
    .source = "Träff 2024",
    .build = build,
    .segmented = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
