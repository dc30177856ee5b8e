// Barrier, linear: everybody reports to rank 0, which publishes that all are there.
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  const Blocks token;
  if (b.rank() != 0) {
    b.send(0, token);
    b.recv_published(0, token);
    return;
  }
  for (int from = 1; from < b.p(); ++from) b.recv(from, token);
  b.step();
  b.publish(token);
}

const Register registered{{
    .operation = Operation::barrier,
    .name = "linear",
    .summary = "all report to rank 0, which publishes back",
    .source = "central counter, as messages: Mellor-Crummey, Scott 1991",
    .build = build,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
