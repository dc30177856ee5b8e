// What communicators of the same members have in common: who the members are, and what earlier ones of them have left
// for later ones.
//
// A new communicator starts with the state of one that is gone: its plans are made, and the calls that it has repeated are
// known. On one node it also gets lanes whose memory is warm. Which lanes, the first member decides; it may take those that
// every member has let go (see agreement in formation.cpp). Queues go on where they stopped: nothing is initialised anew.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "interpose/communicator/origins.hpp"
#include "interpose/communicator/state.hpp"

namespace omnes::interpose {

struct Membership {
  Members members;
  TeamSetup setup;  ///< of their teams

  std::mutex mutex;                            ///< guards what follows
  std::vector<std::unique_ptr<State>> states;  ///< without lanes; the last one is the warmest
  std::deque<std::unique_ptr<Lanes>> idle;     ///< let go by this rank, oldest first
};

/// The one of the members of this communicator, found out by asking the host; `p` as of size_of(); `met`: where they have met, if they
/// are of several MPI_COMM_WORLDs. Null where they can have no team: `passed` says why; alike on all ranks. Local. Throws Failure.
std::shared_ptr<Membership> ask_for_members(MPI_Comm comm, int p, const World* met, const char*& passed);
/// The one of the kin's members, found by whoever was asked first; null: nobody was.
std::shared_ptr<Membership> membership_of(const Kin& kin);
void keep_membership(const std::shared_ptr<Membership>& membership, Kin& kin);

/// Keeps a world until nothing needs it: origins, and states; its memberships go with it.
std::shared_ptr<const World> kept(std::unique_ptr<World> world);

/// A state for a communicator of these members, perhaps with plans and known calls.
std::shared_ptr<State> state_for(std::shared_ptr<Membership> membership);
/// Of the first member: lanes that all have let go; null: there are none.
std::unique_ptr<Lanes> lanes_all_let_go(Membership& membership);
/// Of the others: those lanes; null: they are new.
std::unique_ptr<Lanes> lanes_let_go(Membership& membership, std::uint64_t nonce);
/// A communicator has come to its end, and so has what was under way on it: keeps what later ones can use.
void inherit(std::unique_ptr<State> state);

}  // namespace omnes::interpose
