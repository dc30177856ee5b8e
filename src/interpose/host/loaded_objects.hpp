// What the process has loaded.
#pragma once

#include <string>
#include <vector>

namespace omnes::interpose {

/// The files of all libraries, in the order in which they were loaded; dlopen with RTLD_NOLOAD finds them again.
std::vector<std::string> loaded_objects();

/// The function of that name that programs would reach without this library; null: there is none. Also of a library that was
/// loaded for another one alone, so that it is not among what is searched by default.
void* next_of(const char* name);

}  // namespace omnes::interpose
