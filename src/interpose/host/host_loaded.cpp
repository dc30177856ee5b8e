// Finds the host MPI among the loaded objects.
#include "interpose/host/host.hpp"

#include <dlfcn.h>
#include <link.h>

#include <string>

#include "interpose/host/loaded_objects.hpp"

namespace omnes::interpose {

namespace {

void* library = nullptr;

/// The object that holds an address.
const void* base_of(const void* address) {
  Dl_info info;
  return dladdr(address, &info) ? info.dli_fbase : nullptr;
}

/// Opens the object if it is the one that defines PMPI_Comm_rank (its users see the symbol through their dependencies).
void* open_if_host(const std::string& name) {
  void* object = dlopen(name.c_str(), RTLD_NOLOAD | RTLD_LAZY);
  if (!object) return nullptr;
  link_map* map = nullptr;
  const void* symbol = dlsym(object, "PMPI_Comm_rank");
  if (symbol && dlinfo(object, RTLD_DI_LINKMAP, &map) == 0) {
    Dl_info info;
    link_map* definer = nullptr;
    if (dladdr1(symbol, &info, reinterpret_cast<void**>(&definer), RTLD_DL_LINKMAP) && definer == map) return object;
  }
  dlclose(object);
  return nullptr;
}

/// Open MPI 4 has persistent collectives under names of its own.
void* look_up(const std::string& name) {
  void* const function = dlsym(library, ("PMPI_" + name).c_str());
  return function ? function : dlsym(library, ("PMPIX_" + name).c_str());
}

Family family_of(const std::string& name) {
  if (dlsym(library, "ompi_mpi_comm_world")) return Family::ompi;
  const std::string file = name.substr(name.rfind('/') + 1);
  return file.starts_with("libmpi_abi.") ? Family::abi : Family::mpich;
}

}  // namespace

// The program's executable may own a copy of the symbol (copy relocation), and then that copy is the one in use.
void* host_data(const char* name) {
  if (void* address = dlsym(RTLD_DEFAULT, name)) return address;
  return dlsym(library, name);
}

Wide world_of(Family family) {
  switch (family) {
    case Family::ompi: return reinterpret_cast<Wide>(host_data("ompi_mpi_comm_world"));
    case Family::mpich: return 0x44000000;
    case Family::abi: return 0x101;
    default: return 0;
  }
}

Family look_up_host() {
  const void* us = base_of(reinterpret_cast<const void*>(&find_host));
  for (const std::string& name : loaded_objects()) {
    void* object = open_if_host(name);
    if (!object || base_of(dlsym(object, "PMPI_Comm_rank")) == us) continue;
    library = object;
#define OMNES_LOOK_UP(name) host.name = reinterpret_cast<decltype(host.name)>(look_up(#name));
    OMNES_HOST_FUNCTIONS(OMNES_LOOK_UP)
    OMNES_HOST_COUNT_FUNCTIONS(OMNES_LOOK_UP)
    OMNES_HOST_MAKERS(OMNES_LOOK_UP)
    OMNES_HOST_TOOLS(OMNES_LOOK_UP)
    OMNES_HOST_BEGINNERS(OMNES_LOOK_UP)
    OMNES_LOOK_UP(Attr_put)
    OMNES_LOOK_UP(Comm_attach_buffer)
    OMNES_LOOK_UP(Comm_attach_buffer_c)
    OMNES_LOOK_UP(T_category_get_num_events)
    OMNES_LOOK_UP(T_category_get_events)
#undef OMNES_LOOK_UP
#define OMNES_LOOK_UP(name) host.name = reinterpret_cast<decltype(host.name)>(dlsym(library, "PMPIX_" #name))
    OMNES_LOOK_UP(Comm_is_revoked);
    OMNES_LOOK_UP(Comm_revoke);
    OMNES_LOOK_UP(Comm_get_failed);
    OMNES_LOOK_UP(Comm_test_threadcomm);
    OMNES_LOOK_UP(Request_is_complete);
#undef OMNES_LOOK_UP
    host.survives_failures = static_cast<const bool*>(dlsym(library, "ompi_ftmpi_enabled"));
    return family_of(name);
  }
  return Family::none;
}

}  // namespace omnes::interpose
