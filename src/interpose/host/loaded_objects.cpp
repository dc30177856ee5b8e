#include "interpose/host/loaded_objects.hpp"

#include <dlfcn.h>
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

void* next_of(const char* name) {
  if (void* const next = dlsym(RTLD_NEXT, name)) return next;
  for (const std::string& file : loaded_objects()) {
    void* const object = dlopen(file.c_str(), RTLD_NOLOAD | RTLD_LAZY);
    if (!object) continue;
    void* const symbol = dlsym(object, name);
    dlclose(object);
    if (symbol && symbol != dlsym(RTLD_DEFAULT, name)) return symbol;
  }
  return nullptr;
}

}  // namespace omnes::interpose
