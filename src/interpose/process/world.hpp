// Ranks that have been introduced to each other: who runs where, and who can reach whose memory. Those of MPI_COMM_WORLD are in
// MPI_Init, those of several MPI_COMM_WORLDs when they get a communicator.
//
// From then on every rank can say of any group of ranks who shares memory with whom, without asking.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "interpose/host/host.hpp"
#include "interpose/process/unattended.hpp"
#include "topology/placing.hpp"
#include "transport/shm/bulletin.hpp"
#include "transport/shm/endpoint.hpp"
#include "transport/shm/segment.hpp"
#include "transport/shm/sleepers.hpp"
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
  bool spares;       ///< it keeps communicators that are freed
  bool fast_caches;  ///< its processor has them, as it sees it: emulators show another one
};

struct World : std::enable_shared_from_this<World> {
  MPI_Comm comm;    ///< private; carries all messages of all teams
  MPI_Group group;  ///< of all
  int rank = 0;
  int size = 1;
  std::shared_ptr<std::vector<Introduction>> introductions;  ///< in simulations one of all ranks
  std::span<Introduction> all;                               ///< these
  std::uint64_t nonce = 0;                                   ///< where others look for it
  std::optional<shm::Medium> medium;     ///< how ranks with the same memory share it; none: they cannot
  std::shared_ptr<shm::Segment> common;  ///< the bulletins and sleep words of the ranks with this rank's memory
  std::vector<std::int64_t> readable;    ///< by rank: its process, or 0 where this rank cannot read its memory

  std::vector<bool> shares_cpu;  ///< by rank: there are more ranks than CPUs, or than CPU time, where it may run
  bool yields_reach = true;      ///< the ranks that share CPUs with this one: those to which it yields them
  bool short_of_time = false;    ///< there are more ranks here than CPUs whose time their control group may use
  bool has_bulletins = false;    ///< of the ranks of this node, by which they tell each other something
  /// By rank: where it sleeps; null: not on this node. Empty: nobody sleeps.
  std::vector<shm::SleepWord*> sleep_words;
  /// How this rank, which shares CPUs, gets away from the others; null: several of its threads may be in MPI.
  std::unique_ptr<shm::Spreading> spreading;
  /// Has a rank that waits so sleep at its word, if it has one.
  void let_sleep(shm::WaitPolicy& policy) const;
  shm::SleepWord* own_sleep_word() const { return sleep_words.empty() ? nullptr : sleep_words[rank]; }
  shm::Bulletin bulletin(int rank) const { return shm::Bulletin(common->layout().slot(rank, 0)); }

  /// The first of the ranks that have this rank's memory.
  int first_here() const;
  /// How a rank of this group of ranks waits for the others that are on its node.
  shm::WaitPolicy waiting(std::span<const int> ranks) const;
  /// The same for all of them.
  shm::WaitPolicy waiting() const;
  /// Whether no rank of this group shares a CPU with another rank of the job, on any node.
  bool own_cpus(std::span<const int> ranks) const;
  /// Where the ranks of this group lie; as far as OMNES_LEVELS wants to know.
  Placed place(std::span<const int> ranks) const;
  /// How this rank accesses the memory of that one, which is on its node. Maps its heap the first time.
  shm::Access access_to(int rank) const;

 private:
  mutable std::mutex mutex_;
  mutable std::map<int, std::shared_ptr<const shm::PeerHeap>> heaps_;  ///< by rank; null: cannot be mapped
};

/// Collective over MPI_COMM_WORLD. Returns the host's error code.
int meet();
/// The ranks of MPI_COMM_WORLD; null when they have not met.
const World* world();

/// The same for the ranks of another communicator, which the program does not know. Collective over it.
int meet(MPI_Comm comm, std::unique_ptr<World>& made);
/// What such a meeting has made is not needed any more: the host hears of it at the next call of free_worlds(), which is local.
void end(std::unique_ptr<World> world);
void free_worlds();

/// A block of tags of any world's `comm` for what this rank receives; its first tag, or -1 when there is none left.
int take_tags();
void return_tags(int first);

}  // namespace omnes::interpose
