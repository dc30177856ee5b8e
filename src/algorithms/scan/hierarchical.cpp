// Scan along a hierarchy: an exscan in the groups of each level, and the sums of all lower units down again.
#include "algorithms/scan_levels.hpp"

namespace omnes::inline algorithms {
namespace {

const Register registered{{
    .operation = Operation::scan,
    .name = "hierarchical",
    .summary = "exscans up the levels of the machine, and sums of lower units down",
    .source = "MPICH (SMP-aware scan) for one level; any levels and algorithms are ours",
    .build = scan_levels,
    .segmented = true,
    .ordered = true,
    .hierarchical = phases_of_scans,
    .consecutive = true,
}};

}  // namespace
}  // namespace omnes::inline algorithms
