// What has to be known about a datatype to move it or to reduce it.
#pragma once

#include <cstddef>
#include <optional>

#include "interpose/host/handle_cache.hpp"
#include "interpose/host/host.hpp"
#include "interpose/types/layout.hpp"
#include "runtime/reduction.hpp"

namespace omnes::interpose {

/// Which of MPI's groups of predefined types a type belongs to: they decide which reductions are defined.
enum class TypeClass : std::uint8_t {
  other,  ///< predefined without reductions (MPI_CHARACTER, MPI_PACKED ...)
  signed_integer,
  unsigned_integer,
  fortran_integer,
  multi_language,  ///< MPI_AINT, MPI_OFFSET, MPI_COUNT
  floating,
  complex,
  c_logical,
  fortran_logical,
  byte,
  pair,  ///< value and index, for MPI_MINLOC and MPI_MAXLOC
  derived
};

struct TypeInfo {
  TypeClass kind = TypeClass::other;
  bool contiguous =
      false;  ///< elements follow each other without gaps, in the order of the type map, from the address given
  std::size_t size = 0;  ///< bytes of data in an element
  MPI_Aint extent = 0;
  MPI_Aint true_lb = 0;
  MPI_Aint true_extent = 0;
  Layout layout;                   ///< of a derived type, as far as it is known
  std::optional<Element> element;  ///< what our kernels call it, if they know it
  bool shared = false;             ///< by all types of the program that look alike; it stays when they are freed

  /// Whether its elements follow each other without gaps, if they are whole.
  bool gapless() const { return true_lb == 0 && extent == true_extent && size == static_cast<std::size_t>(extent); }
};

using TypeCache = HandleCache<MPI_Datatype, const TypeInfo, 32>;
extern OMNES_FAST_THREAD_LOCAL TypeCache type_cache;
const TypeInfo* look_up_type(MPI_Datatype type);
/// What this thread knows of a committed type without a question to the host. Null: nothing.
const TypeInfo* remembered_type(MPI_Datatype type);
/// Null: it is none.
const TypeInfo* predefined_type(MPI_Datatype type);

/// Null when the host rejects the type (it is not committed). `type` is not MPI_DATATYPE_NULL. Throws Failure.
inline const TypeInfo* type_info(MPI_Datatype type) {
  if (const TypeInfo* known = type_cache.find(type)) [[likely]]
    return known;
  return look_up_type(type);
}

/// Makes what type_info needs; once, after the host is initialised. Returns the host's error code. What it has found goes
/// into the fingerprint: ranks that have found something else cannot choose alike.
int prepare_types(std::uint64_t& fingerprint);

}  // namespace omnes::interpose
