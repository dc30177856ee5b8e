// Type signatures, as far as they have to match: the basic elements of a datatype in the order of its type map, as a hash that does not
// tell how the type was made.
//
// How: the hash is a polynomial of the elements, modulo 2^64, so that n times a type takes log2(n) multiplications.
// What counts as equal, as programs mean it: integers of one size, signed or not, of C and of Fortran, and truth values; numbers with a
// fraction of one size. Bytes, characters and packed data match whatever has as many bytes.
#pragma once

#include <cstdint>
#include <string>

#include "interpose/host/host.hpp"

namespace omnes::interpose::check {

struct Signature {
  std::uint64_t bytes = 0;
  std::uint64_t hash = 0;
  std::uint64_t power = 1;  ///< of the base, as many times as there are elements
  std::uint8_t type = 0;    ///< of all elements, see type_name(); 0: there are none; mixed
  bool opaque = false;      ///< bytes, characters, or what the host does not tell
  bool unknown = false;     ///< no datatype at all

  static constexpr std::uint8_t mixed = 255;
  Signature operator+(const Signature& next) const;
  Signature times(std::uint64_t count) const;
};

/// Of `count` elements of the type; unknown where the arguments are wrong.
Signature signature(MPI_Count count, MPI_Datatype type);

/// Kinds of basic elements, for comparing results.
enum class Basic : std::uint8_t { none, integer, floating, complex, other };
Basic basic_of(std::uint8_t type);
int size_of(std::uint8_t type);
/// "8-byte floating-point numbers"
std::string type_name(std::uint8_t type);

}  // namespace omnes::interpose::check
