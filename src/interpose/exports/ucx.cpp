// UCX's progress function, which MPICH built for UCX calls each time it has found nothing in shared memory: the one place where it can be seen
// that it waits in MPI_Comm_split, MPI_Win_fence or MPI_File_open. (MPICH 4.3 and later also call a hook: progress/background.cpp.)
#include <dlfcn.h>
#include <link.h>

#include "interpose/host/host.hpp"
#include "interpose/progress/until.hpp"

#if defined(OMNES_ABI_MPICH) || defined(OMNES_ABI_STANDARD)

namespace omnes::interpose {

namespace {

using Progress = unsigned (*)(void*);
constexpr const char* name = "ucp_worker_progress";

/// UCX may have been loaded for a library of its own, so that it is not among what is searched by default.
int look_in(dl_phdr_info* info, std::size_t, void* found) {
  if (!info->dlpi_name || !*info->dlpi_name) return 0;
  void* const object = dlopen(info->dlpi_name, RTLD_NOLOAD | RTLD_LAZY);
  if (!object) return 0;
  void* const symbol = dlsym(object, name);
  dlclose(object);
  if (!symbol || symbol == dlsym(RTLD_DEFAULT, name)) return 0;
  *static_cast<void**>(found) = symbol;
  return 1;
}

Progress find() {
  if (void* const next = dlsym(RTLD_NEXT, name)) return reinterpret_cast<Progress>(next);
  void* found = nullptr;
  dl_iterate_phdr(look_in, &found);
  return reinterpret_cast<Progress>(found);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) unsigned ucp_worker_progress(void* worker) {
  static const Progress progress = find();
  const unsigned events = progress(worker);
  if (events == 0) pause_in_host();
  return events;
}

}  // namespace omnes::interpose

#endif
