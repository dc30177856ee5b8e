// Where alltoall algorithms read their outgoing parts from.
#pragma once

#include "schedule/builder.hpp"

namespace omnes::inline algorithms {

/// `send`; or, in place, copies of what `recv` holds for others, because incoming parts overwrite it: not of this rank's own.
inline Blocks outgoing_parts(Builder& b) {
  const int p = b.p(), rank = b.rank();
  if (!b.problem().in_place) return b.part(Buffer::send, 0, p);
  const Blocks aside = b.temp(p * b.pieces());
  const auto copy = [&](int first, int count) {
    if (count > 0) b.copy(b.part(Buffer::recv, first, count), sub(aside, first * b.pieces(), count * b.pieces()));
  };
  copy(0, rank);
  copy(rank + 1, p - rank - 1);
  return aside;
}

/// What a rank has for itself goes to its place; in place it is there.
inline void copy_own_part(Builder& b) {
  const int rank = b.rank();
  if (!b.problem().in_place) b.copy(b.part(Buffer::send, rank), b.part(Buffer::recv, rank));
}

}  // namespace omnes::inline algorithms
