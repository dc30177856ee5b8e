// Memory that belongs to a GPU: found by asking its driver, and copied by it.
//
// Overview. The CPU cannot read such memory, or reads it slowly, so data there pass through staging memory as those with
// gaps do (view.hpp, spread.hpp). What a rank's own buffers are decides nothing that other ranks must know.
// How: the drivers of NVIDIA, AMD and Intel (drivers.hpp) are used where the program has loaded them, never loaded by us. Where
// there is none, nothing is asked. Where there is one, every buffer of every call is asked about: memory comes and goes
// without our hearing of it.
//
// Why it is correct: a driver that is loaded later is found, too, at no cost for calls that are repeated (repeats.hpp).
// All loading at run time goes through dlopen, which this library exports: it empties the caches of datatypes, and with them the
// kept calls, and goes on to the real dlopen. So the next call is described anew, and looks for drivers. Should another
// thread make that call while the driver is being loaded, then the driver's own start, which comes before any memory of
// its, loads further parts by dlopen: the look after that finds it.
#pragma once

#include <cstddef>
#include <vector>

namespace omnes::interpose::devices {

class Driver;

/// The driver that has to copy the data at this address; null: the CPU can. Throws Failure.
Driver* driver_of(const void* address);

/// Whether buffers are asked about.
bool any();

/// Has a device copy from and to these pages of the host by itself, which is faster, until unpin(). `there`: in its memory. Returns whether it does.
bool pin(Driver& driver, void* pages, std::size_t bytes, const void* there) noexcept;
void unpin(Driver& driver, void* pages) noexcept;

/// Copies between a device and the host, or within the host, that may happen in any order; neighbors become one.
class Copies {
 public:
  struct Piece {
    std::byte* to;
    const std::byte* from;
    std::size_t bytes;
    bool reads;  ///< from the device
  };

  /// `driver`: of the data read; null: the CPU does it at once.
  void read(Driver* driver, std::byte* to, const std::byte* from, std::size_t bytes) {
    add(driver, {to, from, bytes, true});
  }
  /// `driver`: of the data written.
  void write(Driver* driver, std::byte* to, const std::byte* from, std::size_t bytes) {
    add(driver, {to, from, bytes, false});
  }
  /// Until all are done. Throws Failure.
  void finish();

 private:
  void add(Driver* driver, const Piece& piece);
  Driver* driver_ = nullptr;  // of the pieces
  std::vector<Piece> pieces_;
};

}  // namespace omnes::interpose::devices
