// Copying payloads.
//
// Why not memcpy: from 2 KiB on, the C library's uses the processor's `rep movsb`, which on AMD's Zen 3 and 4 is several times slower when the
// destination lies 1 to 63 bytes behind the source within a page: just what a slot (on a page) and a large allocation (on a page + 16) make.
// Measured there: 8 KiB out of a slot took 2.9 us instead of 0.4. On Intel's, and starting at Zen 5, where it is the fastest
// way, it is used.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace omnes::shm {

/// Like memcpy: `to` and `from` do not overlap.
void copy_bytes(void* to, const void* from, std::size_t bytes);

/// How long a way of copying has taken lately. All zero: not known. One thread writes it; where it lies in shared memory,
/// others see it.
class Pace {
 public:
  /// Does it, and, if it is to be timed, takes note of how long that took.
  template <class Copy>
  void time(bool timed, std::size_t bytes, Copy copy) {
    if (!timed) return copy();
    const std::uint64_t begin = ticks();
    copy();
    note(static_cast<float>(ticks() - begin) / static_cast<float>(bytes));
  }
  /// In ticks of the processor's clock a byte; 0: not known.
  float value() const { return value_.load(std::memory_order_relaxed); }

 private:
  static std::uint64_t ticks();
  void note(float ticks_a_byte);

  std::atomic<float> value_;
};

/// Copies to where another core reads next, from where it has read or written last: through the caches, or past them.
///
/// Stores through the caches first take each line from that core. Between two of an AMD EPYC (Zen 4), 16 to 64 KiB each
/// time, that took 1 ns a line where they were threads of one core, 5 to 10 within a third-level cache, 28 to 38 from one
/// such cache to another (Zen 5: 0.5, 2, 8). Stores past the caches took 3 wherever the other was, but then it reads from
/// memory, for 4 to 8 a line instead of 2 to 5. So it depends on who shares caches, which virtual machines do not tell, and
/// which changes when they are moved: both ways are timed now and then, on both sides.
class OutwardCopy {
 public:
  enum class Way : std::uint8_t { through_caches, past_caches };
  using Paces = std::array<Pace, 2>;  ///< by way
  static inline const Paces not_known{};

  struct Written {
    Way way = Way::through_caches;
    bool timed = false;  ///< so it should be when it is read
  };

  /// Copies like copy_bytes(), and says how. `reading`: how fast who needs them reads what was written in each way.
  Written copy(void* to, const void* from, std::size_t bytes, const Paces& reading = not_known);
  /// The same for what fill(address) writes: past the caches it goes by memory of its own. Throws std::bad_alloc.
  template <class Fill>
  Written fill(std::byte* to, std::size_t bytes, const Paces& reading, Fill fill) {
    if (!can_choose(bytes)) {
      fill(to);
      return {};
    }
    const Written written = choose(reading);
    const bool past = written.way == Way::past_caches;
    if (past && piece_.size() < bytes) piece_.resize(bytes);
    writing_[static_cast<std::size_t>(written.way)].time(written.timed, bytes, [&] {
      fill(past ? piece_.data() : to);
      if (past) copy_past_caches(to, piece_.data(), bytes);
    });
    return written;
  }

 private:
  static bool can_choose(std::size_t bytes);
  Written choose(const Paces& reading);
  static void copy_past_caches(std::byte* to, const std::byte* from, std::size_t bytes);

  Paces writing_{};
  unsigned copies_ = 0;
  std::vector<std::byte> piece_;
};

}  // namespace omnes::shm
