// Packing with counts and sizes beyond the int that MPI_Pack takes.
#include "interpose/data/view.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "interpose/devices/drivers.hpp"
#include "interpose/host/failure.hpp"
#include "interpose/process/process.hpp"
#include "interpose/types/blocks.hpp"

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

/// Calls move(block, packed, bytes) for each block of the view's elements, which are alike, with where it lies when
/// packed. Its bytes are a constant for the usual numbers, of which a column of a matrix by rows has one in each block.
template <class Packed, class Move>
void for_each_block_of(const View& view, Packed* packed, Move move) {
  const auto go = [&](auto bytes) {
    for (std::size_t i = 0; i < view.count; ++i) {
      std::byte* block = view.address + static_cast<std::ptrdiff_t>(i) * view.info->extent;
      for (std::size_t left = view.info->size; left > 0; left -= bytes, block += view.info->stride, packed += bytes)
        move(block, packed, bytes);
    }
  };
  switch (view.info->block) {
    case 4: return go(std::integral_constant<std::size_t, 4>{});
    case 8: return go(std::integral_constant<std::size_t, 8>{});
    case 16: return go(std::integral_constant<std::size_t, 16>{});
    default: return go(view.info->block);
  }
}

/// Bytes in a row.
struct Run {
  std::ptrdiff_t displacement;  // from the element's address
  std::size_t bytes;
};

/// Of an element, in the order of its type map.
class Runs : public std::vector<Run> {
 public:
  explicit Runs(MPI_Datatype type) {
    const int combiner = combiner_of(type);
    if (is_basic(combiner)) {
      add_basic(type);
      return;
    }
    const bool all = for_each_block(type, [&](const Block& block) {
      if (seen_ != block.type) inner_ = std::make_unique<Runs>(block.type);
      seen_ = block.type;
      for (MPI_Count i = 0; i < block.length; ++i)
        for (const Run& run : *inner_) add(block.displacement + i * block.extent + run.displacement, run.bytes);
      return true;
    });
    if (!all) devices::cannot("a datatype there is made in a way that its blocks cannot be told");
  }

 private:
  void add(std::ptrdiff_t displacement, std::size_t bytes) {
    if (bytes == 0) return;
    if (!empty() && back().displacement + static_cast<std::ptrdiff_t>(back().bytes) == displacement) {
      back().bytes += bytes;
    } else {
      push_back({displacement, bytes});
    }
  }
  /// One with a gap is a pair: a value, and at the end an index.
  void add_basic(MPI_Datatype type) {
    MPI_Count size = 0;
    MPI_Aint lb = 0, extent = 0;
    if (host.Type_size_x(type, &size) != MPI_SUCCESS || host.Type_get_true_extent(type, &lb, &extent) != MPI_SUCCESS)
      throw Failure{MPI_ERR_TYPE};
    const std::size_t index = size == extent ? 0 : sizeof(int);
    add(lb, static_cast<std::size_t>(size) - index);
    add(lb + extent - static_cast<std::ptrdiff_t>(index), index);
  }
  std::optional<MPI_Datatype> seen_;  // the type of inner_
  std::unique_ptr<Runs> inner_;
};

/// Calls move(data, bytes) for what lies in a row in the elements, in the order of their packed form.
template <class Move>
void for_each_run(const View& view, Move move) {
  if (view.gapless) return move(view.address, view.bytes);
  const Runs runs(view.type);
  for (std::size_t i = 0; i < view.count; ++i)
    for (const Run& run : runs)
      move(view.address + static_cast<std::ptrdiff_t>(i) * view.info->extent + run.displacement, run.bytes);
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
  if (gapless) {
    std::memcpy(to, address, bytes);
    return;
  }
  if (info->block != 0 && address != nullptr) {
    for_each_block_of(*this, to, [](const std::byte* block, std::byte* packed, std::size_t size) {
      std::memcpy(packed, block, size);
    });
    return;
  }
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
  if (gapless) {
    std::memcpy(address, from, bytes);
    return;
  }
  if (info->block != 0 && address != nullptr) {
    for_each_block_of(*this, from, [](std::byte* block, const std::byte* packed, std::size_t size) {
      std::memcpy(block, packed, size);
    });
    return;
  }
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

const std::byte* View::packed(Staging& staging) const {
  if (contiguous()) return address;
  std::byte* room = staging.room(bytes, device, address);
  pack(room);
  return room;
}

}  // namespace omnes::interpose
