// Reduce, sliced: every rank is responsible for one slice (1/p) of the message, combines it in rank order straight
// from where the contributions lie, and hands the result to the root. Two rounds; all ranks share the work. Same
// bits as linear.
#include "algorithms/patterns.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  const int p = b.p(), rank = b.rank(), root = b.root(), segments = b.segments();
  b.cut(p * segments);
  const bool at_root = rank == root;
  const Blocks sums = at_root ? recv_blocks(rank * segments, segments) : b.temp(segments, rank * segments);
  for (int s = 0; s < segments; ++s) {
    const auto piece = [&](int slice) { return slice * segments + s; };
    reduce_scatter_from_left(b, [&](int slice) { return sub(b.own(), piece(slice)); }, sub(sums, s));
    if (!at_root) b.send(root, sub(sums, s));
    for (int i = 1; at_root && i < p; ++i) {
      const int from = (rank + i) % p;
      b.recv(from, recv_blocks(piece(from)));
    }
  }
}

const Register registered{{
    .operation = Operation::reduce,
    .name = "sliced",
    .summary = "every rank combines one slice in rank order, the root gathers",
    .source = "first half of oneCCL's nreduce, then a gather; in rank order here",
    .build = build,
    .segmented = true,
    .ordered = true,
    .from_left = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
