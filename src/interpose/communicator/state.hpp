// The state of one communicator: its team, made at the first collective on it and freed with it.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "interpose/communicator/counts.hpp"
#include "interpose/communicator/lanes.hpp"
#include "interpose/communicator/members.hpp"
#include "interpose/communicator/repeats.hpp"
#include "interpose/data/neighbors.hpp"
#include "interpose/data/staging.hpp"
#include "interpose/host/handle_cache.hpp"
#include "interpose/host/host.hpp"
#include "runtime/team.hpp"

namespace omnes::interpose {

struct Membership;  // membership.hpp

/// Made by state_of(), or taken over from a communicator that is gone (membership.hpp).
struct State : Members, std::enable_shared_from_this<State> {
  State();
  ~State();
  /// As of a communicator on which nothing has run. What lanes it has stay open.
  void begin_anew();
  /// From here on it is kept by who uses it; at last it goes to inherit() (membership.hpp).
  static std::shared_ptr<State> shared(std::unique_ptr<State> state);
  std::shared_ptr<State> held;       ///< by the communicator's attribute, where it is not kept with its origin
  std::shared_ptr<const World> met;  ///< keeps its world, unless that is there to stay
  std::shared_ptr<Membership> membership;
  const char* passed = nullptr;  ///< why there is no team
  Staging staging[3];            ///< of blocking calls
  // What one needs that repeats is in one cache line, with the end of `repeats`.
  [[no_unique_address]] Repeats repeats;  ///< of them
  std::unique_ptr<Team> team;             ///< null: the host serves this communicator
  counts::Each served{};                  ///< blocking ones
  std::unique_ptr<Edges> edges;           ///< of its topology; looked up when first needed, by edges_on()
  /// Null: the communicator has no topology. Throws Failure.
  const Edges* edges_on(MPI_Comm comm) {
    if (!edges) edges = edges_of(comm, rank);
    return edges.get();
  }

  std::map<int, Neighbors> neighbors_between;  ///< of an intercommunicator: see describe/between.cpp

  std::uint64_t check_id = 0;   ///< see Origin::check
  std::shared_ptr<void> check;  ///< what OMNES_CHECK knows of the communicator

  bool own_choices = false;  ///< the program has forced some, for this communicator
  /// From now on this runs, wherever it can; none: what the selector says. Not while the communicator is in a call.
  void force(Operation operation, std::optional<Choice> choice);

  // Where operations run, from the first one on.
  std::uint64_t id = 0;  ///< of the communicator, see origins.hpp; by it lanes are agreed on in shared memory; 0: none
  std::atomic<bool> unclean = false;     ///< an operation has failed: nobody shall use the lanes after it
  std::uint8_t calls_before = 0;         ///< which were left to the host, see too_new()
  bool begun = false;                    ///< the exchange; by the program's calls on the communicator, one at a time
  std::unique_ptr<Formation> formation;  ///< it, while it is under way: the engine's
  std::atomic<bool> formed = false;      ///< the lane of blocking calls is open, others may be opened
  std::atomic<int> broken = 0;           ///< the code of what went wrong: no operation is begun any more
  bool taking_part = false;              ///< the program's call has left the description of what it wants behind
  /// A call has failed that takes part in an operation: what follows would find messages of it, or others wait for it.
  void break_off();
  std::atomic<bool> detached = false;  ///< the communicator is gone
  Lane nonblocking[1 + short_lanes];   ///< the latter for short operations, in turn
  unsigned short_begun = 0;            ///< such operations; alike on all ranks
  std::unique_ptr<Lanes> lanes;        ///< of blocking and of nonblocking calls
  /// Those of persistent operations: each has its own.
  struct Own {
    Lane lane;
    std::atomic<bool> released = false;  ///< by the operation that had it, on this rank
  };
  std::deque<Own> own;
  std::vector<std::unique_ptr<Lanes>> own_lanes;
  std::deque<int> free;  ///< indices into `own`; alike on all ranks
};

struct Found {
  State* state = nullptr;        ///< with a team, held by the communicator; null: call the host
  const char* reason = nullptr;  ///< why
};

/// The state of the communicator, for a call in that form; made if there is none. Nothing is communicated. Throws Failure.
Found state_of(MPI_Comm comm, Form form);
#ifdef OMNES_COMPONENT
/// Our module of the communicator (host/module.h), which the host hands over.
struct StateCache {
  void put(MPI_Comm comm, State* state, std::uint64_t generation);
  static std::uint64_t generation(MPI_Comm) { return 0; }  // nobody frees a communicator while it is in a call
  static void forget(MPI_Comm comm);
  static void forget_all();
};
inline StateCache state_cache;
#else
using StateCache = HandleCache<MPI_Comm, State, 512>;
extern OMNES_FAST_THREAD_LOCAL StateCache state_cache;

/// The communicator's state if this thread knows it and its lanes are open, else null. This is the fast path.
inline State* known_state(MPI_Comm comm) { return state_cache.find(comm); }
#endif

/// Its state, if it has one. Throws Failure.
State* state_kept_with(MPI_Comm comm);

/// Calls `free`, by which the host frees the communicator, and lets its state go unless that fails. Returns its code.
int free_communicator(MPI_Comm comm, const std::function<int()>& free);

/// Makes what state_of needs; once, after the host is initialised. Returns the host's error code.
int prepare_states();

/// After MPI_Finalize nothing may be found any more.
void forget_states();

}  // namespace omnes::interpose
