// Operations that are under way while the program does something else: nonblocking and persistent collectives.
//
// Overview. Each is a flight in a lane of its communicator. Whoever calls MPI lets all of them progress (see
// requests.cpp, and poke() in every wait). The program holds a request that is the host's own, a placeholder: a receive of
// no bytes from oneself, which ends when the operation does, as it then sends itself the message.
// The messages are saved where nobody needs them: by an operation that ends in its own call, and by those that the program
// waits for by functions that need no help of the host, which is told only when it has to know: of a persistent
// operation's start, of a nonblocking one's end. A placeholder whose end was not told serves the next operation.
//
// Why it is correct. One thread at a time is in the engine, and it never waits there; to let things progress it is
// entered by trying, as a thread that cannot loses nothing: another one is at work. What belongs to one communicator is only touched by the
// thread that is in a call on it, or in the engine.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "interpose/communicator/state.hpp"
#include "interpose/data/job.hpp"
#include "interpose/host/host.hpp"
#include "interpose/process/process.hpp"
#include "interpose/process/unattended.hpp"

namespace omnes::interpose {

namespace engine {

/// One operation; made by the call, which describes it as `job`.
struct Pending {
  Pending(std::shared_ptr<State> its_state, MPI_Comm its_comm) : state(std::move(its_state)), comm(its_comm) {}
  ~Pending();
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;

  std::shared_ptr<State> state;
  MPI_Comm comm;  ///< for errors
  Staging rooms[3];
  Job job{rooms};
  Operation operation{};  ///< that the program has called

  // The engine's.
  std::shared_ptr<Prepared> prepared;
  Flight flight;
  std::vector<std::size_t> all_counts;  ///< nonblocking, where its algorithm needs them
  Lane* lane = nullptr;
  State::Own* own = nullptr;  ///< persistent: what holds its lane
  MPI_Request request = {};
  int tag = -1;
  int code = 0;
  double started = 0;  ///< seconds, when statistics are kept
  bool under_way = false;

  bool told = false;               ///< the host knows: of this start, or it will of the end
  std::atomic<bool> over = false;  ///< it has ended; not if the host was told

  // Persistent ones.
  bool freed = false;               ///< its request is gone
  bool started_by_program = false;  ///< and the program has not completed it
};

/// Whether any of ours is.
inline bool busy() { return under_way.load(std::memory_order_relaxed) > 0; }

/// Starts what is described, and makes its request. Throws Failure.
void launch(std::unique_ptr<Pending> pending, MPI_Request& request);

/// Prepares what is described for starts to come; collective. Throws Failure.
void prepare(std::unique_ptr<Pending> pending, MPI_Request& request);
/// Starts a request that prepare() made; else false. Throws Failure.
bool start(MPI_Request request);
/// The operation that has been started with this request, if the host does not know; else null.
Pending* deferred(MPI_Request request);
/// The host has to know from now on: the request is active, and completes when the operation is over.
void tell(Pending& pending);
/// The program has completed one that is over: a nonblocking one is gone, and its request null. Returns its code.
int complete(Pending& pending, MPI_Request& request);
/// The program frees its request; the host still has to.
void forget(MPI_Request request);

/// Lets data move, as far as the caller may. Returns whether anything has moved. `visit`: nothing is left to a thread that
/// stands in; see visits().
bool advance(Unattended allowed = Unattended::everything, bool visit = true);
/// How often that was so: while the number stays the same, the program is away.
unsigned visits();
/// Lets data move, and ends what is complete. Returns whether something has ended.
bool progress();
/// Whether this is the request of an operation, which cannot be cancelled. Of a nonblocking one that has been started long ago it may not be known.
bool is_ours(MPI_Request request);
/// Whether this is the request of an operation under way. Of one that has been started long ago it may not be known.
bool pending(MPI_Request request);
/// Waits until it is not pending() any more; the host still has to complete the request.
void wait(MPI_Request request);
/// Waits until an operation that the host does not know of is over.
void wait(const Pending& pending);
/// A formation has begun: it goes on in advance().
void forms(const std::shared_ptr<State>& state);
/// It will never end.
void abandon(State& state);
/// Opens the lanes of a communicator if its ranks have met. Returns whether they are open. Throws Failure.
bool form(State& state);
/// In MPI_Finalize: until nothing is under way.
void drain();
/// After that; functions that delete attributes may still call MPI.
bool is_drained();

/// Whether some data are still to move.
bool moving();
/// The sleep word on which a thread can wait for what comes next; null when something may come by other ways.
shm::SleepWord* sleep_word();

/// How threads wait for several things at once.
const shm::WaitPolicy& waiting();

}  // namespace engine

/// Lets the host's progress engine run, and ours. (A probe would not do: hosts look for messages from oneself without
/// running it.)
void poke(void* context);
/// Whether this thread is in it: what the host calls then is not for a function of the host that waits.
bool poking();

}  // namespace omnes::interpose
