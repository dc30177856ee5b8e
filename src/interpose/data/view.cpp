// Packing with counts and sizes beyond the int that MPI_Pack takes.
#include "interpose/data/view.hpp"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "interpose/devices/drivers.hpp"
#include "interpose/host/failure.hpp"
#include "interpose/process/process.hpp"
#include "interpose/types/blocks.hpp"
#include "transport/shm/copy.hpp"
#include "transport/shm/layout.hpp"

namespace omnes::interpose {

namespace {

/// Calls move(elements, how many, type) for elements at MPI_BOTTOM. MPICH 4.0 takes no null address in MPI_Pack
/// and MPI_Unpack; at any other address, a type that is displaced by minus that address means the same elements.
template <class Move>
int from_elsewhere(int count, MPI_Datatype type, Move move) {
  static std::byte elsewhere;
  const auto back = -reinterpret_cast<MPI_Aint>(&elsewhere);
  MPI_Datatype displaced;
  int code = host.Type_create_struct(1, &count, &back, &type, &displaced);
  if (code != MPI_SUCCESS) return code;
  code = host.Type_commit(&displaced);
  if (code == MPI_SUCCESS) code = move(&elsewhere, 1, displaced);
  host.Type_free(&displaced);
  return code;
}

template <class Move>
void move_blocks(MPI_Datatype type, std::byte* element, std::size_t offset, Move move);

/// Calls move(elements, how many, type, offset and size of their packed form) for as many at a time as an int can count;
/// for the blocks of elements that are longer. The packed form begins at `offset`.
template <class Move>
void in_pieces(const View& view, std::size_t offset, Move move) {
  const std::size_t size = view.info->size;
  if (size == 0) return;
  const auto element = [&](std::size_t i) { return view.address + static_cast<std::ptrdiff_t>(i) * view.info->extent; };
  if (size > INT_MAX) {
    for (std::size_t i = 0; i < view.count; ++i) move_blocks(view.type, element(i), offset + i * size, move);
    return;
  }
  const std::size_t most = INT_MAX / size;
  for (std::size_t done = 0; done < view.count;) {
    const std::size_t some = std::min(most, view.count - done);
    std::byte* elements = element(done);
    const auto move_these = [&](std::byte* first, int number, MPI_Datatype type) {
      return move(first, number, type, offset + done * size, static_cast<int>(some * size));
    };
    const int number = static_cast<int>(some);
    const int code = elements ? move_these(elements, number, view.type) : from_elsewhere(number, view.type, move_these);
    check_own(code);
    done += some;
  }
}

/// The same for the blocks of one element.
template <class Move>
void move_blocks(MPI_Datatype type, std::byte* element, std::size_t offset, Move move) {
  const bool all = for_each_block(type, [&](const Block& block) {
    MPI_Datatype inner = block.type;
    if (host.Type_commit(&inner) != MPI_SUCCESS) return false;
    View blocks;
    if (blocks.set(block.length, inner)) return false;
    blocks.address = element + block.displacement;
    in_pieces(blocks, offset, move);
    offset += blocks.bytes;
    return true;
  });
  if (!all) throw Failure{MPI_ERR_COUNT};
}

/// Calls go(number), as a constant where it is one of these.
template <std::size_t... constants, class Go>
void as_constant(std::size_t number, Go go) {
  const bool known = ((number == constants && (go(std::integral_constant<std::size_t, constants>{}), true)) || ...);
  if (!known) go(number);
}

/// Calls move(data, bytes) for blocks that lie `stride` bytes apart. Their bytes are a constant for what columns of matrices
/// and structures with a gap at their end have in a block.
template <class Move>
void for_blocks(std::uintptr_t first, std::size_t block, std::ptrdiff_t stride, std::size_t count, Move move) {
  as_constant<4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 48, 64>(block, [&](auto bytes) {
    for (std::size_t i = 0; i < count; ++i, first += static_cast<std::uintptr_t>(stride))
      move(reinterpret_cast<std::byte*>(first), bytes);
  });
}

/// Elements of a known layout.
struct Elements {
  std::span<const Strided> layout;
  std::uintptr_t address;
  std::size_t size;
  std::ptrdiff_t extent;
};

/// Calls move(data, bytes) for `length` bytes from byte `offset` on of the elements' data, in the order of the type map.
template <class Move>
void for_each_run(const Elements& elements, std::size_t offset, std::size_t length, Move move) {
  const auto& [layout, address, size, extent] = elements;
  std::size_t done = offset % size;  // of an element
  std::uintptr_t element = address + offset / size * static_cast<std::uintptr_t>(extent);
  auto blocks = std::ranges::upper_bound(layout, done, {}, &Strided::before) - 1;
  while (length > 0) {
    std::size_t at = (done - blocks->before) / blocks->block, cut = (done - blocks->before) % blocks->block;
    std::uintptr_t data =
        element + static_cast<std::uintptr_t>(blocks->displacement) + at * static_cast<std::uintptr_t>(blocks->stride);
    if (cut > 0) {
      const std::size_t rest = std::min(blocks->block - cut, length);
      move(reinterpret_cast<std::byte*>(data + cut), rest);
      length -= rest;
      data += static_cast<std::uintptr_t>(blocks->stride);
      ++at;
    }
    const std::size_t whole = std::min(blocks->count - at, length / blocks->block);
    for_blocks(data, blocks->block, blocks->stride, whole, move);
    length -= whole * blocks->block;
    if (at + whole < blocks->count && length > 0) {
      move(reinterpret_cast<std::byte*>(data + whole * static_cast<std::uintptr_t>(blocks->stride)), length);
      return;
    }
    done = blocks->before + blocks->count * blocks->block;
    if (++blocks == layout.end()) {
      blocks = layout.begin();
      done = 0;
      element += static_cast<std::uintptr_t>(extent);
    }
  }
}

Elements elements_of(const View& view, std::span<const Strided> layout) {
  return {layout, reinterpret_cast<std::uintptr_t>(view.address), view.info->size, view.info->extent};
}

/// The same of a view that has parts.
template <class Move>
void for_each_run(const View& view, std::size_t offset, std::size_t length, Move move) {
  if (length == 0) return;
  if (view.gapless) return move(view.address + offset, length);
  const Elements elements = elements_of(view, view.info->layout.blocks());
  const Strided& first = elements.layout[0];
  if (elements.layout.size() > 1 || first.count > 1) return for_each_run(elements, offset, length, move);
  // Elements of one block each are blocks themselves.
  const Strided blocks{first.displacement, first.block, elements.extent, view.count};
  for_each_run(Elements{{&blocks, 1}, elements.address, view.bytes, 0}, offset, length, move);
}

/// Calls move(data, bytes) for what lies in a row in the elements, in the order of their packed form.
template <class Move>
void for_each_run(const View& view, Move move) {
  if (view.gapless || !view.info->layout.blocks().empty()) return for_each_run(view, 0, view.bytes, move);
  const std::vector<Strided> all = blocks_of(view.type, SIZE_MAX);
  if (all.empty()) devices::cannot("a datatype there is made in a way that its blocks cannot be told");
  for_each_run(elements_of(view, all), 0, view.bytes, move);
}

/// Of short blocks a call would cost too much.
template <class Bytes>
void copy_block(std::byte* to, const std::byte* from, Bytes bytes) {
  if constexpr (!std::is_same_v<Bytes, std::size_t>)
    std::memcpy(to, from, bytes);
  else if (bytes <= shm::inline_bytes)
    shm::copy_small(to, from, bytes);
  else
    shm::copy_bytes(to, from, bytes);
}

}  // namespace

const char* View::set(const void* buffer, MPI_Count wanted, MPI_Datatype datatype) {
  if (const char* reason = set(wanted, datatype)) return reason;
  return set(buffer, *this);
}

const char* View::set(MPI_Count wanted, MPI_Datatype datatype) {
  if (wanted < 0) return negative_count;
  if (datatype == handles.type_null) return "null datatype";
  info = type_info(datatype);
  if (!info) return "invalid datatype";
  count = static_cast<std::size_t>(wanted);
  bytes = count * info->size;
  type = datatype;
  gapless = info->contiguous;
  return nullptr;
}

const char* View::set(const void* buffer, const View& like) {
  *this = like;
  if (buffer == MPI_IN_PLACE) return "MPI_IN_PLACE where it is not allowed";
  if (!buffer && bytes > 0 && gapless) return "null buffer";
  place_at(static_cast<std::byte*>(const_cast<void*>(buffer)));
  return nullptr;
}

void View::place_at(std::byte* first) {
  address = first;
  device = bytes > 0 ? devices::driver_of(address + info->true_lb) : nullptr;
}

View View::times(int parts) const {
  View all = *this;
  all.count *= static_cast<std::size_t>(parts);
  all.bytes *= static_cast<std::size_t>(parts);
  return all;
}

View View::after(int parts) const {
  View later = *this;
  // No arithmetic on addresses: the program's may be null.
  later.address = reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(address) +
                                               parts * count * static_cast<std::size_t>(info->extent));
  return later;
}

View View::split(int parts, int number) const {
  View part = *this;
  part.count /= static_cast<std::size_t>(parts);
  part.bytes /= static_cast<std::size_t>(parts);
  part.address += number * static_cast<std::ptrdiff_t>(part.count) * info->extent;
  return part;
}

void View::pack(std::byte* to) const {
  if (device) {
    devices::Copies copies;
    pack(to, copies);
    copies.finish();
    return;
  }
  if (is_known()) return pack_part(0, to, bytes);
  in_pieces(*this, 0, [&](std::byte* elements, int some, MPI_Datatype of, std::size_t offset, int room) {
    int position = 0;
    return host.Pack(elements, some, of, to + offset, room, &position, process().self);
  });
}

void View::unpack(const std::byte* from) const {
  if (device) {
    devices::Copies copies;
    unpack(from, copies);
    copies.finish();
    return;
  }
  if (is_known()) return unpack_part(0, from, bytes);
  in_pieces(*this, 0, [&](std::byte* elements, int some, MPI_Datatype of, std::size_t offset, int size) {
    int position = 0;
    return host.Unpack(from + offset, size, &position, elements, some, of, process().self);
  });
}

void View::pack(std::byte* to, devices::Copies& copies) const {
  if (!device) return pack(to);
  for_each_run(*this, [&](std::byte* data, std::size_t size) {
    copies.read(device, to, data, size);
    to += size;
  });
}

void View::unpack(const std::byte* from, devices::Copies& copies) const {
  if (!device) return unpack(from);
  for_each_run(*this, [&](std::byte* data, std::size_t size) {
    copies.write(device, data, from, size);
    from += size;
  });
}

void View::pack_part(std::size_t offset, std::byte* to, std::size_t length) const noexcept {
  for_each_run(*this, offset, length, [&](const std::byte* data, auto size) {
    copy_block(to, data, size);
    to += size;
  });
}

void View::unpack_part(std::size_t offset, const std::byte* from, std::size_t length) const noexcept {
  for_each_run(*this, offset, length, [&](std::byte* data, auto size) {
    copy_block(data, from, size);
    from += size;
  });
}

const std::byte* View::packed(Staging& staging) const {
  if (contiguous()) return address;
  std::byte* room = staging.room(bytes, device, address);
  pack(room);
  return room;
}

}  // namespace omnes::interpose
