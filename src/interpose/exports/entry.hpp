// How collectives are entered, and how they go on to the host: as functions that take the place of the host's.
#pragma once

#include "interpose/communicator/state.hpp"
#include "interpose/host/export.hpp"

#define OMNES_ENTRY OMNES_EXPORT
#define OMNES_MODULE
#define OMNES_HOST(name) host.name
#ifdef OMNES_ABI_OMPI
#define OMNES_ENTRY_PERSISTENT(name, ...)                                                                         \
  OMNES_EXPORT(name, __VA_ARGS__);                                                                                \
  extern "C" __attribute__((visibility("default"), alias("MPI_" #name))) int omnes_MPIX_##name(__VA_ARGS__) asm(  \
      "MPIX_" #name);                                                                                             \
  extern "C" __attribute__((visibility("default"), alias("MPI_" #name))) int omnes_PMPIX_##name(__VA_ARGS__) asm( \
      "PMPIX_" #name);                                                                                            \
  extern "C" int omnes_MPI_##name(__VA_ARGS__)
#else
#define OMNES_ENTRY_PERSISTENT OMNES_EXPORT
#endif

namespace omnes::interpose {

/// What a call is made on.
using On = Wide;
inline Wide handle(On on) { return on; }
inline MPI_Comm communicator(On on) { return narrow<MPI_Comm>(on); }
inline State* known_state(On on) { return known_state(communicator(on)); }

}  // namespace omnes::interpose
