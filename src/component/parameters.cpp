// The settings of omnes as parameters of Open MPI: OMNES_STATS is coll_omnes_stats.
#include <algorithm>
#include <deque>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "component/bridge.h"
#include "select/settings.hpp"

namespace omnes {

namespace {

/// A component does not serve these.
constexpr std::string_view left_out[] = {"OMNES_CHECK", "OMNES_CHECK_TIMEOUT", "OMNES_NOTICES", "OMNES_RECORD"};
/// Nor does it see what becomes of the program's memory.
constexpr const char* about_heap = "What lies in memory that ranks map: off, alloc_mem, shared (default: alloc_mem)";

std::vector<OmnesParameter> all_parameters() {
  static std::deque<std::string> texts;  // which stay where they are
  std::vector<OmnesParameter> parameters;
  for (const auto& [variable, about] : all_settings()) {
    if (std::ranges::find(left_out, variable) != std::end(left_out)) continue;
    std::string name = variable.substr(variable.find('_') + 1);
    std::ranges::transform(name, name.begin(), [](char c) { return c == '_' ? c : static_cast<char>(c - 'A' + 'a'); });
    parameters.push_back({texts.emplace_back(name).c_str(), texts.emplace_back(variable).c_str(),
                          variable == "OMNES_HEAP" ? about_heap : texts.emplace_back(about).c_str()});
  }
  parameters.push_back({});
  return parameters;
}

}  // namespace

}  // namespace omnes

extern "C" const OmnesParameter* omnes_parameters() {
  static const std::vector<OmnesParameter> all = omnes::all_parameters();
  return all.data();
}
