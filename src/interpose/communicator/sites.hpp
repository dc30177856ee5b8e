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

/// Whether the address lies in the MPI, or in this library.
bool is_of_mpi(std::uintptr_t address);
/// In the instruction of the innermost call in this thread's stack that neither this library nor the MPI makes, whose Fortran
/// functions call its C functions; 0: not found.
std::uintptr_t call_outside_mpi();

/// The number, at least 1, of call_outside_mpi(); 0: not found.
std::uint32_t find_site();
/// By number; one less is the index.
std::vector<Site> sites();

}  // namespace omnes::interpose
