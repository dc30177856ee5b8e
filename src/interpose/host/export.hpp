// How a function takes the place of the host's.
//
// Each is exported under two names, MPI_X and PMPI_X. The second catches callers inside the host, such as Open MPI's
// Fortran layer. Handles are taken as wide as they can be in any family (see Wide), so that a program of another family
// loses nothing when its calls are only handed on.
#pragma once

#include "interpose/host/host.hpp"

// Declares and opens the definition of a function exported as MPI_name and PMPI_name.
#define OMNES_EXPORT(name, ...) OMNES_EXPORT_EXPANDED(MPI_, name, __VA_ARGS__)
// The same for MPIX_name: what Open MPI 4 calls persistent collectives.
#define OMNES_EXPORT_EXTENSION(name, ...) OMNES_EXPORT_EXPANDED(MPIX_, name, __VA_ARGS__)
// In a simulation PMPI_name is the host's.
#ifdef OMNES_ABI_SMPI
#define OMNES_EXPORT_EXPANDED(prefix, name, ...)                                                              \
  extern "C" __attribute__((visibility("default"))) int omnes_##prefix##name(__VA_ARGS__) asm(#prefix #name); \
  extern "C" int omnes_##prefix##name(__VA_ARGS__)
#else
#define OMNES_EXPORT_EXPANDED(prefix, name, ...)                                                                      \
  extern "C" __attribute__((visibility("default"))) int omnes_##prefix##name(__VA_ARGS__) asm(#prefix #name);         \
  extern "C" __attribute__((visibility("default"), alias(#prefix #name))) int omnes_P##prefix##name(__VA_ARGS__) asm( \
      "P" #prefix #name);                                                                                             \
  extern "C" int omnes_##prefix##name(__VA_ARGS__)
#endif

/// In such a function: where it returns to.
#define OMNES_CALLER __builtin_return_address(0)

namespace omnes::interpose {

/// The host's function with handles as wide as ours. Both conventions agree: a narrower argument is the low part of a
/// register or stack slot.
template <class... Arguments, class Function>
int call_host(Function function, Arguments... arguments) {
  if (!function) return MPI_ERR_UNSUPPORTED_OPERATION;  // an older host, without large counts or persistent collectives
  const auto untyped = reinterpret_cast<void (*)()>(function);
  return reinterpret_cast<int (*)(Arguments...)>(untyped)(arguments...);
}

}  // namespace omnes::interpose
