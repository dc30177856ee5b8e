// Barrier along a hierarchy: tokens go up as in a reduce, the last group has a barrier of its own, and tokens come down
// as in a bcast.
#include "algorithms/message_levels.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

constexpr Phases phases{.up = Operation::reduce, .top = Operation::barrier, .down = Operation::bcast};

void build(Builder& b) {
  MessageLevels levels(b, phases, -1, 0);
  const Blocks token;
  levels.up(token, token);
  levels.across(token);
  levels.down(token);
}

const Register registered{{
    .operation = Operation::barrier,
    .name = "hierarchical",
    .summary = "tokens go up the levels of the machine, through a barrier in the widest, and down",
    .source = "Graham et al. 2010 (hierarchical barriers); any algorithm at each level is ours",
    .build = build,
    .hierarchical = phases,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
