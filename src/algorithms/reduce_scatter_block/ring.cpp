// Reduce_scatter, ring: the part of rank j starts at rank j + 1 and travels to the right, every rank combining its own
// contribution into it; after p - 1 rounds it is complete at rank j. All messages go between neighbours. The order
// starts at j + 1: needs a commutative operation.
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  const int p = b.p(), rank = b.rank(), segments = b.segments();
  b.cut(segments);
  const int right = (rank + 1) % p, left = (rank - 1 + p) % p, passing = p > 2 ? p - 2 : 0;
  // Equal parts take turns in two places; of unequal ones each has its own.
  std::vector<std::int32_t> data;
  const bool equal = !unequal(b.problem().operation);
  const int places = equal && passing > 2 ? 2 : passing;
  for (int place = 0; place < places; ++place)
    for (int s = 0; s < segments; ++s) data.push_back((rank - 2 - place + 2 * p) % p * segments + s);
  const Blocks sums = b.temp_like(data);

  if (p == 1) b.copy(b.part(Buffer::send, 0), recv_blocks(0, segments));
  for (int round = 0; round < p - 1; ++round) {
    const int outgoing = (rank - 1 - round + p) % p, incoming = (left - 1 - round + 2 * p) % p;
    for (int s = 0; s < segments; ++s) {
      const auto place = [&](int passed) { return sub(sums, passed % places * segments + s); };
      b.send(right, round == 0 ? sub(b.part(Buffer::send, outgoing), s) : place(round - 1));
      b.recv_reduce(left, sub(b.part(Buffer::send, incoming), s), round == p - 2 ? recv_blocks(s) : place(round));
    }
  }
}

const Register registered{{
    .operation = Operation::reduce_scatter_block,
    .name = "ring",
    .summary = "parts travel once around a ring, segments pipelined",
    .source = "Patarasuk, Yuan 2009 (the first half of its allreduce)",
    .build = build,
    .segmented = true,
    .unequal = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
