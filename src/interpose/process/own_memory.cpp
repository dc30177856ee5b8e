// Finds or makes the heap. The windows are there from the start, and never destroyed.
#include "interpose/process/own_memory.hpp"

#include <dlfcn.h>
#include <sys/mman.h>

#include <atomic>
#include <cstddef>
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

// No page begins there.
alignas(2) char probed[2];
char* const probe = probed + 1;
std::atomic<int> probes_seen{0};
std::atomic<bool> some_is_set_apart{false};

template <class Function>
Function* as_others_find(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

/// Whether the program's calls of madvise and mremap come to this library first (exports/memory.cpp). A component of the host, or
/// a library that was loaded too late, does not see them, nor does one whose functions were overwritten: UCX does that.
bool sees_what_becomes_of_memory() {
  static auto* const discard = as_others_find<int(void*, std::size_t, int)>("madvise");
  static auto* const move = as_others_find<void*(void*, std::size_t, std::size_t, int, ...)>("mremap");
  if (discard == nullptr || move == nullptr || some_is_set_apart) return false;
  const int before = probes_seen.load();
  discard(probe, 0, MADV_NORMAL);
  move(probe, 0, 0, 0);
  return probes_seen.load() == before + 2;
}

}  // namespace

bool is_probe(const void* address) noexcept {
  if (address != probe) return false;
  ++probes_seen;
  return true;
}

void set_apart(std::size_t bytes) noexcept {
  if (bytes >= shm::Adoption::min_bytes) some_is_set_apart = true;
}

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
    return heap ? shm::Adoption::make(*heap, sees_what_becomes_of_memory).release() : nullptr;
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
