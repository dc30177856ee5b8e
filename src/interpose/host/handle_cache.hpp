// What is known about an MPI handle, found in a few nanoseconds.
//
// Overview: the truth is an attribute that the host keeps with the object; in front of it each thread has a small
// direct-mapped cache, from the first time that it knows anything: what is thread-local from the beginning is taken out of
// the stack of every thread of the program.
// Why it is correct: a handle value may come back for another object after the first is freed. The attribute's delete
// callback runs before that, on whatever thread, and calls forget(): entries of an older generation are not found any
// more, in any thread. Handles that have the same place in the caches, where there is room for one of them, share their
// generation. An answer has the generation from before the question: the object may be freed meanwhile.
// Cost: one hash, one load of the (rarely written) generation, two comparisons.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>

namespace omnes::interpose {

using Generation = std::atomic<std::uint64_t>;

/// How often any handle has been forgotten.
inline constinit Generation all_forgotten{1};
/// What each call reads and what hardly ever changes, in one cache line.
struct alignas(64) Seldom {
  Generation forgotten_at_once{1};
  std::atomic<bool> may_be_revoked{false};
  std::atomic<bool> one_thread_forgets{false};  ///< as long as no other thread may be in the host
};
inline constinit Seldom seldom;
/// How often all have been forgotten at once.
inline constexpr Generation& forgotten_at_once = seldom.forgotten_at_once;

/// Programs free a datatype behind each message: a locked instruction would wait there until all that was written before
/// has reached the caches.
inline void begin_next(Generation& generation) {
  if (seldom.one_thread_forgets.load(std::memory_order_relaxed))
    generation.store(generation.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  else
    generation.fetch_add(1, std::memory_order_acq_rel);
}

/// How often handles that have the same place have been forgotten.
template <class Handle, std::size_t size>
class Generations {
 public:
  static const Generation& of(Handle handle) { return counters_[place(handle)]; }
  /// Whoever sees the place's generation sees that of all, too.
  static void forget(Handle handle) {
    begin_next(all_forgotten);
    begin_next(counters_[place(handle)]);
  }
  static void forget_all() {
    begin_next(all_forgotten);
    begin_next(forgotten_at_once);
    for (Generation& counter : counters_) begin_next(counter);
  }
  static std::size_t place(Handle handle) {
    constexpr std::uint64_t golden = 0x9E3779B97F4A7C15u;  // 2^64 / golden ratio (Fibonacci hashing)
    return static_cast<std::size_t>((std::uint64_t)(handle)*golden >> 32) & (size - 1);
  }

 private:
  static_assert((size & (size - 1)) == 0, "a power of two");
  static inline Generation counters_[size] = {};
};

template <class Handle, class Value, std::size_t size>
class HandleCache : public Generations<Handle, size> {
  using Base = Generations<Handle, size>;

 public:
  Value* find(Handle handle) const {
    const Entry& entry = entries_[Base::place(handle)];
    const bool known = entry.handle == handle && entry.generation == generation(handle);
    return known ? entry.value : nullptr;
  }
  /// `generation`: what generation() said before the host was asked for the value.
  void put(Handle handle, Value* value, std::uint64_t generation) {
    if (entries_ == none_ && !allocate()) return;
    entries_[Base::place(handle)] = {handle, value, generation};
  }
  static std::uint64_t generation(Handle handle) { return Base::of(handle).load(std::memory_order_acquire); }

 private:
  struct alignas(32) Entry {  // else some would lie in two cache lines
    Handle handle;
    Value* value;  // null: none
    std::uint64_t generation;
  };
  /// Until the thread ends. What comes later, in its last destructors, stays.
  bool allocate() {
    struct Owner {
      HandleCache* cache;
      ~Owner() { std::free(std::exchange(cache->entries_, none_)); }
    };
    void* room = nullptr;
    if (posix_memalign(&room, alignof(Entry), sizeof none_) != 0) return false;
    Entry* const entries = static_cast<Entry*>(room);
    std::uninitialized_value_construct_n(entries, size);
    entries_ = entries;
    static thread_local Owner owner{this};
    return static_cast<void>(owner), true;
  }
  static inline Entry none_[size] = {};
  Entry* entries_ = none_;
};

/// For thread-local caches: reached without a call, as this library is loaded with the program; a component is not. In a simulation all ranks
/// are one thread, and each has globals of its own.
#if defined(OMNES_ABI_SMPI)
#define OMNES_FAST_THREAD_LOCAL constinit
#elif defined(OMNES_COMPONENT)
#define OMNES_FAST_THREAD_LOCAL constinit thread_local
#else
#define OMNES_FAST_THREAD_LOCAL constinit thread_local __attribute__((tls_model("initial-exec")))
#endif

}  // namespace omnes::interpose
