// Which of the names that there are was probably meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace omnes {

/// The name that takes the fewest letters inserted, removed or replaced, if that is at most a third of the word's; else null.
const std::string* nearest(std::string_view word, std::span<const std::string> names);

/// "did you mean X? ", for an error that goes on with what is valid; nothing where no name is near.
std::string did_you_mean(std::string_view word, std::span<const std::string> names);

}  // namespace omnes
