// Vector copies, chosen once for this processor.
#include "transport/shm/copy.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#else
#include <chrono>
#endif

#include "base/assert.hpp"
#include "base/processor.hpp"

namespace omnes::shm {

namespace {

// Bytes below which the C library moves vectors, too.
constexpr std::size_t small = 1024;
// Bytes from which on a copy is unlikely to be read again before it leaves the caches. With 32 MiB of third-level cache
// for two cores, copies of 2 MiB took 1.4 times as long past it where all buffers fit in, those of 8 MiB half as long.
constexpr std::size_t past_cache_from = 3 * 1024 * 1024;

#if defined(__x86_64__)
// The ends are moved unaligned, what lies between with aligned stores; both may overlap. At least 160 bytes.
// `past_cache`: with stores that do not first fetch what they overwrite. They are ordered before all later ones.
template <bool past_cache>
__attribute__((target("avx2"))) void copy_avx2(std::byte* to, const std::byte* from, std::size_t bytes) {
  constexpr std::size_t vector = sizeof(__m256i), block = 4 * vector;
  const auto in = [](const std::byte* p) { return reinterpret_cast<const __m256i*>(p); };
  const __m256i head = _mm256_loadu_si256(in(from));
  __m256i tail[4];
  for (std::size_t i = 0; i < 4; ++i) tail[i] = _mm256_loadu_si256(in(from + bytes - block + i * vector));
  const std::size_t skew = vector - reinterpret_cast<std::uintptr_t>(to) % vector;
  auto* next = to + skew;
  from += skew;
  for (std::byte* const stop = to + bytes - block; next < stop; next += block, from += block) {
    const __m256i a = _mm256_loadu_si256(in(from));
    const __m256i b = _mm256_loadu_si256(in(from + vector));
    const __m256i c = _mm256_loadu_si256(in(from + 2 * vector));
    const __m256i d = _mm256_loadu_si256(in(from + 3 * vector));
    auto* out = reinterpret_cast<__m256i*>(next);
    if constexpr (past_cache) {
      _mm256_stream_si256(out, a);
      _mm256_stream_si256(out + 1, b);
      _mm256_stream_si256(out + 2, c);
      _mm256_stream_si256(out + 3, d);
    } else {
      _mm256_store_si256(out, a);
      _mm256_store_si256(out + 1, b);
      _mm256_store_si256(out + 2, c);
      _mm256_store_si256(out + 3, d);
    }
  }
  if constexpr (past_cache) _mm_sfence();
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), head);
  for (std::size_t i = 0; i < 4; ++i)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + bytes - block + i * vector), tail[i]);
}

const bool has_avx2 = processor::has_avx2();

// Overwrites whole lines without fetching them first, which counts where another core has them (Intel 64 and IA-32
// Architectures Optimization Reference Manual, "Enhanced REP MOVSB and STOSB operation"). Between two cores of an Intel
// Xeon messages of 2 to 256 KiB took 5 to 14 % less than with the loop above, between two of an AMD EPYC (Zen 5) messages
// of 2 KiB to 1 MiB 10 to 40 % less. What earlier ones of AMD's do with it: copy.hpp.
void copy_string(void* to, const void* from, std::size_t bytes) {
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}

bool has_fast_string_copy() {
  constexpr unsigned fast_short_rep_mov = 1U << 4, zen_5 = 0x1A;
  const unsigned model = processor::leaf(1).a, family = (model >> 8 & 0xF) + (model >> 20 & 0xFF);
  const bool known =
      processor::is_made_by("GenuineIntel") || (processor::is_made_by("AuthenticAMD") && family >= zen_5);
  return known && (processor::leaf(7).d & fast_short_rep_mov) != 0;
}
const bool fast_string_copy = has_fast_string_copy();
#endif

}  // namespace

void copy_bytes(void* to, const void* from, std::size_t bytes) {
  OMNES_ASSERT(bytes == 0 || static_cast<const std::byte*>(to) + bytes <= from ||
               static_cast<const std::byte*>(from) + bytes <= to);
#if defined(__x86_64__)
  if (bytes >= small && has_avx2) {
    if (fast_string_copy && bytes < past_cache_from) return copy_string(to, from, bytes);
    const auto copy = bytes >= past_cache_from ? copy_avx2<true> : copy_avx2<false>;
    return copy(static_cast<std::byte*>(to), static_cast<const std::byte*>(from), bytes);
  }
#endif
  if (bytes > 0) std::memcpy(to, from, bytes);  // of an empty part there may be no address
}

// A copy that was interrupted counts little; a way that was taken for fast is soon known better.
void Pace::note(float ticks_a_byte) {
  const float known = value();
  const bool faster = ticks_a_byte < known || known == 0;
  value_.store(faster ? ticks_a_byte : known + (std::min(ticks_a_byte, 2 * known) - known) / 4,
               std::memory_order_relaxed);
}

#if defined(__x86_64__)
std::uint64_t Pace::ticks() { return __rdtsc(); }

bool OutwardCopy::can_choose(std::size_t bytes) {
  constexpr std::size_t differs_from = 4096;  // bytes; shorter copies say little about a way
  return has_avx2 && bytes >= differs_from && bytes < past_cache_from;
}

OutwardCopy::Written OutwardCopy::choose(const Paces& reading) {
  // Copies. To read the clock takes as long as to copy 1 KiB.
  constexpr unsigned timed_each = 8, other_way_each = 128;
  static_assert(other_way_each % timed_each == 0, "the other way is taken to be timed");
  // Ticks a byte that what was written past the caches costs its reader more, as long as that is not known: 10 ns a line,
  // where a tick takes 0.4 ns.
  constexpr float reading_from_memory = 0.4F;
  const auto& [through, past] = writing_;
  const auto& [read_through, read_past] = reading;
  const bool known = read_through.value() > 0 && read_past.value() > 0;
  const float worth = known ? read_past.value() - read_through.value() : reading_from_memory;
  bool go_past = through.value() > past.value() + worth;
  if (++copies_ % other_way_each == 0) go_past = !go_past;
  return {go_past ? Way::past_caches : Way::through_caches, copies_ % timed_each == 0};
}

void OutwardCopy::copy_past_caches(std::byte* to, const std::byte* from, std::size_t bytes) {
  copy_avx2<true>(to, from, bytes);
}
#else
std::uint64_t Pace::ticks() {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

bool OutwardCopy::can_choose(std::size_t) { return false; }

OutwardCopy::Written OutwardCopy::choose(const Paces&) { return {}; }

void OutwardCopy::copy_past_caches(std::byte* to, const std::byte* from, std::size_t bytes) {
  copy_bytes(to, from, bytes);
}
#endif

OutwardCopy::Written OutwardCopy::copy(void* to, const void* from, std::size_t bytes, const Paces& reading) {
  if (!can_choose(bytes)) {
    copy_bytes(to, from, bytes);
    return {};
  }
  const Written written = choose(reading);
  writing_[static_cast<std::size_t>(written.way)].time(written.timed, bytes, [&] {
    if (written.way == Way::past_caches)
      copy_past_caches(static_cast<std::byte*>(to), static_cast<const std::byte*>(from), bytes);
    else
      copy_bytes(to, from, bytes);
  });
  return written;
}

}  // namespace omnes::shm
