// Allreduce along lanes that all carry the whole message: at each level, the nearest first, an allreduce among the ranks
// that correspond to each other. For short messages, of which a rank can send one as well as part of one.
//
// Partial results alternate between `recv` and a temporary, so that the last lands in `recv`.
#include "algorithms/lanes.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

constexpr Phases phases{.up = Operation::allreduce, .top = Operation::allreduce};

void build(Builder& b) {
  MultiLane lanes(b);
  int pieces = 1;
  for (std::size_t level = 0; level <= lanes.last(); ++level) {
    const Picked one = picked(b.problem(), level, Operation::allreduce);
    const int p = lanes.group(level).size();
    pieces =
        std::max(pieces, build(*one.algorithm, {.operation = Operation::allreduce, .p = p, .radix = one.radix}).pieces);
  }
  b.cut(pieces);
  const Blocks result = recv_blocks(0, pieces), spare = b.temp(lanes.last() > 0 ? pieces : 0);
  Blocks sum = b.own();
  for (std::size_t level = 0; level <= lanes.last(); ++level) {
    const Blocks into = (lanes.last() - level) % 2 == 0 ? result : spare;
    lanes.run(Operation::allreduce, level, sum == into, sum, into, 0, [&](int block) { return Like{block, b.rank()}; });
    sum = into;
  }
}

const Register registered{{
    .operation = Operation::allreduce,
    .name = "lanes_whole",
    .summary = "allreduces of the whole message among corresponding ranks, from the nearest level to the widest",
    .source = "recursive doubling with an algorithm for each level; ours",
    .build = build,
    .ordered = true,
    .hierarchical = phases,
    .uniform = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
