// Reduction kernels for MPI's predefined operations: dst[i] = left[i] ∘ right[i], vectorised.
//
// How: one plain loop, which the compiler vectorises for three instruction sets; kernel() picks the widest that this
// processor has. Every width combines each element alone and in the same way, without fused multiply-adds (-ffp-contract
// in src/CMakeLists.txt), so all give the same bits.
// Semantics: integers wrap around (sums and products are computed unsigned); max is `left > right ? left : right`, min
// with `<`, so with a NaN the right operand wins; logical operations give 0 or 1; of equal values minloc and maxloc take
// the smaller index.
#include "runtime/kernels.hpp"

#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "base/assert.hpp"
#include "base/processor.hpp"

namespace omnes::inline runtime {

namespace {

template <class Value, class Index>
struct Pair {
  Value value;
  Index index;
};

// The C++ types of Element, in its order.
using Elements =
    std::tuple<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t,
               std::uint64_t, float, double, std::complex<float>, std::complex<double>,
               Pair<std::int16_t, std::int32_t>, Pair<std::int32_t, std::int32_t>, Pair<std::int64_t, std::int32_t>,
               Pair<float, std::int32_t>, Pair<double, std::int32_t>, Pair<float, float>, Pair<double, double>>;
constexpr std::size_t element_count = std::tuple_size_v<Elements>;
constexpr std::size_t op_count = static_cast<std::size_t>(ReduceOp::maxloc) + 1;
static_assert(element_count == static_cast<std::size_t>(Element::f64_f64) + 1);

template <class T>
struct Defined {
  static constexpr bool on(ReduceOp op) { return op <= (std::is_integral_v<T> ? ReduceOp::bxor : ReduceOp::min); }
};
template <class T>
struct Defined<std::complex<T>> {
  static constexpr bool on(ReduceOp op) { return op == ReduceOp::sum || op == ReduceOp::prod; }
};
template <class Value, class Index>
struct Defined<Pair<Value, Index>> {
  static constexpr bool on(ReduceOp op) { return op == ReduceOp::minloc || op == ReduceOp::maxloc; }
};

// The type of sums and products. For integers unsigned and at least as wide as int: narrower operands would be promoted
// to int, whose overflow is undefined.
template <class T, bool integral = std::is_integral_v<T>>
struct Computed {
  using type = T;
};
template <class T>
struct Computed<T, true> {
  using type = std::common_type_t<std::make_unsigned_t<T>, unsigned>;
};

// C's product, which finds the infinity in what the formula takes for no number.
template <class T>
[[gnu::noinline, gnu::cold]] std::complex<T> product(std::complex<T> l, std::complex<T> r) {
  return l * r;
}

// Two numbers in one value are written by reference: Clang passes two floats in one register, which no loop over it survives. The result may
// lie in an operand's place.
template <ReduceOp op, class T>
[[gnu::always_inline]] inline void combine(const std::complex<T>& l, const std::complex<T>& r,
                                           std::complex<T>& result) {
  const T a = l.real(), b = l.imag(), c = r.real(), d = r.imag();
  const bool sum = op == ReduceOp::sum;
  const T real = sum ? a + c : a * c - b * d, imag = sum ? b + d : a * d + b * c;
  if (!sum && std::isunordered(real, imag)) [[unlikely]] {
    result = product(l, r);
    return;
  }
  result.real(real);
  result.imag(imag);
}

// Without branches: which operand wins cannot be foreseen.
template <ReduceOp op, class Value, class Index>
[[gnu::always_inline]] inline void combine(const Pair<Value, Index>& l, const Pair<Value, Index>& r,
                                           Pair<Value, Index>& result) {
  const bool better = op == ReduceOp::minloc ? l.value < r.value : l.value > r.value;
  const bool left = better | ((l.value == r.value) & (l.index < r.index));
  const Value value = left ? l.value : r.value;
  const Index index = left ? l.index : r.index;
  result.value = value;
  result.index = index;
}

template <ReduceOp op, class T>
[[gnu::always_inline]] inline T combined(T l, T r) {
  using U = typename Computed<T>::type;
  if constexpr (op == ReduceOp::sum) return static_cast<T>(static_cast<U>(l) + static_cast<U>(r));
  if constexpr (op == ReduceOp::prod) return static_cast<T>(static_cast<U>(l) * static_cast<U>(r));
  if constexpr (op == ReduceOp::max) return l > r ? l : r;
  if constexpr (op == ReduceOp::min) return l < r ? l : r;
  if constexpr (op == ReduceOp::land) return (l != 0) & (r != 0);
  if constexpr (op == ReduceOp::lor) return (l != 0) | (r != 0);
  if constexpr (op == ReduceOp::lxor) return (l != 0) ^ (r != 0);
  if constexpr (op == ReduceOp::band) return l & r;
  if constexpr (op == ReduceOp::bor) return l | r;
  if constexpr (op == ReduceOp::bxor) return l ^ r;
}

template <ReduceOp op, class T>
[[gnu::always_inline]] inline void combine(const T& l, const T& r, T& result) {
  result = combined<op>(l, r);
}

// What Clang and GCC call that no iteration touches what another one does, and vectors of 512 bits.
#ifdef __clang__
#define OMNES_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#define OMNES_WIDEST [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl"), clang::min_vector_width(512)]]
#else
#define OMNES_INDEPENDENT _Pragma("GCC ivdep")
#define OMNES_WIDEST [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")]]
#endif

template <ReduceOp op, class T>
[[gnu::always_inline]] inline void run(const void* left, const void* right, void* dst, std::size_t count) {
  const auto* l = static_cast<const T*>(left);
  const auto* r = static_cast<const T*>(right);
  auto* d = static_cast<T*>(dst);
  // dst may be left or right itself, which changes nothing in that.
  OMNES_INDEPENDENT
  for (std::size_t i = 0; i < count; ++i) combine<op>(l[i], r[i], d[i]);
}

template <ReduceOp op, class T>
void baseline(const void*, const void* left, const void* right, void* dst, std::size_t count) {
  run<op, T>(left, right, dst, count);
}
#if defined(__x86_64__)
template <ReduceOp op, class T>
[[gnu::target("avx2")]] void avx2(const void*, const void* left, const void* right, void* dst, std::size_t count) {
  run<op, T>(left, right, dst, count);
}
template <ReduceOp op, class T>
OMNES_WIDEST void avx512(const void*, const void* left, const void* right, void* dst, std::size_t count) {
  run<op, T>(left, right, dst, count);
}
#endif

/// GCC 12 vectorises these by multiply-adds all the same, where the instruction set has them: AVX-512 has, AVX2 has not.
template <ReduceOp op, class T>
constexpr bool contracted = false;
template <class T>
constexpr bool contracted<ReduceOp::prod, std::complex<T>> = true;

template <Width width, ReduceOp op, class T>
constexpr ReduceFn compiled() {
  if constexpr (!Defined<T>::on(op)) {
    return nullptr;
#if defined(__x86_64__)
  } else if constexpr (width == Width::avx512 && !contracted<op, T>) {
    return avx512<op, T>;
  } else if constexpr (width != Width::baseline) {
    return avx2<op, T>;
#endif
  } else {
    return baseline<op, T>;
  }
}

using Table = std::array<ReduceFn, op_count * element_count>;

template <Width width, std::size_t... i>
constexpr Table table(std::index_sequence<i...>) {
  return {compiled<width, static_cast<ReduceOp>(i / element_count),
                   std::tuple_element_t<i % element_count, Elements>>()...};
}
template <Width width>
constexpr Table table_of = table<width>(std::make_index_sequence<op_count * element_count>());

}  // namespace

std::size_t size_of(Element element) {
  static constexpr auto sizes = []<class... T>(std::tuple<T...>*) {
    return std::array{sizeof(T)...};
  }(static_cast<Elements*>(nullptr));
  return sizes[static_cast<std::size_t>(element)];
}

Width widest() {
#if defined(__x86_64__)
  if (processor::has_avx512()) return Width::avx512;
  if (processor::has_avx2()) return Width::avx2;
#endif
  return Width::baseline;
}

ReduceFn kernel(ReduceOp op, Element element, Width width) {
  OMNES_ASSERT(width <= widest());
  const std::size_t i = static_cast<std::size_t>(op) * element_count + static_cast<std::size_t>(element);
  switch (width) {
    case Width::avx512: return table_of<Width::avx512>[i];
    case Width::avx2: return table_of<Width::avx2>[i];
    case Width::baseline: break;
  }
  return table_of<Width::baseline>[i];
}

ReduceFn kernel(ReduceOp op, Element element) {
  static const Width width = widest();
  return kernel(op, element, width);
}

}  // namespace omnes::inline runtime
