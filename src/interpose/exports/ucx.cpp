// UCX's progress function, which MPICH built for UCX calls each time it has found nothing in shared memory: the one place where it can be seen
// that it waits in MPI_Comm_split, MPI_Win_fence or MPI_File_open. (MPICH 4.3 and later also call a hook: progress/background.cpp.)
#include <dlfcn.h>

#include <string>

#include "interpose/host/host.hpp"
#include "interpose/host/loaded_objects.hpp"
#include "interpose/progress/until.hpp"

#if defined(OMNES_ABI_MPICH) || defined(OMNES_ABI_STANDARD)

namespace omnes::interpose {

namespace {

using Progress = unsigned (*)(void*);
constexpr const char* name = "ucp_worker_progress";

Progress find() {
  if (void* const next = dlsym(RTLD_NEXT, name)) return reinterpret_cast<Progress>(next);
  // UCX may have been loaded for a library of its own, so that it is not among what is searched by default.
  for (const std::string& file : loaded_objects()) {
    void* const object = dlopen(file.c_str(), RTLD_NOLOAD | RTLD_LAZY);
    if (!object) continue;
    void* const symbol = dlsym(object, name);
    dlclose(object);
    if (symbol && symbol != dlsym(RTLD_DEFAULT, name)) return reinterpret_cast<Progress>(symbol);
  }
  return nullptr;
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
