// What is known about an MPI handle, found in a few nanoseconds.
//
// Overview: the truth is an attribute that the host keeps with the object; in front of it each thread has a small
// direct-mapped cache.
// Why it is correct: a handle value may come back for another object after the first is freed. The attribute's delete
// callback runs before that, on whatever thread, and calls forget_all(): entries of an older generation are not found
// any more, in any thread.
// Cost: one hash, one load of the (rarely written) generation, two comparisons.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace omnes::interpose {

template <class Handle, class Value, std::size_t size>
class HandleCache {
 public:
  Value* find(Handle handle) const {
    const Entry& entry = entries_[place(handle)];
    const bool known = entry.handle == handle && entry.generation == generation_.load(std::memory_order_acquire);
    return known ? entry.value : nullptr;
  }
  void put(Handle handle, Value* value) {
    entries_[place(handle)] = {handle, value, generation_.load(std::memory_order_acquire)};
  }
  /// Empties the caches of all threads.
  static void forget_all() { generation_.fetch_add(1, std::memory_order_acq_rel); }
  /// How often that has happened.
  static std::uint64_t generation() { return generation_.load(std::memory_order_acquire); }

 private:
  static_assert((size & (size - 1)) == 0, "a power of two");
  struct Entry {
    Handle handle;
    Value* value;
    std::uint64_t generation;
  };
  static std::size_t place(Handle handle) {
    constexpr std::uint64_t golden = 0x9E3779B97F4A7C15u;  // 2^64 / golden ratio (Fibonacci hashing)
    return static_cast<std::size_t>((std::uint64_t)(handle)*golden >> 32) & (size - 1);
  }
  Entry entries_[size] = {};
  static inline std::atomic<std::uint64_t> generation_{1};  // above that of an empty entry
};

/// For thread-local caches: reached without a call, as this library is loaded with the program. In a simulation all ranks
/// are one thread, and each has globals of its own.
#ifdef OMNES_ABI_SMPI
#define OMNES_FAST_THREAD_LOCAL constinit
#else
#define OMNES_FAST_THREAD_LOCAL constinit thread_local __attribute__((tls_model("initial-exec")))
#endif

}  // namespace omnes::interpose
