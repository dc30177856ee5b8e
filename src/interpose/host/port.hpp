// The host MPI's point-to-point messages as a MessagePort.
//
// All messages of all teams travel on one private communicator; tags tell them apart. Who receives names the tag: each
// rank gives each of its teams a block of tags that is nobody else's at that rank, and tells the others. So no two
// receives of a rank can be mistaken, and nobody has to agree on anything.
#pragma once

#include <vector>

#include "interpose/host/host.hpp"
#include "runtime/port.hpp"

namespace omnes::interpose {

/// The ranks of a team.
struct Addresses {
  MPI_Comm comm;           ///< nobody else's; returns errors
  std::vector<int> ranks;  ///< in `comm`
  std::vector<int> tags;   ///< first of each rank's block
  int own = 0;             ///< this rank's number in the team
};

/// Lanes for nonblocking operations, if they are short: they take turns, so that as many are under way at once.
inline constexpr int short_lanes = 4;
/// Lanes that a communicator begins with: for blocking operations, for nonblocking ones, and these.
inline constexpr int first_lanes = 2 + short_lanes;
/// Lanes that a block of tags serves.
inline constexpr int lanes_per_block = 16;
inline constexpr int tags_per_block = 2 * lanes_per_block;

/// One lane's messages.
struct Mailbox {
  const Addresses* addresses = nullptr;
  int lane = 0;
  // For testing several messages at once; kept for their memory.
  std::vector<MPI_Request> pending = {};
  std::vector<int> indices = {};
  std::vector<MPI_Status> statuses = {};
};

/// While there is one, this thread is inside the host's progress engine, which has called us: messages may be started and
/// found complete, but the engine must not be entered again.
class InsideProgress {
 public:
  InsideProgress();
  ~InsideProgress();
  InsideProgress(const InsideProgress&) = delete;
  InsideProgress& operator=(const InsideProgress&) = delete;
};
bool inside_progress();
/// Whether the host has completed the request, as far as can be told without entering its progress engine.
bool is_complete(MPI_Request request);

/// The mailbox must live as long as the port is used.
MessagePort message_port(Mailbox& mailbox);

}  // namespace omnes::interpose
