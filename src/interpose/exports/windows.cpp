// Windows. A program that has made one counts on a barrier to let the host progress, which others need not pay for; the
// memory of those that ranks share is read in place by collectives.
#include <unistd.h>

#include <cstring>
#include <utility>
#include <vector>

#include "interpose/exports/startup.hpp"
#include "interpose/host/export.hpp"
#include "interpose/host/failure.hpp"
#include "interpose/process/own_memory.hpp"

namespace omnes::interpose {

namespace {

using Part = shm::SharedWindows::Part;

int made(int code) {
  if (code == MPI_SUCCESS) windows_made.store(true, std::memory_order_relaxed);
  return code;
}

/// A handle as a number, whatever it is in this family.
std::uint64_t name_of(MPI_Win window) {
  std::uint64_t name = 0;
  std::memcpy(&name, &window, sizeof window);
  return name;
}

/// Whether collectives on the communicator run on omnes: on all its ranks, by the same settings.
bool serves(MPI_Comm comm) {
  try {
    return find_state(comm, Form::blocking).state != nullptr;
  } catch (const Failure&) {
    return false;
  }
}

/// Collective. Tells all ranks of a new window where its parts lie in their owners, and finds out where they lie here.
/// What fails only costs speed.
void know(MPI_Comm comm, MPI_Win window, void* base, MPI_Aint bytes) {
  int size = 0, rank = 0;
  if (host.Comm_size(comm, &size) != MPI_SUCCESS || host.Comm_rank(comm, &rank) != MPI_SUCCESS) return;
  std::vector<Part> parts(size);
  const Part own{getpid(), {reinterpret_cast<std::uintptr_t>(base), static_cast<std::uint64_t>(bytes), nullptr}};
  if (host.Allgather(&own, sizeof own, handles.byte, parts.data(), sizeof own, handles.byte, comm) != MPI_SUCCESS)
    return;
  for (int r = 0; r < size; ++r) {
    MPI_Aint there = 0;
    int unit = 0;
    void* here = nullptr;
    if (host.Win_shared_query(window, r, &there, &unit, &here) != MPI_SUCCESS) return;
    parts[r].mapping.base = static_cast<std::byte*>(here);
  }
  parts.erase(parts.begin() + rank);
  shared_windows().add(name_of(window), own, std::move(parts));
}

/// MPI_Win_allocate_shared, by the host's function `allocate`.
template <class Function, class Unit>
int make_shared(Function allocate, MPI_Aint bytes, Unit unit, Wide info, Wide comm, void* base, void* window) {
  const int code = made(call_host(allocate, bytes, unit, info, comm, base, window));
  if (code != MPI_SUCCESS || !serves(narrow<MPI_Comm>(comm)) || !memory_is_mapped()) return code;
  know(narrow<MPI_Comm>(comm), *static_cast<MPI_Win*>(window), *static_cast<void**>(base), bytes);
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
    return make_shared(host.allocate_shared, size, unit, info, comm, base, window);                         \
  }

OMNES_WINDOWS(Win_create, Win_allocate, Win_allocate_shared, int)
#ifdef OMNES_LARGE_COUNTS
OMNES_WINDOWS(Win_create_c, Win_allocate_c, Win_allocate_shared_c, MPI_Aint)
#endif

OMNES_EXPORT(Win_free, void* window) {
  if (find_host() == built_for && window) shared_windows().remove(name_of(*static_cast<MPI_Win*>(window)));
  return call_host(host.Win_free, window);
}

}  // namespace omnes::interpose
