// Steps that neighborhood operations share.
#pragma once

#include <functional>

#include "schedule/builder.hpp"

namespace omnes::inline algorithms {

/// Sends along every edge and receives along every edge. `outgoing(port)`: what goes to destination number `port`. Several edges between two ranks carry
/// their messages in the order of the sender's destinations.
void exchange_with_neighbors(Builder& b, const std::function<Blocks(int port)>& outgoing);

}  // namespace omnes::inline algorithms
