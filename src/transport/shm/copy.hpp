// Copying payloads.
//
// Why not memcpy: from 2 KiB on, the C library's uses the processor's `rep movsb`, which on AMD's Zen 3 and 4 is several times slower when the
// destination lies 1 to 63 bytes behind the source within a page: just what a slot (on a page) and a large allocation (on a page + 16) make.
// Measured there: 8 KiB out of a slot took 2.9 us instead of 0.4. On Intel's, where it is the fastest way, it is used.
#pragma once

#include <cstddef>

namespace omnes::shm {

/// Like memcpy: `to` and `from` do not overlap.
void copy_bytes(void* to, const void* from, std::size_t bytes);

/// Copies to where another core reads next, from where it has read or written last: through the caches, or past them.
///
/// Stores through the caches first take each line from that core. Between two of an AMD EPYC (Zen 4), 16 to 64 KiB each
/// time, that took 1 ns a line where they were threads of one core, 5 to 10 within a third-level cache, 28 to 38 from one
/// such cache to another. Stores past the caches took 3 wherever the other was, but then it reads from memory, for 4 to 8
/// a line instead of 2 to 5. So it depends on who shares caches, which virtual machines do not tell, and which changes when they
/// are moved: both ways are timed, the one in use always and the other one now and then.
class OutwardCopy {
 public:
  /// Like copy_bytes().
  void copy(void* to, const void* from, std::size_t bytes);

 private:
  double through_ = 0, past_ = 0;  // recent ticks of the processor's clock a byte; 0: not known
  unsigned copies_ = 0;
};

}  // namespace omnes::shm
