// Bcast, circulant graph: n blocks reach everybody in n - 1 + ceil(log2(p)) rounds, which is optimal where a rank sends
// one block and receives one per round. For any p, and without a tree: all ranks send and receive all the time.
#include "algorithms/circulant_broadcast.hpp"

#include "algorithms/registry.hpp"

namespace omnes {
namespace {

void build(Builder& b) {
  const int p = b.p(), v = b.vrank(), n = b.segments();
  b.cut(n);
  if (p == 1) return;
  const CirculantBroadcast graph(p);
  const int q = graph.phase(), start = (q - graph.rounds(n) % q) % q;

  std::vector<std::vector<int>> theirs;  // what the rank at each skip receives, from all of its senders
  for (int k = 0; k < q; ++k) theirs.push_back(graph.receives((v + graph.skip(k)) % p, n));
  const std::vector<int> mine = graph.receives(v, n);
  for (int i = 0; i < graph.rounds(n); ++i) {
    const int k = (start + i) % q;
    if (theirs[k][i] >= 0) b.send(b.real(v + graph.skip(k)), recv_blocks(theirs[k][i]));
    if (mine[i] >= 0) b.recv(b.real(v - graph.skip(k)), recv_blocks(mine[i]));
  }
}

const Algorithm algorithm{
    .operation = Operation::bcast,
    .name = "circulant",
    .summary = "segments on a circulant graph, as few rounds as possible",
    .source = "Träff 2024",
    .build = build,
    .segmented = true,
};
const Register registered{algorithm};

}  // namespace
}  // namespace omnes
