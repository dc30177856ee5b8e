// Reduce, circulant graph, pipelined: the broadcast of bcast/circulant.cpp backwards. n blocks are combined at the root
// in n - 1 + ceil(log2(p)) rounds, which is optimal where a rank sends one block and receives one per round, for any p.
//
// Why it is correct. There every rank receives each block once, before it sends it on. So here it has taken in all sums
// of a block that are on their way to it before it sends its own, once. Needs a commutative operation.
#include "algorithms/circulant_broadcast.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  const int n = b.segments(), v = b.vrank();
  b.cut(n);
  const std::vector<CirculantRound> rounds = CirculantBroadcast(b.p()).rounds(v, n);
  bool combines = false;
  for (const CirculantRound& round : rounds) combines |= round.sent >= 0;
  const Blocks sums = v == 0 ? recv_blocks(0, n) : b.temp(combines ? n : 0);
  std::vector<Blocks> sum;
  for (int block = 0; block < n; ++block) sum.push_back(sub(b.own(), block));
  for (auto round = rounds.rbegin(); round != rounds.rend(); ++round) {
    const auto [skip, taken, given] = *round;
    if (given >= 0) b.send(b.real(v - skip), sum[given]);
    if (taken < 0) continue;
    b.recv_reduce(b.real(v + skip), sum[taken], sub(sums, taken));
    sum[taken] = sub(sums, taken);
  }
  if (b.p() == 1) b.copy(b.own(), sums);
}

const Register registered{{
    .operation = Operation::reduce,
    .name = "circulant_pipelined",
    .summary = "segments on a circulant graph, as few rounds as possible",
    .source = "Träff 2024 (broadcast schedules, backwards)",
    .build = build,
    .segmented = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
