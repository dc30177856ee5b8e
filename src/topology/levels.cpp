// Sets of levels as text.
#include "topology/levels.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "base/spelling.hpp"
#include "topology/file.hpp"

namespace omnes::inline topology {

LevelSet parse_levels(std::string_view text) {
  LevelSet levels;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    const auto* found = std::ranges::find(level_names, word);
    if (found == level_names.end())
      throw std::invalid_argument("no level '" + one_line(word) + "'; " +
                                  valid_names(word, {level_names.begin(), level_names.end()}) +
                                  ", with commas between");
    levels.set(static_cast<std::size_t>(found - level_names.begin()));
    at = end + 1;
  }
  return levels;
}

std::string to_string(LevelSet levels) {
  std::string text;
  for (std::size_t i = 0; i < level_count; ++i)
    if (levels[i]) text += (text.empty() ? "" : ",") + std::string(level_names[i]);
  return text;
}

}  // namespace omnes::inline topology
