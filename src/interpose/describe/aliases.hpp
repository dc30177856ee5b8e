// Contributions that lie where their result goes, or among what else is received, though the program does not say
// MPI_IN_PLACE.
//
// MPI forbids that. Hosts report it in some operations, under conditions of their own, and can be told not to. So the
// host is asked: by a call with the same buffer on a communicator of this rank alone, which at most moves the data onto
// itself. Where it complains, it shall do so about the program's call, too; what it lets pass is served.
#pragma once

#include <algorithm>
#include <optional>
#include <span>

#include "interpose/data/view.hpp"
#include "interpose/host/failure.hpp"
#include "schedule/schedule.hpp"

namespace omnes::interpose {

/// The reason for the host to complain.
inline constexpr char aliased_buffers[] = "aliased buffers";

/// That reason, or null; throws Failure if it has done so. `data`: what lies in both buffers; `op`: of a reduction.
const char* refuse_alias(Operation operation, const View& data, MPI_Op op = handles.op_null);

/// The same for what this rank sends to itself, if it lies where it goes. (Of types with gaps hosts compare other places.)
/// Throws Failure, too, if it is not as long as what it receives from itself.
inline const char* check_own_part(Operation operation, const View& send, const View& recv) {
  if (send.bytes != recv.bytes) throw Failure{MPI_ERR_TRUNCATE};
  const bool same = send.address == recv.address && send.address != nullptr && send.count == recv.count &&
                    send.count > 0 && send.type == recv.type && send.contiguous();
  return same ? refuse_alias(operation, send) : nullptr;
}

/// Of what this rank sends itself: `room`, where it goes, holds more elements, as receivers of messages may say. Then these are so many.
inline std::optional<std::size_t> fewer_elements(std::size_t sent, const View& room) {
  if (sent >= room.bytes || sent % room.info->size != 0) return std::nullopt;
  return sent / room.info->size;
}

/// Own data that begin among the parts of the other buffer, but not in their own place: what is received would change them
/// before they are sent. Hosts look at no more than that place, and most send before they receive, on which such programs count.
inline void set_apart(View& own, const View& own_part, std::span<const View> parts) {
  if (own.device || own.bytes == 0 || own.address == nullptr || own.address == own_part.address) return;
  const auto first = [](const View& view) {
    return reinterpret_cast<std::uintptr_t>(view.address) + view.info->true_lb;
  };
  const auto begins_in = [&](const View& part) {
    if (part.bytes == 0) return false;
    const std::uintptr_t behind = (part.count - 1) * part.info->extent + part.info->true_extent;
    return first(own) - first(part) < behind;
  };
  own.apart = own.apart || std::ranges::any_of(parts, begins_in);
}

}  // namespace omnes::interpose
