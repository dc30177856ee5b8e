// Explores what ranks may do to each other: all orders of their steps, and all that a weak memory may show them.
//
// The code under test is the product's own, compiled with -fsanitize=thread but linked with explorer.cpp instead of
// ThreadSanitizer's library: so each access to memory comes by here. Ranks are fibers of one thread. A scenario is run again and again,
// each time with other decisions: which rank goes on before an atomic operation, and which of the values that a load may still see it does see.
//
// Memory is that of C++ without what compilers and processors hardly do: each location has a list of stores; a load sees any that is
// not older than what its rank knows of; what a rank knows is handed on by release stores to acquire loads, by
// read-modify-writes, and by fences. A plain access that does not happen after the last conflicting one is a data race. x86
// shows less than that, Arm about as much.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace explorer {

/// What each rank does, from the beginning.
using Run = std::vector<std::function<void()>>;

struct Scenario {
  std::string name;
  std::function<Run()> set_up;
  /// In each run at most so many times another rank goes on although this one could, or a load sees an old value: all
  /// such runs are tried. Beyond that they are drawn at random.
  int max_switches = 2, max_old = 1;
  bool may_time_out = false;  ///< a sleep may end by its time-out
};

struct Limits {
  std::uint64_t max_runs = 0;     ///< of each scenario, where all are tried; 0: no limit
  std::uint64_t random_runs = 0;  ///< of each scenario, at random
  std::uint64_t seed = 1;
};

struct Outcome {
  std::uint64_t tried = 0;  ///< runs, all that there are unless `cut`
  std::uint64_t random = 0;
  bool cut = false;
  std::string failure;  ///< of the first run that failed, with its last steps; empty: none
};

Outcome explore(const Scenario& scenario, const Limits& limits);

// For scenarios.

/// Memory that ranks share. Until the run ends.
void share(void* memory, std::size_t bytes);
/// This rank has nothing to do until others have done something.
void pause();
/// Until somebody wakes it, unless the word is not `expected` any more; the kernel's futex.
void sleep(const void* word, std::uint32_t expected);
void wake(const void* word);
/// The run fails unless it is true.
void check(bool condition, const char* what);
/// A copy of memory by code that is not explored.
void copy(void* to, const void* from, std::size_t bytes);
/// The same of what two ranks share.
void copy_shared(void* to, const void* from, std::size_t bytes);
/// As a rank's process, says that the system lets nobody read its memory.
inline constexpr std::int64_t unreadable = 2;

}  // namespace explorer
