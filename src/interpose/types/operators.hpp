// MPI's reduction operations as Reductions: our kernels where there is one, else the host's MPI_Reduce_local.
#pragma once

#include "interpose/types/types.hpp"
#include "runtime/reduction.hpp"

namespace omnes::interpose {

/// Of the program's own operations.
using OpGenerations = Generations<MPI_Op, 32>;

/// How the elements of a reduction lie in contiguous memory, and who combines them. Lives as long as the call.
struct Operator {
  Reduction reduction;
  std::size_t stride = 0;    ///< bytes from one element to the next
  bool whole = true;         ///< elements lie there as in the program's own arrays (else each has its true extent only,
                             ///< true_lb cut off)
  bool is_programs = false;  ///< made by MPI_Op_create
  // For the host's MPI_Reduce_local.
  MPI_Datatype type{};
  MPI_Op op{};
  MPI_Aint true_lb = 0;

  /// Fills it in. Returns why the host has to serve it (or to complain about it), or null.
  const char* set(MPI_Op op, MPI_Datatype type, const TypeInfo& info);
};

/// Makes the table of predefined operations; once, after the host is found.
void prepare_operators();

}  // namespace omnes::interpose
