// What combines two operands: a vectorised kernel for predefined types, or the host MPI's Reduce_local behind the same pointer.
#pragma once

#include <cstddef>
#include <cstdint>

namespace omnes::inline runtime {

/// dst[i] = left[i] ∘ right[i] for i < count. dst may be left or right itself, but not overlap them otherwise.
using ReduceFn = void (*)(const void* context, const void* left, const void* right, void* dst, std::size_t count);

struct Reduction {
  ReduceFn fn = nullptr;
  /// Handed to fn; null for kernel()s, which alone may read operands where and how they arrive.
  const void* context = nullptr;
  /// Whether algorithms may combine the ranks' contributions in another order. No two operands ever change places.
  bool commutative = true;
  void operator()(const void* left, const void* right, void* dst, std::size_t count) const {
    fn(context, left, right, dst, count);
  }
};

enum class ReduceOp : std::uint8_t { sum, prod, max, min, land, lor, lxor, band, bor, bxor, minloc, maxloc };
/// After the numbers complex ones (c64 is two f32), then pairs of a value and an index, as C lays them out.
enum class Element : std::uint8_t {
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  f32,
  f64,
  c64,
  c128,
  i16_i32,
  i32_i32,
  i64_i32,
  f32_i32,
  f64_i32,
  f32_f32,
  f64_f64
};

std::size_t size_of(Element element);
/// The kernel for a predefined pair, or nullptr where MPI does not define it (bit operations on floating point ...).
ReduceFn kernel(ReduceOp op, Element element);

}  // namespace omnes::inline runtime
