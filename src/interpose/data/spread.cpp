// Copying elements one by one, or, where they lie as in an array, all at once.
#include "interpose/data/spread.hpp"

#include <algorithm>

#include "transport/shm/layout.hpp"

namespace omnes::interpose {

namespace {

/// One or more elements in `room`, where Operator has them.
View at_operator(const View& like, const Operator& op, std::byte* room, std::size_t element) {
  View view = like;
  view.device = nullptr;
  if (op.whole) {
    view.address = room;
    return view;
  }
  view.resize(1);
  view.address = room + element * op.stride - op.true_lb;
  return view;
}

/// Packs elements that lie as Operator leaves them.
void pack_spread(const View& like, const Operator& op, std::byte* from, std::byte* to) {
  const std::size_t views = op.whole ? 1 : like.count;
  for (std::size_t i = 0; i < views; ++i) at_operator(like, op, from, i).pack(to + i * like.info->size);
}
void unpack_spread(const View& like, const Operator& op, const std::byte* from, std::byte* to) {
  const std::size_t views = op.whole ? 1 : like.count;
  for (std::size_t i = 0; i < views; ++i) at_operator(like, op, to, i).unpack(from + i * like.info->size);
}

/// Whether there may be pages in its gaps of which nobody knows whether they can be read.
bool has_wide_gaps(const TypeInfo& info) {
  return static_cast<std::size_t>(std::max(info.extent, info.true_extent)) >= info.size + shm::page_bytes;
}

/// Copies the elements of the program's buffer to where Operator expects them.
void spread(const View& view, const Operator& op, std::byte* to, Staging& packed) {
  if (view.count == 0) return;
  if (!view.device && has_wide_gaps(*view.info)) return unpack_spread(view, op, view.packed(packed), to);
  const auto extent = static_cast<std::size_t>(view.info->extent);
  const auto span = static_cast<std::size_t>(view.info->true_extent);
  const std::byte* from = view.address + view.info->true_lb;
  devices::Copies copies;
  if (op.whole) {
    copies.read(view.device, to + view.info->true_lb, from, (view.count - 1) * extent + span);
  } else {
    for (std::size_t i = 0; i < view.count; ++i) {
      copies.read(view.device, to, from, span);
      to += op.stride;
      from += view.info->extent;
    }
  }
  copies.finish();
}

/// A pair may have a gap before or after its index: nobody minds.
bool as_one(const View& view) { return view.gapless || view.info->kind == TypeClass::pair; }

}  // namespace

bool straight(const View& view) { return as_one(view) && !view.device; }

void load_spread(Call& call, const View& own, const View* result, std::size_t elements, const Operator& op,
                 Staging* rooms) {
  const std::size_t bytes = own.count * op.stride;
  if (call.in_place) {
    call.send = nullptr;
    call.recv = rooms[1].room(bytes, own.device, own.address);
    spread(own, op, static_cast<std::byte*>(call.recv), rooms[2]);
  } else {
    std::byte* send = rooms[0].room(bytes, own.device, own.address);
    spread(own, op, send, rooms[2]);
    call.send = send;
    if (elements == 0 && result) elements = result->count;
    if (result) call.recv = rooms[1].room(elements * op.stride, result->device, result->address);
  }
}

void land_spread(const Call& call, const View& result, std::size_t start, const Operator& op, Staging* rooms) {
  if (result.count == 0) return;
  std::byte* const received = static_cast<std::byte*>(call.recv) + start * op.stride;
  if (as_one(result)) {
    devices::Copies copies;
    copies.write(result.device, result.address, received, result.count * op.stride);
    copies.finish();
    return;
  }
  std::byte* packed = rooms[2].room(result.bytes, result.device, result.address);
  pack_spread(result, op, received, packed);
  result.unpack(packed);
}

}  // namespace omnes::interpose
