// Whether the program has made a window. One that has counts on a barrier to let the host progress, which others need
// not pay for.
#include "interpose/windows.hpp"

#include "interpose/export.hpp"

namespace omnes {

std::atomic<bool> windows_made{false};

namespace {

int made(int code) {
  if (code == MPI_SUCCESS) windows_made.store(true, std::memory_order_relaxed);
  return code;
}

}  // namespace

OMNES_EXPORT(Win_create_dynamic, Wide info, Wide comm, void* window) {
  find_host();
  return made(call_host(host.Win_create_dynamic, info, comm, window));
}

// Those with a displacement unit, for MPI_X (int) and MPI_X_c (MPI_Aint).
#define OMNES_WINDOWS(create, allocate, allocate_shared, Unit)                                              \
  OMNES_EXPORT(create, void* base, MPI_Aint size, Unit unit, Wide info, Wide comm, void* window) {          \
    find_host();                                                                                            \
    return made(call_host(host.create, base, size, unit, info, comm, window));                              \
  }                                                                                                         \
  OMNES_EXPORT(allocate, MPI_Aint size, Unit unit, Wide info, Wide comm, void* base, void* window) {        \
    find_host();                                                                                            \
    return made(call_host(host.allocate, size, unit, info, comm, base, window));                            \
  }                                                                                                         \
  OMNES_EXPORT(allocate_shared, MPI_Aint size, Unit unit, Wide info, Wide comm, void* base, void* window) { \
    find_host();                                                                                            \
    return made(call_host(host.allocate_shared, size, unit, info, comm, base, window));                     \
  }

OMNES_WINDOWS(Win_create, Win_allocate, Win_allocate_shared, int)
#ifdef OMNES_LARGE_COUNTS
OMNES_WINDOWS(Win_create_c, Win_allocate_c, Win_allocate_shared_c, MPI_Aint)
#endif

}  // namespace omnes
