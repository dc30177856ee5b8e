// Barrier along lanes: at each level, the nearest first, a barrier among the ranks that correspond to each other. A rank
// that is through one level knows that all of its unit have entered.
#include "algorithms/lanes.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

constexpr Phases phases{.up = Operation::barrier, .top = Operation::barrier};

void build(Builder& b) {
  MultiLane lanes(b);
  for (std::size_t level = 0; level <= lanes.last(); ++level) {
    b.step();
    lanes.run(Operation::barrier, level, false, {}, {}, 0, [](int) { return Like{}; });
  }
}

const Register registered{{
    .operation = Operation::barrier,
    .name = "lanes",
    .summary = "barriers among corresponding ranks, from the nearest level of the machine to the widest",
    .source = "dissemination with an algorithm for each level; ours",
    .build = build,
    .hierarchical = phases,
    .uniform = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
