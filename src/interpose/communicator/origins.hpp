// Where communicators come from: what all their members know of them alike, without asking each other.
//
// How: the functions that make one out of another, and that all members of the parent call in the same order, are ours
// (makers.cpp). Each gives its result an identity that follows from the parent's and from the number of such calls on it.
// As such communicators are also freed by functions that are ours, their state is kept here.
#pragma once

#include <cstdint>
#include <memory>

#include "interpose/host/host.hpp"

namespace omnes::interpose {

struct Membership;  // membership.hpp
struct State;       // state.hpp
struct World;       // process/world.hpp

/// Communicators that are known to have the same members in the same order; by whoever has found them, see membership.cpp.
struct Kin {
  std::shared_ptr<Membership> membership;
};

struct Origin {
  /// Equal on all members, and of no other communicator that any two of them share; 0: nobody knows.
  std::uint64_t id = 0;
  /// The same, but known of more communicators: for what only compares calls (OMNES_CHECK).
  std::uint64_t check = 0;
  /// Of a session, perhaps with ranks that have not called MPI_Init.
  bool of_session = false;
  /// Its members, if they are of several MPI_COMM_WORLDs and have met. Of an intercommunicator: that of the one which members
  /// of both groups get out of it.
  std::shared_ptr<const World> met = {};
  std::shared_ptr<Kin> kin = {};
  std::uint64_t number = 0;           ///< of the call on its parent, see there `made`; 0: it was not counted
  std::uint64_t made = 0;             ///< calls that all members make in order, and that have made others out of it
  std::uint64_t duplicated = 0;       ///< by calls that do not wait
  std::shared_ptr<State> state = {};  ///< where has_state(), once there is one

  /// Else its state, if it has one, is found by an attribute of the host.
  bool has_state() const { return id != 0; }
};

/// For identities: a bijection of 64-bit words that leaves no pattern (the finaliser of splitmix64).
inline std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

#ifdef OMNES_ABI_SMPI
inline Origin origin_of(MPI_Comm) { return {}; }
inline Origin take_origin(MPI_Comm) { return {}; }
inline Origin keep_origin(MPI_Comm, Origin) { return {}; }
inline void keep_state(MPI_Comm, std::shared_ptr<State>) {}
#else
Origin origin_of(MPI_Comm comm);
/// Before the communicator is freed: nothing is known of it any more.
Origin take_origin(MPI_Comm comm);
#ifdef OMNES_COMPONENT
inline Origin keep_origin(MPI_Comm, Origin) { return {}; }  // as freeing one does not fail
#else
/// Returns what was known of it until now.
Origin keep_origin(MPI_Comm comm, Origin origin);
#endif
/// Of one whose origin has_state().
void keep_state(MPI_Comm comm, std::shared_ptr<State> state);

/// Whether all members of the parent are in it, in their order; others: some of them, of an intercommunicator's `both` groups;
/// strangers: perhaps others, too.
enum class MadeOf { same, others, both, strangers };
/// What the next communicator made out of `parent` is; `ordered`: all members of the parent make such ones, one after the
/// other.
Origin child_of(MPI_Comm parent, MadeOf members, bool ordered);
/// It was not made: the host has refused, perhaps on this rank alone. The next one has its number.
void not_made(MPI_Comm parent, const Origin& child);
/// Of an intercommunicator whose groups have met.
Origin origin_between(std::shared_ptr<const World> met);
/// Keeps it, if `made` is where the communicator is that was made.
void keep_made(Origin&& origin, const void* made);
#endif

}  // namespace omnes::interpose
