// Which of the names that there are was probably meant.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace omnes {

/// The name that takes the fewest letters inserted, removed or replaced, if that is at most a third of the word's; else null.
const std::string* nearest(std::string_view word, std::span<const std::string> names);

/// "did you mean X? valid: A, B, C": how an error about a word ends that is none of these names. What was meant may also
/// be one of `others`.
std::string valid_names(std::string_view word, const std::vector<std::string>& names,
                        const std::vector<std::string>& others = {});

}  // namespace omnes
