// Operands that cannot be combined where they lie: with gaps, or in a device's memory.
//
// Elements of derived types with gaps are copied as they lie in memory, gaps included unless they may be pages that nobody
// can read, so that the program's own function finds them as it expects; only the data themselves are written back, by packing and unpacking the result. What lies in a device's memory is combined here, in copies.
#pragma once

#include "interpose/data/view.hpp"
#include "interpose/types/operators.hpp"
#include "runtime/team.hpp"

namespace omnes::interpose {

/// True when the elements can be combined in the program's buffers.
bool straight(const View& view);
/// Copies the operands to the staging `rooms`; `result` is null where there is none. It has as many elements, unless they are given.
void load_spread(Call& call, const View& own, const View* result, std::size_t elements, const Operator& op,
                 Staging* rooms);
/// `start`: the first element of what was received that is the result's.
void land_spread(const Call& call, const View& result, std::size_t start, const Operator& op, Staging* rooms);

}  // namespace omnes::interpose
