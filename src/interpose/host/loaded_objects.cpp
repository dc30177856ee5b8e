#include "interpose/host/loaded_objects.hpp"

#include <link.h>

#include <cstddef>

namespace omnes::interpose {

std::vector<std::string> loaded_objects() {
  std::vector<std::string> names;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* list) {
        if (info->dlpi_name && *info->dlpi_name)
          static_cast<std::vector<std::string>*>(list)->push_back(info->dlpi_name);
        return 0;
      },
      &names);
  return names;
}

}  // namespace omnes::interpose
