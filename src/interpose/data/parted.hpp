// A program's buffer whose parts have counts, displacements and perhaps datatypes of their own, seen as contiguous
// bytes: part behind part.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "interpose/data/view.hpp"

namespace omnes::interpose {

/// An array of the program's integers: int, MPI_Count or MPI_Aint.
class Integers {
 public:
  Integers() = default;
  Integers(const int* values) : narrow_(values) {}
  Integers(const long* values) : wide_(values) {}
  Integers(const long long* values) : longer_(values) {}
  explicit operator bool() const { return narrow_ || wide_ || longer_; }
  bool operator==(const Integers&) const = default;  ///< the same array
  MPI_Count operator[](int i) const { return narrow_ ? narrow_[i] : wide_ ? wide_[i] : longer_[i]; }

 private:
  const int* narrow_ = nullptr;
  const long* wide_ = nullptr;
  const long long* longer_ = nullptr;
};

/// The arguments that describe such a buffer.
struct Parted {
  const void* buffer = nullptr;
  Integers counts, displacements;       ///< displacements in extents of `type`; in bytes with `types`
  MPI_Datatype type{};                  ///< of all parts, unless
  const MPI_Datatype* types = nullptr;  ///< each has its own

  /// As far as hosts can tell at a glance: those that look at all compare no elements, and no displacements.
  bool same_parts(const Parted& other) const {
    return buffer == other.buffer && counts == other.counts && types == other.types && type == other.type;
  }
};

class PartedView {
 public:
  PartedView() = default;
  PartedView(PartedView&&) = default;
  PartedView& operator=(PartedView&&) = default;

  /// Why the host has to complain about these arguments, or null. `some`: of the n parts only these,
  /// in this order; the others' counts are looked at, too.
  const char* set(const Parted& arguments, int n, const std::vector<int>* some = nullptr);
  /// Some of parts of equal counts, one behind the other, or, counted in elements, so far apart.
  const char* set_equal(const void* buffer, MPI_Count count, MPI_Datatype type, const std::vector<int>& some) {
    return set_equal(buffer, count, type, some, count);
  }
  const char* set_equal(const void* buffer, MPI_Count count, MPI_Datatype type, const std::vector<int>& some,
                        MPI_Count apart);

  std::span<const std::size_t> bytes() const { return bytes_; }  ///< of each part
  std::size_t total() const { return total_; }
  int given() const { return given_; }                    ///< parts of which the program's arrays tell
  std::span<const View> views() const { return views_; }  ///< part by part

  /// The parts that are not empty lie in the program's buffer one behind the other, the first one there.
  bool in_row() const { return in_row_; }
  std::byte* first() const { return first_; }
  /// No part has gaps, though there may be some between them.
  bool gapless() const { return gapless_; }
  std::span<const std::size_t> starts() const { return starts_; }  ///< bytes from there to each part, modulo 2^64
  /// Where the parts lie in a row: in the program's buffer, or packed into staging memory.
  const std::byte* packed(Staging& staging) const;
  /// Where they may be written in a row, before land() brings them to the program's buffer.
  std::byte* landing(Staging& staging) const { return in_row_ ? first_ : room(staging); }
  void land(const std::byte* landed) const;
  /// Packs part i to its place in a row that starts at `landed`, unless it is there.
  void keep(int i, std::byte* landed) const;

  /// All parts lie as many bytes further on.
  void move(std::ptrdiff_t bytes_on);

  /// Whether some bytes of the row may be moved without the others, and then so many from byte `offset` on.
  bool has_parts() const;
  void pack_part(std::size_t offset, std::byte* to, std::size_t length) const noexcept;
  void unpack_part(std::size_t offset, const std::byte* from, std::size_t length) const noexcept;

 private:
  void have_room(std::size_t parts);
  const char* add(const void* buffer, MPI_Count count, MPI_Datatype type, MPI_Count displacement, bool in_bytes);
  template <class Move>
  void for_each_part(std::size_t offset, std::size_t length, Move move) const;
  std::byte* room(Staging& staging) const;

  std::vector<View> views_;
  std::vector<std::size_t> numbers_;                // memory of the next three, which are by part:
  std::span<std::size_t> bytes_, starts_, before_;  // the last: in the row
  std::size_t total_ = 0;
  int given_ = 0;
  bool in_row_ = true, gapless_ = true;
  std::byte* first_ = nullptr;
};

}  // namespace omnes::interpose
