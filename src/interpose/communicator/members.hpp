// Who the members of a communicator are.
#pragma once

#include <vector>

#include "interpose/host/host.hpp"
#include "interpose/process/unattended.hpp"
#include "schedule/schedule.hpp"

namespace omnes::interpose {

struct World;  // process/world.hpp

/// Of an intercommunicator they are both groups' ranks: first those of the group with the lowest rank of `world`, then the others.
struct Members {
  int p = 1;
  int rank = 0;
  int first_group = 0;                             ///< of an intercommunicator: ranks of the first group; else 0
  const World* world = nullptr;                    ///< where they have met; outlives them (membership.hpp)
  std::vector<int> ranks;                          ///< in it
  std::vector<int> here;                           ///< on this node, in rank order
  bool messages = false;                           ///< some do not share memory with this rank
  Unattended unattended = Unattended::everything;  ///< on all of them
  bool own_cpus = true;                            ///< none shares a CPU with another rank
  bool spares = true;                              ///< all keep communicators that are freed (spares.hpp)

  bool has(int other) const { return other >= 0 && other < p; }
  /// Of an intercommunicator: the group of this rank, and the other one.
  Range own_group() const { return group_of(rank, p, first_group); }
  Range remote_group() const { return other_group(rank, p, first_group); }
};

/// How many they are; 0: an intercommunicator. Throws Failure.
int size_of(MPI_Comm comm);

/// Their ranks in that world; empty when some are not in it. Throws Failure.
std::vector<int> ranks_in(const World& world, MPI_Comm comm, int p);
/// The same for both groups of an intercommunicator, and whether the first ones are this rank's.
struct BothGroups {
  std::vector<int> ranks;
  int first_group = 0;
  bool in_first = false;
};
BothGroups ranks_of_both(const World& world, MPI_Comm comm);
/// In MPI_COMM_WORLD: when some were not started together with this one (MPI_Comm_spawn, MPI_Comm_connect), they may not have
/// this library.
std::vector<int> ranks_in_world(MPI_Comm comm, int p);

/// Whether it is one of MPICH's thread communicators (MPIX_Threadcomm_init): several threads of a process are in one
/// collective at once, each as a rank of its own. Throws Failure.
bool ranks_are_threads(MPI_Comm comm);

}  // namespace omnes::interpose
