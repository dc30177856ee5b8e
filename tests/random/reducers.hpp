// Reductions whose results are exact in any association, and those of the program that do not commute.
#pragma once

#include <algorithm>
#include <array>
#include <complex>

#include "layouts.hpp"

namespace random_programs {

/// An element as it is combined: its fields one after the other.
using Element = std::array<char, 16>;

struct Reducer {
  const char* name;
  const Base* base;  ///< null: `make` makes the type
  MPI_Op op;         ///< MPI_OP_NULL: `function` is the program's
  MPI_User_function* function;
  bool commutes;
  Element (*value)(std::uint64_t random);
  /// left . right
  Element (*combine)(const Element& left, const Element& right);
};

template <class T>
Element element(const T& value) {
  static_assert(sizeof(T) <= sizeof(Element));
  Element e{};
  std::memcpy(e.data(), &value, sizeof value);
  return e;
}
template <class T>
T of(const Element& e) {
  T value;
  std::memcpy(&value, e.data(), sizeof value);
  return value;
}

template <class T, int range, T (*f)(T, T), int first = 0>
Reducer arithmetic(const char* name, const Base* base, MPI_Op op) {
  return {name,
          base,
          op,
          nullptr,
          true,
          [](std::uint64_t random) { return element(static_cast<T>(first + static_cast<int>(random % range))); },
          [](const Element& a, const Element& b) { return element<T>(f(of<T>(a), of<T>(b))); }};
}

// Packed: no gap between value and index.
template <class T>
struct __attribute__((packed)) Pair {
  T value;
  int index;
};
template <class T, bool greatest>
Reducer located(const char* name, const Base* base, MPI_Op op) {
  return {name,
          base,
          op,
          nullptr,
          true,
          [](std::uint64_t random) {
            return element(Pair<T>{static_cast<T>(random % 5), static_cast<int>(random / 5 % 100)});
          },
          [](const Element& a, const Element& b) {
            const auto x = of<Pair<T>>(a), y = of<Pair<T>>(b);
            if (x.value == y.value) return element(Pair<T>{x.value, std::min<int>(x.index, y.index)});
            return (x.value > y.value) == greatest ? a : b;
          }};
}

template <class T>
T sum(T a, T b) {
  return static_cast<T>(a + b);
}
template <class T>
T product(T a, T b) {
  return static_cast<T>(a * b);
}
template <class T>
T greater(T a, T b) {
  return a > b ? a : b;
}
template <class T>
T lesser(T a, T b) {
  return a < b ? a : b;
}
template <class T>
T exclusive(T a, T b) {
  return static_cast<T>(a ^ b);
}
template <class T>
T either(T a, T b) {
  return static_cast<T>(a | b);
}
template <class T>
T both(T a, T b) {
  return a && b;
}

/// (a, b) stands for x -> a x + b; composition does not commute.
struct Affine {
  std::uint32_t a, b;
};
inline Affine compose(Affine left, Affine right) { return {left.a * right.a, left.a * right.b + left.b}; }

/// Where the two numbers of the program's own types lie, in bytes.
inline constexpr std::ptrdiff_t far_apart = 12, before = -8;

template <std::ptrdiff_t first, std::ptrdiff_t second, std::ptrdiff_t extent>
void compose_all(void* in, void* inout, int* n, MPI_Datatype*) {
  for (int i = 0; i < *n; ++i) {
    const char* const left = static_cast<char*>(in) + i * extent;
    char* const right = static_cast<char*>(inout) + i * extent;
    Affine x, y;
    std::memcpy(&x.a, left + first, 4), std::memcpy(&x.b, left + second, 4);
    std::memcpy(&y.a, right + first, 4), std::memcpy(&y.b, right + second, 4);
    y = compose(x, y);
    std::memcpy(right + first, &y.a, 4), std::memcpy(right + second, &y.b, 4);
  }
}
inline void add_all(void* in, void* inout, int* n, MPI_Datatype*) {
  for (int i = 0; i < *n; ++i) static_cast<std::uint32_t*>(inout)[i] += static_cast<std::uint32_t*>(in)[i];
}

inline Element some_affine(std::uint64_t random) {
  return element(Affine{2 * static_cast<std::uint32_t>(random) + 1, static_cast<std::uint32_t>(random >> 32)});
}
inline Element composed(const Element& a, const Element& b) { return element(compose(of<Affine>(a), of<Affine>(b))); }

/// A datatype whose elements can be combined.
struct Reducible {
  LayoutPtr layout;
  Base own;  ///< of the program's own types: one item is an element
};

// MPICH before 4.1 compares unsigned numbers as if they had a sign.
#if defined MPICH_NUMVERSION && MPICH_NUMVERSION < 40100000
constexpr int compared_uchars = 128;
#else
constexpr int compared_uchars = 256;
#endif

/// All there are. The last ones are the program's own.
inline const std::vector<Reducer>& reducers() {
  using namespace std;
  static const Base u32{MPI_UNSIGNED, "unsigned", 4, {{0, 4}}}, u64{MPI_UINT64_T, "uint64", 8, {{0, 8}}},
      f32{MPI_FLOAT, "float", 4, {{0, 4}}}, f64{MPI_DOUBLE, "double", 8, {{0, 8}}}, i32{MPI_INT, "int", 4, {{0, 4}}},
      u16{MPI_UNSIGNED_SHORT, "ushort", 2, {{0, 2}}}, u8{MPI_UNSIGNED_CHAR, "uchar", 1, {{0, 1}}},
      c8{MPI_CHAR, "char", 1, {{0, 1}}}, i64{MPI_LONG_LONG, "longlong", 8, {{0, 8}}},
      f64i{MPI_DOUBLE_INT, "double_int", 16, {{0, 8}, {8, 4}}}, ii{MPI_2INT, "2int", 8, {{0, 8}}},
      si{MPI_SHORT_INT, "short_int", 8, {{0, 2}, {4, 4}}}, fi{MPI_FLOAT_INT, "float_int", 8, {{0, 8}}},
      byte{MPI_BYTE, "byte", 1, {{0, 1}}}, cf{MPI_C_DOUBLE_COMPLEX, "complex", 16, {{0, 16}}};
  static const vector<Reducer> all = {
      arithmetic<int32_t, 1000, sum<int32_t>>("sum", &i32, MPI_SUM),
      arithmetic<double, 1000, sum<double>>("sum", &f64, MPI_SUM),
      arithmetic<float, 1000, sum<float>>("sum", &f32, MPI_SUM),
      arithmetic<uint32_t, 1 << 30, exclusive<uint32_t>>("bxor", &u32, MPI_BXOR),
      arithmetic<uint8_t, 256, either<uint8_t>>("bor", &byte, MPI_BOR),
      arithmetic<int64_t, 1 << 30, greater<int64_t>>("max", &i64, MPI_MAX),
      arithmetic<float, 1 << 20, lesser<float>, -5000>("min", &f32, MPI_MIN),
      arithmetic<uint8_t, compared_uchars, greater<uint8_t>>("max", &u8, MPI_MAX),
      arithmetic<uint16_t, 65536, sum<uint16_t>>("sum", &u16, MPI_SUM),
      arithmetic<char, 200, lesser<char>, -100>("min", &c8, MPI_MIN),
      arithmetic<uint64_t, 1 << 30, product<uint64_t>>("prod", &u64, MPI_PROD),
      arithmetic<int32_t, 3, both<int32_t>>("land", &i32, MPI_LAND),
      {"sum", &cf, MPI_SUM, nullptr, true,
       [](uint64_t r) { return element(complex<double>(r % 1000, r / 1000 % 1000)); },
       [](const Element& a, const Element& b) { return element(of<complex<double>>(a) + of<complex<double>>(b)); }},
      located<double, true>("maxloc", &f64i, MPI_MAXLOC),
      located<double, false>("minloc", &f64i, MPI_MINLOC),
      located<int, true>("maxloc", &ii, MPI_MAXLOC),
      located<int16_t, false>("minloc", &si, MPI_MINLOC),
      located<float, true>("maxloc", &fi, MPI_MAXLOC),
      {"own sum", &u32, MPI_OP_NULL, add_all, true, [](uint64_t r) { return element(static_cast<uint32_t>(r)); },
       [](const Element& a, const Element& b) { return element(of<uint32_t>(a) + of<uint32_t>(b)); }},
      {"compose", nullptr, MPI_OP_NULL, compose_all<0, 4, 8>, false, some_affine, composed},
      {"compose apart", nullptr, MPI_OP_NULL, compose_all<0, far_apart, 16>, false, some_affine, composed},
      {"compose before", nullptr, MPI_OP_NULL, compose_all<before, 4, 20>, false, some_affine, composed},
  };
  return all;
}

/// The reducer's type, made anew where it is no predefined one.
inline Reducible reducible(const Reducer& reducer) {
  Reducible made;
  made.layout = std::make_shared<Layout>();
  Layout& layout = *made.layout;
  layout.at = {0};
  if (reducer.base) {
    layout.base = reducer.base;
    layout.type = reducer.base->type;
    layout.extent = reducer.base->extent;
    layout.name = reducer.base->name;
    return made;
  }
  static const Base whole{MPI_UNSIGNED, "2 unsigned", 8, {{0, 4}, {4, 4}}},
      apart{MPI_UNSIGNED, "2 unsigned apart", 16, {{0, 4}, {far_apart, 4}}},
      below{MPI_UNSIGNED, "2 unsigned from -8", 20, {{before, 4}, {4, 4}}};
  MPI_Datatype inner;
  layout.made = true;
  if (reducer.function == compose_all<0, 4, 8>) {
    layout.base = &whole;
    must(MPI_Type_contiguous(2, MPI_UNSIGNED, &layout.type), "MPI_Type_contiguous");
  } else if (reducer.function == compose_all<0, far_apart, 16>) {
    layout.base = &apart;
    must(MPI_Type_vector(2, 1, 3, MPI_UNSIGNED, &layout.type), "MPI_Type_vector");
  } else {
    layout.base = &below;
    int lengths[2] = {1, 1};
    MPI_Aint displacements[2] = {before, 4};
    must(MPI_Type_create_hindexed(2, lengths, displacements, MPI_UNSIGNED, &inner), "MPI_Type_create_hindexed");
    must(MPI_Type_create_resized(inner, before, 20, &layout.type), "MPI_Type_create_resized");
    must(MPI_Type_free(&inner), "MPI_Type_free");
  }
  must(MPI_Type_commit(&layout.type), "MPI_Type_commit");
  layout.extent = layout.base->extent;
  layout.name = layout.base->name;
  return made;
}

/// Element i of rank r in a call.
inline Element value_of(const Reducer& reducer, std::uint64_t key, int rank, int i) {
  return reducer.value(hash({key, 77, static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(i)}));
}

/// Combined in the order of the ranks, first to last.
inline Element combined(const Reducer& reducer, std::uint64_t key, int first, int last, int i) {
  Element e = value_of(reducer, key, last, i);
  for (int rank = last - 1; rank >= first; --rank) e = reducer.combine(value_of(reducer, key, rank, i), e);
  return e;
}

inline void put_element(char* at, const Layout& layout, const Element& e) {
  const char* data = e.data();
  for (const Field& field : layout.base->fields) {
    std::memcpy(at + field.at, data, field.bytes);
    data += field.bytes;
  }
}

}  // namespace random_programs
