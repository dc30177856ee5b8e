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

OMNES_EXPORT(Win_create, void* base, MPI_Aint size, int unit, Wide info, Wide comm, void* window) {
  find_host();
  return made(call_host(host.Win_create, base, size, unit, info, comm, window));
}

OMNES_EXPORT(Win_allocate, MPI_Aint size, int unit, Wide info, Wide comm, void* base, void* window) {
  find_host();
  return made(call_host(host.Win_allocate, size, unit, info, comm, base, window));
}

OMNES_EXPORT(Win_allocate_shared, MPI_Aint size, int unit, Wide info, Wide comm, void* base, void* window) {
  find_host();
  return made(call_host(host.Win_allocate_shared, size, unit, info, comm, base, window));
}

OMNES_EXPORT(Win_create_dynamic, Wide info, Wide comm, void* window) {
  find_host();
  return made(call_host(host.Win_create_dynamic, info, comm, window));
}

#ifdef OMNES_LARGE_COUNTS
OMNES_EXPORT(Win_create_c, void* base, MPI_Aint size, MPI_Aint unit, Wide info, Wide comm, void* window) {
  find_host();
  return made(call_host(host.Win_create_c, base, size, unit, info, comm, window));
}

OMNES_EXPORT(Win_allocate_c, MPI_Aint size, MPI_Aint unit, Wide info, Wide comm, void* base, void* window) {
  find_host();
  return made(call_host(host.Win_allocate_c, size, unit, info, comm, base, window));
}

OMNES_EXPORT(Win_allocate_shared_c, MPI_Aint size, MPI_Aint unit, Wide info, Wide comm, void* base, void* window) {
  find_host();
  return made(call_host(host.Win_allocate_shared_c, size, unit, info, comm, base, window));
}
#endif

}  // namespace omnes
