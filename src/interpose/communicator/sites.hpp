// Where in the program calls are made, for statistics by call site (OMNES_STATS_SITES).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace omnes::interpose {

struct Site {
  std::uintptr_t address;  ///< in the call's instruction
  std::string object;      ///< the file that it lies in
  std::uintptr_t offset;   ///< from where that is loaded
  std::string symbol;      ///< the nearest that the object exports; empty: none
};

/// The number, from 1 on, of where this thread's call was made: the innermost function that belongs neither to this library
/// nor to the MPI, whose Fortran functions call its C functions; 0: not found.
std::uint32_t find_site();
/// By number; one less is the index.
std::vector<Site> sites();

}  // namespace omnes::interpose
