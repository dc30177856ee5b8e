// Copying elements one by one, or, where they lie as in an array, all at once.
#include "interpose/data/spread.hpp"

namespace omnes::interpose {

namespace {

/// Copies the elements of the program's buffer to where Operator expects them.
void spread(const View& view, const Operator& op, std::byte* to) {
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

/// Packs elements that lie as Operator leaves them.
void pack_spread(const View& like, const Operator& op, std::byte* from, std::byte* to) {
  View view = like;
  view.address = from;
  view.device = nullptr;
  if (op.whole) {
    view.pack(to);
    return;
  }
  view.resize(1);
  for (std::size_t i = 0; i < like.count; ++i) {
    view.address = from + i * op.stride - op.true_lb;
    view.pack(to + i * view.info->size);
  }
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
    spread(own, op, static_cast<std::byte*>(call.recv));
  } else {
    std::byte* send = rooms[0].room(bytes, own.device, own.address);
    if (own.count > 0) spread(own, op, send);
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
