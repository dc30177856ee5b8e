// Bcast, reduce and allreduce between the two groups of an intercommunicator (Problem::first_group): what one group contributes,
// the other gets. They are not in the catalogue, whose algorithms serve one group.
#pragma once

#include <vector>

#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {

/// The plainest first; empty where the operation has none.
std::vector<const Algorithm*> between_groups(Operation operation);

}  // namespace omnes::inline algorithms
