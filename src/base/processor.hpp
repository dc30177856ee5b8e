// What an x86-64 processor has, asked for at run time.
//
// Why not __builtin_cpu_supports: its answers come from the compiler's runtime library, and Zig's says no to everything.
#pragma once

#if defined(__x86_64__)
#include <cpuid.h>

#include <cstdint>
#include <cstring>

/// Bits as in Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, "CPUID", and volume 1, "XCR0".
namespace omnes::processor {

/// Four words; all are 0 where the processor has no such leaf.
struct Leaf {
  unsigned a = 0, b = 0, c = 0, d = 0;
};
inline Leaf leaf(unsigned number) {
  Leaf result;
  __get_cpuid_count(number, 0, &result.a, &result.b, &result.c, &result.d);
  return result;
}

/// Whether the processor calls its maker so: 12 letters, such as "GenuineIntel".
inline bool is_made_by(const char (&maker)[13]) {
  const Leaf first = leaf(0);
  const unsigned words[] = {first.b, first.d, first.c};
  return std::memcmp(words, maker, sizeof words) == 0;
}

/// Whether the system keeps all these registers for a process: bits of XCR0.
inline bool keeps(unsigned registers) {
  constexpr unsigned tells = 1U << 27;  // whether XCR0 may be read
  if ((leaf(1).c & tells) == 0) return false;
  unsigned low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & registers) == registers;
}

inline bool has_avx2() {
  constexpr unsigned vectors = 0x6, avx2 = 1U << 5;
  return keeps(vectors) && (leaf(7).b & avx2) != 0;
}

/// The foundation, and instructions for bytes, words and double words in vectors of all lengths.
inline bool has_avx512() {
  constexpr unsigned vectors_and_masks = 0xE6, foundation = 1U << 16, dq = 1U << 17, bw = 1U << 30, vl = 1U << 31;
  constexpr unsigned wanted = foundation | dq | bw | vl;
  return keeps(vectors_and_masks) && (leaf(7).b & wanted) == wanted;
}

}  // namespace omnes::processor
#endif
