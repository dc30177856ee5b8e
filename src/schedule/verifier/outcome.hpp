// The contract at the end: what every block of `recv` holds against what was promised.
#pragma once

#include <optional>
#include <vector>

#include "schedule/verifier/group.hpp"
#include "schedule/verifier/values.hpp"

namespace omnes::verifier {

/// `held`: the value of each block in the end.
std::optional<Finding> check_outcome(const Group& group, const Values& values, const std::vector<Value>& held,
                                     Claims claims);

}  // namespace omnes::verifier
