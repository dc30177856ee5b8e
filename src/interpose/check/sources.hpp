// Where in the program a call is: found as an address, told as file and line.
#pragma once

#include <cstdint>
#include <string>

#include "interpose/check/board.hpp"

namespace omnes::interpose::check {

/// `caller`: where the function of MPI returns to. The result means the same to all processes, beside the rank's area. Where
/// that is in the MPI itself, as its Fortran functions call those of C, its caller counts.
std::uint64_t site_of(const void* caller);

/// "solver.c:12", where addr2line and the object's debugging information tell, else "function in object", else "object+0x12".
/// Takes some ms.
std::string source_line(const Area& area, std::uint64_t site);

}  // namespace omnes::interpose::check
