// What the explored code calls and is not explored itself: copies of memory, and the kernel.
#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include <cstdarg>

#include "explorer.hpp"
#include "transport/shm/cma.hpp"
#include "transport/shm/copy.hpp"

namespace omnes::shm {

void copy_bytes(void* to, const void* from, std::size_t bytes) { explorer::copy(to, from, bytes); }

OutwardCopy::Written OutwardCopy::copy(void* to, const void* from, std::size_t bytes, const Paces&) {
  explorer::copy(to, from, bytes);
  return {};
}

bool OutwardCopy::can_choose(std::size_t) { return false; }
OutwardCopy::Written OutwardCopy::choose(const Paces&) { return {}; }
void OutwardCopy::copy_past_caches(std::byte*, const std::byte*, std::size_t) {}

std::uint64_t Pace::ticks() { return 0; }
void Pace::note(float) {}

// Ranks are one process.
int read_process(std::int64_t pid, std::uint64_t address, void* to, std::size_t bytes) {
  if (pid == explorer::unreadable) return EPERM;
  explorer::copy_shared(to, reinterpret_cast<const void*>(address), bytes);
  return 0;
}
int write_process(std::int64_t, std::uint64_t address, const void* data, std::size_t bytes) {
  explorer::copy_shared(reinterpret_cast<void*>(address), data, bytes);
  return 0;
}

}  // namespace omnes::shm

extern "C" long __wrap_syscall(long number, ...) {
  if (number == SYS_madvise) return 0;  // what the system is told of pages changes nothing here
  va_list arguments;
  va_start(arguments, number);
  void* const word = va_arg(arguments, void*);
  const int what = va_arg(arguments, int);
  const auto value = va_arg(arguments, unsigned);
  va_end(arguments);
  explorer::check(number == SYS_futex, "a system call that the explorer does not know");
  if (what == FUTEX_WAIT) {
    explorer::sleep(word, value);
  } else {
    explorer::wake(word);
  }
  return 0;
}
