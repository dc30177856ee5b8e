// How collectives are entered, and how they go on to the host: as functions that take the place of the host's.
//
// Where omnes is a component of the host (OMNES_COMPONENT), they are those of a module of it, which it hands over beside the communicator: what
// they do not serve is left to the module that they have taken the place of.
#pragma once

#include "interpose/communicator/state.hpp"
#include "interpose/host/export.hpp"

#ifdef OMNES_COMPONENT
#include "interpose/host/module.h"
#define OMNES_ENTRY(name, ...) extern "C" int omnes_coll_##name(__VA_ARGS__, void* module)
#define OMNES_ENTRY_PERSISTENT OMNES_ENTRY
#define OMNES_MODULE , reinterpret_cast<OmnesModule*>(static_cast<char*>(module) + OMNES_OFFSET_IN_MODULE)
/// The host's function of that name.
#define OMNES_HOST(name) on.module->before.name
#else
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
#endif

namespace omnes::interpose {

#ifdef OMNES_COMPONENT

/// What a call is made on.
struct On {
  Wide comm;
  OmnesModule* module;
};
inline Wide handle(const On& on) { return on.comm; }
inline MPI_Comm communicator(const On& on) { return narrow<MPI_Comm>(on.comm); }
inline State* known_state(const On& on) {
  return static_cast<State*>(__atomic_load_n(&on.module->state, __ATOMIC_ACQUIRE));
}

template <class... Arguments>
int call_host(const OmnesBefore& function, Arguments... arguments) {
  return reinterpret_cast<int (*)(Arguments..., void*)>(function.function)(arguments..., function.module);
}

#else

using On = Wide;
inline Wide handle(On on) { return on; }
inline MPI_Comm communicator(On on) { return narrow<MPI_Comm>(on); }
inline State* known_state(On on) { return known_state(communicator(on)); }

#endif

}  // namespace omnes::interpose
