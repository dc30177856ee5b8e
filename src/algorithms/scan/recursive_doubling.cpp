// Scan, recursive doubling: ceil(log2(p)) rounds; in the round at distance d = 1, 2, 4, ... every rank passes its sum
// to the rank d above, and puts what comes from d below on the left of its own, which then spans the last 2d ranks.
#include "algorithms/registry.hpp"
#include "algorithms/scanning.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) { scan_doubling(b, {0, b.p()}, b.own()); }

const Register registered{{
    .operation = Operation::scan,
    .name = "recursive_doubling",
    .summary = "every rank passes its sum on, at doubling distance",
    .source = "Kogge, Stone 1973; Hillis, Steele 1986",
    .build = build,
    .ordered = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
