// All ranks of MPI_COMM_WORLD, introduced to each other in MPI_Init: who runs where, and who can reach whose memory.
//
// From then on every rank can say of any group of ranks who shares memory with whom, without asking.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "interpose/host/host.hpp"
#include "interpose/process/unattended.hpp"
#include "topology/placing.hpp"
#include "transport/shm/bulletin.hpp"
#include "transport/shm/endpoint.hpp"
#include "transport/shm/segment.hpp"
#include "transport/shm/waiting.hpp"

namespace omnes::interpose {

/// What a rank says of itself. Ranks with equal `memory` can map each other's segments.
struct Introduction {
  std::uint64_t fingerprint;  ///< of its OMNES_ variables, its table and machine
  std::uint64_t machine;      ///< where it runs, whatever is pretended
  std::uint64_t memory;
  std::int64_t session;
  std::uint64_t cpus;  ///< which CPUs the rank may run on, as a hash
  std::int64_t cpu_count;
  double cpu_quota;  ///< CPUs that it and the others of its control group may keep busy; 0: as many as there are
  std::int64_t pid;
  std::uint64_t address;  ///< in its memory, where `nonce` stands
  std::uint64_t nonce;
  shm::HeapTicket heap;
  shm::Ticket ticket;  ///< to try whether it is of use: of the first rank that has this memory
  Whereabouts whereabouts;
  Unattended unattended;
  bool adopts;  ///< buffers of its program into its heap
  bool spares;  ///< it keeps communicators that are freed
};

struct World {
  MPI_Comm comm;    ///< private; carries all messages of all teams
  MPI_Group group;  ///< of MPI_COMM_WORLD
  int rank = 0;
  int size = 1;
  std::shared_ptr<std::vector<Introduction>> introductions;  ///< in simulations one of all ranks
  std::span<Introduction> all;                               ///< these
  std::optional<shm::Medium> medium;   ///< how ranks with the same memory share it; none: they cannot
  std::vector<std::int64_t> readable;  ///< by rank: its process, or 0 where this rank cannot read its memory

  std::vector<bool>
      shares_cpu;  ///< by rank: there are more ranks than CPUs where it may run; where they are short of time, all
  bool yields_reach = true;    ///< the ranks that share CPUs with this one: those to which it yields them
  bool short_of_time = false;  ///< there are more ranks here than CPUs whose time their control group may use
  /// What the ranks of this node tell each other by; null where they do not.
  std::shared_ptr<shm::Segment> bulletins;
  shm::Bulletin bulletin(int rank) const { return shm::Bulletin(bulletins->layout().slot(rank, 0)); }

  /// The first of the ranks that have this rank's memory.
  int first_here() const;
  /// How a rank of this group of ranks waits for the others that are on its node.
  shm::WaitPolicy waiting(std::span<const int> ranks) const;
  /// Whether no rank of this group shares a CPU with another rank of the job, on any node.
  bool own_cpus(std::span<const int> ranks) const;
  /// Where the ranks of this group lie; as far as OMNES_LEVELS wants to know.
  Placed place(std::span<const int> ranks) const;
};

/// Collective over MPI_COMM_WORLD. Returns the host's error code.
int meet();
/// Null when the ranks have not met.
const World* world();

/// How this rank accesses the memory of that rank of the world, which is on its node. Maps its heap the first time.
shm::Access access_to(int rank);

/// A block of tags of `world()->comm` for what this rank receives; its first tag, or -1 when there is none left.
int take_tags();
void return_tags(int first);

}  // namespace omnes::interpose
