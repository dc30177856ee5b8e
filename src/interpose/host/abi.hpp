// mpi.h for the family this library is built for, without any symbol that would have to be linked.
//
// Open MPI's predefined handles are addresses of data in libmpi. Redefining the one macro they all go through makes
// each of them a look-up by name, so that MPI_INT and friends read as usual. A look-up takes long: keep its result (see
// `handles` in host.hpp).
#pragma once

#include <mpi.h>

#include <cstdint>
#include <type_traits>

namespace omnes::interpose {

/// The address of the host's data symbol, or null when it has none (an older host).
void* host_data(const char* name);

/// A handle as the program passes it, whatever family it was compiled for: nothing is cut off while we only hand it on.
using Wide = std::intptr_t;

template <class Handle>
Handle narrow(Wide wide) {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<Handle>(wide);
  } else {
    return static_cast<Handle>(wide);
  }
}

}  // namespace omnes::interpose

// Families whose headers have the functions with MPI_Count (MPI 4); their hosts need not have them.
#if !defined(OMNES_ABI_OMPI) && !defined(OMNES_ABI_SMPI)
#define OMNES_LARGE_COUNTS
#endif
// SMPI's header gives these a value that does not exist.
#ifdef OMNES_ABI_SMPI
#undef MPI_CXX_FLOAT_COMPLEX
#undef MPI_CXX_DOUBLE_COMPLEX
#undef MPI_CXX_LONG_DOUBLE_COMPLEX
#define MPI_CXX_FLOAT_COMPLEX MPI_DATATYPE_NULL
#define MPI_CXX_DOUBLE_COMPLEX MPI_DATATYPE_NULL
#define MPI_CXX_LONG_DOUBLE_COMPLEX MPI_DATATYPE_NULL
#endif

// Families whose headers have persistent collectives.
#ifndef OMNES_ABI_SMPI
#define OMNES_PERSISTENT
#endif

#ifdef OMNES_ABI_OMPI
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global) static_cast<type>(::omnes::interpose::host_data(#global))
#endif
