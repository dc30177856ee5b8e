// A program's buffer (address, count, datatype) seen as contiguous bytes.
//
// Data without gaps are used where they lie. Others pass through staging memory: packed() before the call, landing() for
// what the call will write, land() after it. Where a datatype's layout is known its blocks are copied there and back, else
// MPI_Pack and MPI_Unpack do that. So do data in a device's memory, which its driver copies block by block: what lies in
// gaps is not touched.
#pragma once

#include "interpose/data/staging.hpp"
#include "interpose/devices/devices.hpp"
#include "interpose/types/types.hpp"

namespace omnes::interpose {

/// Reasons for the host to complain, where it looks.
inline constexpr char negative_count[] = "negative count", invalid_root[] = "invalid root";

struct View {
  std::byte* address = nullptr;
  std::size_t count = 0;  ///< elements
  std::size_t bytes = 0;
  MPI_Datatype type;
  const TypeInfo* info = nullptr;
  bool gapless = false;               ///< as info says; still known when the program has freed the type
  bool apart = false;                 ///< passes through staging memory, whatever it is
  devices::Driver* device = nullptr;  ///< whose memory the data are in; null: the host's

  /// Why the host has to complain about these arguments, or null.
  const char* set(const void* buffer, MPI_Count count, MPI_Datatype type);
  /// The same without an address: that is for the caller to set, by place_at.
  const char* set(MPI_Count count, MPI_Datatype type);
  void place_at(std::byte* address);
  /// As many bytes further on.
  void move(std::ptrdiff_t bytes_on) { address += bytes_on; }
  /// Other elements of the same type, so many.
  void resize(std::size_t elements) {
    count = elements;
    bytes = elements == 0 ? 0 : elements * info->size;
  }
  /// The same elements in another buffer.
  const char* set(const void* buffer, const View& like);
  bool contiguous() const { return gapless && !apart && !device; }

  /// `parts` times as many elements (all parts of a gather, say).
  View times(int parts) const;
  /// The same number of elements, so many times as many elements later.
  View after(int parts) const;
  /// Of so many equal parts the one with this number.
  View split(int parts, int number) const;

  /// Reads the elements into `to`, and writes them from `from`. Throws Failure.
  void pack(std::byte* to) const;
  void unpack(const std::byte* from) const;
  /// The same, but data of a device are there only when the copies are finished.
  void pack(std::byte* to, devices::Copies& copies) const;
  void unpack(const std::byte* from, devices::Copies& copies) const;

  /// Whether some of the bytes may be moved without the others.
  bool has_parts() const { return !apart && is_known(); }
  /// The same for `length` bytes from byte `offset` on of what the elements are when packed, where it has parts.
  void pack_part(std::size_t offset, std::byte* to, std::size_t length) const noexcept;
  void unpack_part(std::size_t offset, const std::byte* from, std::size_t length) const noexcept;

  /// Where the elements lie in a row: in the program's buffer, or packed into staging memory.
  const std::byte* packed(Staging& staging) const;
  /// Where as many bytes may be written, before land() brings them to the program's buffer.
  std::byte* landing(Staging& staging) const { return contiguous() ? address : staging.room(bytes, device, address); }
  void land(const std::byte* landed) const {
    if (!contiguous()) unpack(landed);
  }

 private:
  /// Whether the CPU can reach the elements, and knows where their bytes are.
  bool is_known() const { return !device && (gapless || bytes == 0 || !info->layout.blocks().empty()); }
};

}  // namespace omnes::interpose
