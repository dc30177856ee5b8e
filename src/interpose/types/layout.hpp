// Where the data of an element of a datatype lie: blocks without gaps, in the order of the type map. Those that are alike and equally
// far from each other, as in rows and columns of arrays, are one entry.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "interpose/host/host.hpp"

namespace omnes::interpose {

struct Strided {
  std::ptrdiff_t displacement = 0;  ///< bytes from the element's address to the first block
  std::size_t block = 0;            ///< bytes of each
  std::ptrdiff_t stride = 0;        ///< bytes from one to the next
  std::size_t count = 0;            ///< blocks
  std::size_t before = 0;           ///< bytes of the element's data before them, in the order of the type map
  bool operator==(const Strided&) const = default;
};

/// Merges `next` into `last` if it continues it. Returns whether it does.
inline bool join(Strided& last, const Strided& next) {
  const auto& [displacement, block, stride, count, before] = next;
  if (last.count == 1 && count == 1 && displacement == last.displacement + static_cast<std::ptrdiff_t>(last.block)) {
    last.block += block;
    return true;
  }
  if (last.block != block) return false;
  const std::ptrdiff_t from_first = displacement - last.displacement;
  const std::ptrdiff_t wanted = last.count > 1 ? last.stride : count > 1 ? stride : from_first;
  if ((count > 1 && stride != wanted) || from_first != static_cast<std::ptrdiff_t>(last.count) * wanted) return false;
  last.stride = wanted;
  last.count += count;
  return true;
}

class Layout {
 public:
  /// Not known.
  Layout() = default;
  /// Of `count` blocks, the first one at the element's address.
  Layout(std::size_t block, std::ptrdiff_t stride, std::size_t count) : only_{0, block, stride, count} {}
  /// As blocks_of() says. They stay, and where they are.
  explicit Layout(std::span<const Strided> all) : several_(all.size() > 1 ? all : std::span<const Strided>()) {
    if (all.size() == 1) only_ = all[0];
  }

  /// Empty: not known, or there are no data.
  std::span<const Strided> blocks() const {
    return !several_.empty() ? several_ : std::span(&only_, only_.count > 0 ? 1 : 0);
  }
  bool has_several() const { return !several_.empty(); }
  /// So many bytes from the element's address on, and nothing else.
  bool is_block(std::size_t bytes) const {
    return several_.empty() && only_.displacement == 0 && only_.count == 1 && only_.block == bytes;
  }

 private:
  Strided only_;
  std::span<const Strided> several_;
};

/// As the host tells. Empty: there are no data; it cannot tell; or there would be more than `most`. Throws Failure,
/// std::bad_alloc.
std::vector<Strided> blocks_of(MPI_Datatype type, std::size_t most);

}  // namespace omnes::interpose
