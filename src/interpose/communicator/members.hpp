// Who the members of a communicator are.
#pragma once

#include <vector>

#include "interpose/host/host.hpp"
#include "interpose/process/unattended.hpp"

namespace omnes::interpose {

struct World;  // process/world.hpp

struct Members {
  int p = 1;
  int rank = 0;
  const World* world = nullptr;                    ///< where they have met; outlives them (membership.hpp)
  std::vector<int> ranks;                          ///< in it
  std::vector<int> here;                           ///< on this node, in rank order
  bool messages = false;                           ///< some do not share memory with this rank
  Unattended unattended = Unattended::everything;  ///< on all of them
  bool own_cpus = true;                            ///< none shares a CPU with another rank
  bool spares = true;                              ///< all keep communicators that are freed (spares.hpp)

  bool has(int other) const { return other >= 0 && other < p; }
};

/// How many they are; 0: an intercommunicator. Throws Failure.
int size_of(MPI_Comm comm);

/// Their ranks in that world; empty when some are not in it. Throws Failure.
std::vector<int> ranks_in(const World& world, MPI_Comm comm, int p);
/// In MPI_COMM_WORLD: when some were not started together with this one (MPI_Comm_spawn, MPI_Comm_connect), they may not have
/// this library.
std::vector<int> ranks_in_world(MPI_Comm comm, int p);

/// Whether it is one of MPICH's thread communicators (MPIX_Threadcomm_init): several threads of a process are in one
/// collective at once, each as a rank of its own. Throws Failure.
bool ranks_are_threads(MPI_Comm comm);

}  // namespace omnes::interpose
