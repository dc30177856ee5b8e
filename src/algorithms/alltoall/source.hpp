// Where alltoall algorithms read their outgoing parts from.
#pragma once

#include "schedule/builder.hpp"

namespace omnes::inline algorithms {

/// `send`; or, in place, a copy of what `recv` holds, because incoming parts overwrite it.
inline Blocks outgoing_parts(Builder& b) {
  if (!b.problem().in_place) return b.part(Buffer::send, 0, b.p());
  const Blocks all = b.temp(b.p() * b.pieces());
  b.copy(b.part(Buffer::recv, 0, b.p()), all);
  return all;
}

}  // namespace omnes::inline algorithms
