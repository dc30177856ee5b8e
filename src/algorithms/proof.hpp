// Proving catalogue entries: builds the schedules of all ranks and hands them to the verifier.
#pragma once

#include <string>

#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {

/// Empty: proved. Else one line that names the case, and the rank, op and block where it goes wrong.
/// In place means all ranks where MPI asks all, the root alone where only the root can; bcast and barrier have no such
/// form.
/// Neighborhood operations are proved on all sample topologies, hierarchical algorithms on all sample placements that
/// they serve.
/// Throws std::invalid_argument when the algorithm does not serve the case (see why_not).
std::string prove(const Algorithm& algorithm, int p, int root = 0, int radix = 0, int segments = 1,
                  bool in_place = false);
/// The same for one placement, with the given algorithms at its levels; of `problem`, the rank does not matter.
std::string prove_on(const Algorithm& algorithm, const Problem& problem, bool in_place);

}  // namespace omnes::inline algorithms
