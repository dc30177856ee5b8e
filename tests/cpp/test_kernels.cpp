// Every predefined reduction against a plain loop, for all types of numbers, many counts, and results in the place of an
// operand; minima with their places, and complex numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "runtime/kernels.hpp"

namespace omnes {
namespace {

constexpr ReduceOp all_ops[] = {ReduceOp::sum, ReduceOp::prod, ReduceOp::max,  ReduceOp::min, ReduceOp::land,
                                ReduceOp::lor, ReduceOp::lxor, ReduceOp::band, ReduceOp::bor, ReduceOp::bxor};

template <class T, Element e>
struct Case {
  using type = T;
  static constexpr Element element = e;
};
using Cases =
    testing::Types<Case<std::int8_t, Element::i8>, Case<std::int16_t, Element::i16>, Case<std::int32_t, Element::i32>,
                   Case<std::int64_t, Element::i64>, Case<std::uint8_t, Element::u8>, Case<std::uint16_t, Element::u16>,
                   Case<std::uint32_t, Element::u32>, Case<std::uint64_t, Element::u64>, Case<float, Element::f32>,
                   Case<double, Element::f64>>;

// What MPI says, element by element, in wide unsigned arithmetic so that nothing overflows.
template <class T>
T expected(ReduceOp op, T l, T r) {
  if constexpr (std::is_floating_point_v<T>) {
    switch (op) {
      case ReduceOp::sum: return l + r;
      case ReduceOp::prod: return l * r;
      case ReduceOp::max: return l > r ? l : r;
      default: return l < r ? l : r;
    }
  } else {
    const auto a = static_cast<std::uint64_t>(l), b = static_cast<std::uint64_t>(r);
    switch (op) {
      case ReduceOp::sum: return static_cast<T>(a + b);
      case ReduceOp::prod: return static_cast<T>(a * b);
      case ReduceOp::max: return l > r ? l : r;
      case ReduceOp::min: return l < r ? l : r;
      case ReduceOp::land: return static_cast<T>(l && r);
      case ReduceOp::lor: return static_cast<T>(l || r);
      case ReduceOp::lxor: return static_cast<T>(!l != !r);
      case ReduceOp::band: return static_cast<T>(a & b);
      case ReduceOp::bor: return static_cast<T>(a | b);
      default: return static_cast<T>(a ^ b);
    }
  }
}

template <class T>
std::vector<T> values(std::size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<T> v(count);
  for (T& x : v) {
    if constexpr (std::is_floating_point_v<T>) {
      const T special[] = {0, -T{0}, std::numeric_limits<T>::infinity(), std::numeric_limits<T>::quiet_NaN()};
      x = random() % 8 == 0 ? special[random() % 4] : static_cast<T>(static_cast<std::int64_t>(random())) / 1024;
    } else {
      const T special[] = {0, 1, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
      x = random() % 4 == 0 ? special[random() % 4] : static_cast<T>(random());
    }
  }
  return v;
}

template <class C>
class KernelTest : public testing::Test {};
TYPED_TEST_SUITE(KernelTest, Cases);

// Those that this processor has.
std::vector<Width> widths() {
  std::vector<Width> all{Width::baseline, Width::avx2, Width::avx512};
  std::erase_if(all, [](Width width) { return width > widest(); });
  return all;
}

template <class T>
void expect_like_a_plain_loop(Element element, Width width) {
  for (const ReduceOp op : all_ops) {
    const ReduceFn fn = kernel(op, element, width);
    if (std::is_floating_point_v<T> && op > ReduceOp::min) {
      EXPECT_EQ(fn, nullptr);
      continue;
    }
    ASSERT_NE(fn, nullptr);
    std::vector<std::size_t> counts{1000};
    for (std::size_t n = 0; n <= 150; ++n) counts.push_back(n);
    for (const std::size_t count : counts) {
      const auto left = values<T>(count + 1, 1), right = values<T>(count + 1, 2);
      auto want = left;  // one more than count: must stay untouched
      for (std::size_t i = 0; i < count; ++i) want[i] = expected(op, left[i], right[i]);
      auto dst = left, in_left = left, in_right = right;
      fn(nullptr, left.data(), right.data(), dst.data(), count);
      fn(nullptr, in_left.data(), right.data(), in_left.data(), count);
      fn(nullptr, left.data(), in_right.data(), in_right.data(), count);
      EXPECT_EQ(std::memcmp(dst.data(), want.data(), (count + 1) * sizeof(T)), 0) << count;
      EXPECT_EQ(std::memcmp(in_left.data(), want.data(), (count + 1) * sizeof(T)), 0) << count;
      EXPECT_EQ(std::memcmp(in_right.data(), want.data(), count * sizeof(T)), 0) << count;
      EXPECT_EQ(std::memcmp(&in_right[count], &right[count], sizeof(T)), 0) << count;
    }
  }
}

TYPED_TEST(KernelTest, CombinesLikeAPlainLoopAlsoInPlaceAtEveryWidth) {
  for (const Width width : widths()) {
    expect_like_a_plain_loop<typename TypeParam::type>(TypeParam::element, width);
  }
  EXPECT_EQ(kernel(ReduceOp::sum, TypeParam::element), kernel(ReduceOp::sum, TypeParam::element, widest()));
}

template <class Value, class Index>
struct Pair {
  Value value;
  Index index;
};
template <class Value, class Index, Element e>
using PairCase = Case<Pair<Value, Index>, e>;
using Pairs =
    testing::Types<PairCase<std::int16_t, std::int32_t, Element::i16_i32>,
                   PairCase<std::int32_t, std::int32_t, Element::i32_i32>,
                   PairCase<std::int64_t, std::int32_t, Element::i64_i32>,
                   PairCase<float, std::int32_t, Element::f32_i32>, PairCase<double, std::int32_t, Element::f64_i32>,
                   PairCase<float, float, Element::f32_f32>, PairCase<double, double, Element::f64_f64>>;

template <class C>
class PairKernelTest : public testing::Test {};
TYPED_TEST_SUITE(PairKernelTest, Pairs);

// MPI-4.1, section 6.9.4: of equal values the smaller index.
TYPED_TEST(PairKernelTest, FindsExtremesAndTheirPlaces) {
  using P = typename TypeParam::type;
  std::mt19937_64 random(3);
  const auto some = [&](std::size_t count) {
    std::vector<P> all(count);
    for (P& pair : all) {
      pair.value = static_cast<decltype(pair.value)>(static_cast<int>(random() % 4) - 2);
      pair.index = static_cast<decltype(pair.index)>(random() % 5);
    }
    return all;
  };
  for (const bool least : {true, false})
    for (const Width width : widths()) {
      const ReduceFn fn = kernel(least ? ReduceOp::minloc : ReduceOp::maxloc, TypeParam::element, width);
      ASSERT_NE(fn, nullptr);
      for (std::size_t count = 0; count <= 100; ++count) {
        const auto left = some(count), right = some(count);
        auto dst = left, in_left = left, in_right = right;
        fn(nullptr, left.data(), right.data(), dst.data(), count);
        fn(nullptr, in_left.data(), right.data(), in_left.data(), count);
        fn(nullptr, left.data(), in_right.data(), in_right.data(), count);
        for (std::size_t i = 0; i < count; ++i) {
          const P l = left[i], r = right[i];
          const bool l_wins = l.value == r.value ? l.index < r.index : (l.value < r.value) == least;
          for (const auto& got : {dst, in_left, in_right}) {
            ASSERT_EQ(got[i].value, l_wins ? l.value : r.value);
            ASSERT_EQ(got[i].index, l_wins ? l.index : r.index);
          }
        }
      }
    }
  EXPECT_EQ(kernel(ReduceOp::sum, TypeParam::element), nullptr);
  EXPECT_EQ(size_of(TypeParam::element), sizeof(P));
}

template <class T>
void expect_complex_arithmetic(Element element) {
  using C = std::complex<T>;
  for (const bool product : {false, true})
    for (const Width width : widths()) {
      const ReduceFn fn = kernel(product ? ReduceOp::prod : ReduceOp::sum, element, width);
      ASSERT_NE(fn, nullptr);
      for (std::size_t count = 0; count <= 100; ++count) {
        std::vector<C> left(count), right(count), dst(count);
        for (std::size_t i = 0; i < count; ++i) {
          left[i] = C(static_cast<T>(i), static_cast<T>(7) - static_cast<T>(i));
          right[i] = C(static_cast<T>(2 * i), static_cast<T>(i % 3));
        }
        fn(nullptr, left.data(), right.data(), dst.data(), count);
        auto in_right = right;
        fn(nullptr, left.data(), in_right.data(), in_right.data(), count);
        for (std::size_t i = 0; i < count; ++i) {  // whole numbers: exact
          const C want = product ? left[i] * right[i] : left[i] + right[i];
          ASSERT_EQ(dst[i], want);
          ASSERT_EQ(in_right[i], want);
        }
      }
    }
  EXPECT_EQ(kernel(ReduceOp::max, element), nullptr);
  EXPECT_EQ(kernel(ReduceOp::minloc, element), nullptr);
  EXPECT_EQ(size_of(element), sizeof(C));
}

// Numbers whose products are rounded: ranks may have different processors.
template <class T>
void expect_same_bits_at_every_width(Element element) {
  std::mt19937_64 random(4);
  const auto fraction = [&] { return static_cast<T>(random() % 1000000) / 7; };
  std::vector<std::complex<T>> left(1000), right(1000), want(1000), got(1000);
  for (auto* operands : {&left, &right})
    for (auto& x : *operands) x = {fraction(), fraction()};
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::prod}) {
    kernel(op, element, Width::baseline)(nullptr, left.data(), right.data(), want.data(), want.size());
    for (const Width width : widths()) {
      kernel(op, element, width)(nullptr, left.data(), right.data(), got.data(), got.size());
      EXPECT_EQ(std::memcmp(got.data(), want.data(), got.size() * sizeof(got[0])), 0) << static_cast<int>(width);
    }
  }
}

TEST(ComplexKernelTest, GivesTheSameBitsAtEveryWidth) {
  expect_same_bits_at_every_width<float>(Element::c64);
  expect_same_bits_at_every_width<double>(Element::c128);
}

TEST(ComplexKernelTest, AddsAndMultiplies) {
  expect_complex_arithmetic<float>(Element::c64);
  expect_complex_arithmetic<double>(Element::c128);
}

TEST(ComplexKernelTest, MultipliesInfinitiesAsCDoes) {
  const double infinity = std::numeric_limits<double>::infinity(), none = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::complex<double>> left{{infinity, none}, {infinity, infinity}, {none, 1}, {none, none}};
  const std::vector<std::complex<double>> right{{1, 1}, {1, -1}, {1, 0}, {1, 2}};
  for (const Width width : widths()) {
    auto got = left;
    kernel(ReduceOp::prod, Element::c128, width)(nullptr, got.data(), right.data(), got.data(), got.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      const std::complex<double> want = left[i] * right[i];
      EXPECT_EQ(std::isinf(got[i].real()), std::isinf(want.real())) << i;
      EXPECT_EQ(std::isnan(got[i].real()), std::isnan(want.real())) << i;
      EXPECT_EQ(std::isinf(got[i].imag()), std::isinf(want.imag())) << i;
      EXPECT_EQ(std::isnan(got[i].imag()), std::isnan(want.imag())) << i;
    }
  }
}

#if defined(__x86_64__)
// Found without the compiler's help, so that it is found with each compiler.
TEST(WidthTest, IsTheWidestThatTheSystemLists) {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line) && line.rfind("flags", 0) != 0);
  std::istringstream words(line);
  const std::set<std::string> flags(std::istream_iterator<std::string>(words), {});
  ASSERT_TRUE(flags.count("sse2")) << line;
  const bool avx512 =
      flags.count("avx512f") && flags.count("avx512bw") && flags.count("avx512dq") && flags.count("avx512vl");
  EXPECT_EQ(widest(), avx512 ? Width::avx512 : flags.count("avx2") ? Width::avx2 : Width::baseline);
}
#endif

TYPED_TEST(KernelTest, KnowsTheSize) { EXPECT_EQ(size_of(TypeParam::element), sizeof(typename TypeParam::type)); }

}  // namespace
}  // namespace omnes
