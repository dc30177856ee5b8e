// UCX's progress function, which MPICH built for UCX calls each time it has found nothing in shared memory: the one place where it can be seen
// that it waits in MPI_Comm_split, MPI_Win_fence or MPI_File_open. (MPICH 4.3 and later also call a hook, but not in MPI_Win_wait and the
// like: progress/background.cpp.)
#include "interpose/host/host.hpp"
#include "interpose/host/loaded_objects.hpp"
#include "interpose/progress/background.hpp"
#include "interpose/progress/until.hpp"

#if defined(OMNES_ABI_MPICH) || defined(OMNES_ABI_STANDARD)

namespace omnes::interpose {

extern "C" __attribute__((visibility("default"))) unsigned ucp_worker_progress(void* worker) {
  static const auto progress = reinterpret_cast<unsigned (*)(void*)>(next_of("ucp_worker_progress"));
  const unsigned events = progress(worker);
  if (events == 0) {
    advance_unless_hooked();
    pause_in_host();
  }
  return events;
}

}  // namespace omnes::interpose

#endif
