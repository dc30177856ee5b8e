// What the lanes of a communicator lie in, and what its ranks exchange to have them.
#pragma once

#include <memory>
#include <vector>

#include "interpose/host/port.hpp"
#include "interpose/types/holds.hpp"
#include "transport/shm/endpoint.hpp"
#include "transport/shm/segment.hpp"

namespace omnes::interpose {

/// Lanes that were made by one exchange: what they share.
struct Lanes {
  Lanes() = default;
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;
  ~Lanes();
  std::shared_ptr<shm::Segment> segment;  ///< null where only messages reach
  shm::Ticket ticket;              ///< of the segment, where later communicators may use it; else without a nonce
  std::uint32_t times_let_go = 0;  ///< by communicators of this rank that are gone
  std::unique_ptr<shm::Endpoint> kept[first_lanes];  ///< in between
  Addresses addresses;
  int first_tag = -1;  ///< of the block that is this rank's
  Mailbox mailboxes[lanes_per_block];
};

/// What a rank brings to the exchange.
struct Contact {
  shm::Ticket ticket;
  int first_tag = -1;
  bool wanted = false;  ///< this rank is to make a segment for its node
  bool made = false;    ///< and did: the ticket is of use
};

/// The exchange while it is under way, on a communicator that the program may free meanwhile.
struct Formation {
  explicit Formation(MPI_Comm its_comm) : comm(its_comm) { holds::take_communicator(comm); }
  ~Formation() { holds::give_back_communicator(comm); }
  Formation(const Formation&) = delete;
  Formation& operator=(const Formation&) = delete;
  MPI_Comm comm;
  std::unique_ptr<Lanes> lanes;
  Contact mine;
  std::vector<Contact> all;
  MPI_Request request;
  /// Of an intercommunicator: whose collectives bring what the other group has; its first rank then says what it has got of this one.
  std::vector<int> bytes, displacements;
  bool has_own_group = true;
};

/// Segments that some rank may not have found yet: kept reachable by their makers, even when the team is gone.
void keep_reachable(std::shared_ptr<shm::Segment> segment);
/// Lets those go nameless that all ranks have found. Returns whether none is left.
bool seal_segments();
bool all_sealed();

}  // namespace omnes::interpose
