// What is worth knowing about a process, though it is no call: the report tells it.
#pragma once

#include <set>
#include <string>

namespace omnes::interpose {

void note(const std::string& text);
/// Each is there once.
std::set<std::string> all_notes();

}  // namespace omnes::interpose
