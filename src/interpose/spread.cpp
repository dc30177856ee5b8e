// Copying elements one by one, or, where they lie as in an array, all at once.
#include "interpose/spread.hpp"

#include <cstring>

namespace omnes::interpose {

namespace {

/// Copies the elements of the program's buffer to where Operator expects them.
void spread(const View& view, const Operator& op, std::byte* to) {
  const auto extent = static_cast<std::size_t>(view.info->extent);
  const auto span = static_cast<std::size_t>(view.info->true_extent);
  const std::byte* from = view.address + view.info->true_lb;
  if (op.whole) {
    std::memcpy(to + view.info->true_lb, from, (view.count - 1) * extent + span);
    return;
  }
  for (std::size_t i = 0; i < view.count; ++i) {
    std::memcpy(to, from, span);
    to += op.stride;
    from += view.info->extent;
  }
}

/// Packs elements that lie as Operator leaves them.
void pack_spread(const View& like, const Operator& op, std::byte* from, std::byte* to) {
  View view = like;
  view.address = from;
  if (op.whole) {
    view.pack(to);
    return;
  }
  view.count = 1;
  for (std::size_t i = 0; i < like.count; ++i) {
    view.address = from + i * op.stride - op.true_lb;
    view.pack(to + i * view.info->size);
  }
}

}  // namespace

// A pair may have a gap before or after its index: nobody minds.
bool straight(const View& view) { return view.contiguous() || view.info->kind == TypeClass::pair; }

void load_spread(Call& call, const View& own, const View* result, const Operator& op, Staging* rooms) {
  const std::size_t bytes = own.count * op.stride;
  if (call.in_place) {
    call.send = nullptr;
    call.recv = rooms[1].room(bytes);
    spread(own, op, static_cast<std::byte*>(call.recv));
  } else {
    std::byte* send = rooms[0].room(bytes);
    spread(own, op, send);
    call.send = send;
    if (result) call.recv = rooms[1].room(result->count * op.stride);
  }
}

void land_spread(const Call& call, const View& result, const Operator& op, Staging* rooms) {
  if (result.count == 0) return;
  std::byte* packed = rooms[2].room(result.bytes);
  pack_spread(result, op, static_cast<std::byte*>(call.recv), packed);
  result.unpack(packed);
}

}  // namespace omnes::interpose
