// How many collectives were called, for tools (exports/tools.cpp).
//
// Blocking ones that are served are counted always, each communicator's by the one thread that calls them there: a load and a store. The
// others, which take longer, are counted once a tool wants to know.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "schedule/schedule.hpp"

namespace omnes::interpose {

struct State;

namespace counts {

using Each = std::array<std::atomic<std::uint64_t>, operation_count>;

/// One thread at a time counts, others read. Returns how many it were.
inline std::uint64_t one_more(Each& of, Operation operation) {
  std::atomic<std::uint64_t>& count = of[static_cast<std::size_t>(operation)];
  const std::uint64_t more = count.load(std::memory_order_relaxed) + 1;
  count.store(more, std::memory_order_relaxed);
  return more;
}

extern std::atomic<bool> wanted;
/// Calls that do not block and are served, and all that the host makes.
extern Each not_blocking, passed;
inline void count(Each& of, Operation operation) {
  if (wanted.load(std::memory_order_relaxed)) [[unlikely]]
    of[static_cast<std::size_t>(operation)].fetch_add(1, std::memory_order_relaxed);
}

/// From its first to its last moment, what a state has counted is part of the sum.
void enlist(const State& state);
void retire(const State& state);

/// Of all communicators, also of those that are gone.
std::uint64_t served(Operation operation);
/// Communicators whose lanes are open.
std::uint64_t communicators();

}  // namespace counts

}  // namespace omnes::interpose
