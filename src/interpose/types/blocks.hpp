// Derived datatypes as what they were made of: blocks of elements of another type, one after the other in the type map.
#pragma once

#include <functional>

#include "interpose/host/host.hpp"

namespace omnes::interpose {

struct Block {
  MPI_Datatype type;  ///< may not be committed
  MPI_Count length;   ///< in elements, `extent` bytes apart
  MPI_Aint extent;
  MPI_Aint displacement;  ///< bytes from where the whole begins
};

/// Whether the host can be asked how it was made. Open MPI makes types for itself, and it is an error to ask for theirs.
#ifdef OMNES_COMPONENT
bool has_envelope(MPI_Datatype type);
#else
inline bool has_envelope(MPI_Datatype) { return true; }
#endif

/// How a type was made (MPI_COMBINER_...), or -1 where the host cannot tell.
int combiner_of(MPI_Datatype type);

/// Predefined, or made by MPI_Type_create_f90_...: these are whole numbers of bytes in a row, and nobody frees them.
bool is_basic(int combiner);

/// Calls `see` with each block of one element, as long as it returns true. Returns whether it has seen all: false, too, of
/// types made in ways not known here (distributed arrays). Throws Failure.
bool for_each_block(MPI_Datatype type, const std::function<bool(const Block&)>& see);

}  // namespace omnes::interpose
