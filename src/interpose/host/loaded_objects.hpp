// What the process has loaded.
#pragma once

#include <string>
#include <vector>

namespace omnes::interpose {

/// The files of all libraries, in the order in which they were loaded; dlopen with RTLD_NOLOAD finds them again.
std::vector<std::string> loaded_objects();

}  // namespace omnes::interpose
