// Finds or makes the heap. The windows are there from the start, and never destroyed.
#include "interpose/process/own_memory.hpp"

#include <dlfcn.h>

#include <atomic>
#include <string>

#include "interpose/process/process.hpp"

namespace omnes::interpose {

std::atomic<bool> windows_made{false};

namespace {

std::atomic<shm::Heap*> made{nullptr};
std::atomic<shm::Adoption*> adopting{nullptr};

using Find = shm::Heap* (*)();

/// What libomnes-heap.so exports: its heap.
Find find_shared_heap() { return reinterpret_cast<Find>(dlsym(RTLD_DEFAULT, "omnes_heap")); }

shm::Heap* find_or_make() {
  if constexpr (simulated) return nullptr;  // no other process would read it
  if (!memory_is_mapped()) return nullptr;
  if (const Find shared = find_shared_heap())
    if (shm::Heap* heap = shared()) return heap;
  std::string error;
  return shm::Heap::make(shm::Heap::usual_bytes(), error).release();
}

/// Whether the program's calls of madvise and mremap come to this library first (exports/memory.cpp): a component of the host, or
/// a library that was loaded too late, does not see them.
bool sees_what_becomes_of_memory() {
  Dl_info called, own;
  void* const function = dlsym(RTLD_DEFAULT, "madvise");
  return function != nullptr && dladdr(function, &called) != 0 && dladdr(&adopting, &own) != 0 &&
         called.dli_fbase == own.dli_fbase;
}

}  // namespace

bool memory_is_mapped() {
  const Settings& settings = process().settings;
  return !settings.off && settings.heap != HeapUse::off && settings.transport != Transport::mpi;
}

shm::Heap* own_heap() {
  static shm::Heap* const heap = made = find_or_make();
  return heap;
}

shm::Heap* own_heap_if_made() { return made; }

shm::Adoption* adoption() {
  static shm::Adoption* const once = adopting = [] {
    const bool wanted = process().settings.heap == HeapUse::automatic && sees_what_becomes_of_memory();
    shm::Heap* const heap = wanted ? own_heap() : nullptr;
    return heap ? shm::Adoption::make(*heap).release() : nullptr;
  }();
  return once;
}

shm::Adoption* adoption_if_made() { return adopting; }

bool shared_heap_is_loaded() { return find_shared_heap() != nullptr; }

shm::SharedWindows& shared_windows() {
  static auto& all = *new shm::SharedWindows;
  return all;
}

}  // namespace omnes::interpose
