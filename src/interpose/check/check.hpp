// OMNES_CHECK: whether the ranks of a program make the same collective calls, as MPI demands, and leave buffers alone that are in use.
//
// Overview. Each call is a notice in memory that the ranks of a node share (board.hpp); a rank compares its own with those of ranks that
// have come before. Ranks that disagree are named, and the job ends. A blocking call that repeats an earlier one is not described anew (Again):
// its rank does not wait for its notice to get out either, and compares after the operation, while it waits in it for long, and before any error is
// raised; what has not been posted by then is compared in the next call. A thread looks, now and then, whether this rank has waited for long for
// ranks that have not come (watch.cpp). Buffers of operations under way are compared with what they were (buffers.cpp), and, where
// that is asked for, results with those of the host (results.cpp).
// Why it does not wait, and cannot hang: see board.hpp. Compared are notices of one communicator and one number; who the communicator is
// follows from how it was made (Origin::check), and the number is that of the rank's calls on it, in order, as MPI demands it.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "interpose/check/call.hpp"
#include "interpose/check/names.hpp"
#include "interpose/communicator/repeats.hpp"
#include "interpose/process/process.hpp"

namespace omnes::interpose::check {

/// Where data lie, as bytes from where their buffer begins; equal: nowhere.
struct Reach {
  std::intptr_t from = 0, to = 0;
};

/// What a blocking call came to, beside what Repeats keep of it: equal arguments say the same to other ranks.
struct Kept {
  std::array<std::uint64_t, Repeats::max_words> word{};
  const Generation* watched = nullptr;
  std::uint64_t generation = Repeats::nothing_kept;
  Notice notice;
  std::uint64_t digest = 0;
  bool others_look = false;  ///< those that get this rank's data compare all that there is to compare
  Reach sent, received;      ///< where both are, and must not overlap
};

/// A communicator, as its rank knows it.
struct Watched : std::enable_shared_from_this<Watched> {
  Watched(std::uint64_t id, std::vector<int> ranks, int rank, int first_group, std::string name);
  ~Watched();
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  std::uint64_t id;
  std::vector<int> ranks;  ///< in MPI_COMM_WORLD
  int rank;
  int first_group;                      ///< see Members
  int ring;                             ///< this rank's; -1: not checked
  std::vector<std::atomic<int>> hints;  ///< where the others' rings were; also the thread's that watches
  std::uint64_t calls = 0;              ///< that were posted
  std::string name;                     ///< for messages
  std::atomic<std::uint64_t> told = 0;  ///< the last call for which ranks were missing
  std::vector<Kept> kept;               ///< beside each of the Repeats; empty: nothing yet

  /// A member on this node with which this rank compares its calls: the first one there, which compares with all others.
  struct Peer {
    int member;
    std::uint64_t compared = 0;        ///< all calls up to this one have been, or are too old for that
    const Digests* digests = nullptr;  ///< where they were last
  };
  std::vector<Peer> peers;

  /// Posts a call of this rank.
  void post(const Notice& notice, std::uint64_t digest, bool fence);
  /// Compares this rank's calls with those that others have posted by now, and were not compared before. Does not return where ranks disagree.
  void compare();
  /// What a rank of the communicator says of that call; none: it has not said anything, or not any more.
  std::optional<Notice> notice_of(int member, std::uint64_t number);
  /// Whether the member's call of that number has been posted; true where that cannot be seen.
  bool has_come(int member, std::uint64_t number);
  /// The communicator is revoked, or ranks of it have failed. From then on its ranks need not make the same calls on it any more, and each
  /// hears of it at another call: nothing is posted or compared any more, also by those who have not heard of it.
  void give_up();
  bool has_given_up() const { return given_up_.load(std::memory_order_relaxed); }
  /// Whether ranks may disagree, as one has given up, or does so within a short while. Before anything is said.
  bool may_disagree();

 private:
  int ring_of(int member);
  /// False: it has not come.
  bool compare_closely(Peer& peer, std::uint64_t number);

  std::atomic<bool> given_up_ = false;  ///< also the thread's that watches
};

struct Buffers;  // buffers.hpp

/// While there is one, the rank is in that function.
class Inside {
 public:
  explicit Inside(Function function) {
    if (checking()) [[unlikely]]
      enter(number_of(function));
  }
  explicit Inside(std::uint8_t function) { enter(function); }
  ~Inside() {
    if (entered_) [[unlikely]]
      leave();
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  void enter(std::uint8_t function);
  void leave();
  bool entered_ = false;
  std::uint64_t before_ = 0;
  std::int64_t since_ = 0;
};

/// One call of a collective operation, or of another that all members of a communicator make.
class Entry {
 public:
  Entry(State& state, MPI_Comm comm, std::uint8_t function, Form form, const void* caller);
  ~Entry();
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

  Call call;
  /// What `call` says is posted, and compared. Does not return where ranks disagree. `ends`: so does all on the communicator, see
  /// Watched::give_up().
  void post(bool ends);
  /// omnes serves it, and its arguments are right. Where results are compared, the host makes it, too.
  void accepted();
  /// It has been served: by omnes, or, when it has a request, will be.
  void served(const MPI_Request* request);
  /// It has failed, perhaps because ranks disagree: then this does not return.
  void failed(bool ends);

 private:
  void compare_parts(const Notice& mine, const std::vector<Part>& parts);
  /// What this rank sends to itself is what it receives from itself.
  void compare_own_part();
  bool has_twin() const;

  State& state_;
  MPI_Comm comm_;
  Form form_;
  std::uint8_t function_;
  std::uint64_t site_;
  std::uint64_t number_ = 0;
  Watched* watched_;  ///< the state's
  std::shared_ptr<Buffers> buffers_;
  bool kept_ = false;  ///< the buffers, until its request is completed
  Inside inside_;
};

/// One that repeats what is kept: posted until this goes.
class Again {
 public:
  Again(Watched& watched, Kept& kept, const void* caller);
  ~Again();
  /// After the operation.
  void ended();
  Again(const Again&) = delete;
  Again& operator=(const Again&) = delete;

 private:
  Watched& watched_;
  bool others_look_;
  Inside inside_;
};

/// Requests that a call may complete: buffers of those of ours among them are looked at when the call says which it has completed.
class Completions {
 public:
  Completions(int count, const MPI_Request* requests) {
    if (checking()) [[unlikely]]
      look(count, requests);
  }
  ~Completions();
  Completions(const Completions&) = delete;
  Completions& operator=(const Completions&) = delete;
  void all();
  void some(int count, const int* indices);
  /// The call has failed, which it says of some: those that are gone have ended, with whatever result.
  void failed();

 private:
  struct Of {
    int index;
    MPI_Request request;
    std::shared_ptr<Buffers> buffers;
  };
  void look(int count, const MPI_Request* requests);
  const MPI_Request* requests_ = nullptr;
  std::vector<Of> ours_;
};

/// Collective over MPI_COMM_WORLD, after the ranks have met.
void begin();
/// Before the host's MPI_Finalize.
void end();
/// Whether all that others have to know of the call follows from its arguments.
bool keep(Kept& kept, const State& state, Operation operation, const Call& call, const void* send, const void* recv);
bool may_overlap(const Kept& kept, const void* send, const void* recv);
/// What is kept of a call with arguments of which `repeat` is kept, and which begins at these addresses; null: nothing, or a closer look is needed.
template <class Describe>
Kept* find_kept(State& state, const Repeats::Repeat& repeat, const AnyGiven& given, Describe describe) {
  auto* const watched = static_cast<Watched*>(state.check.get());
  if (!watched || watched->ring < 0) return nullptr;
  if (watched->kept.empty()) watched->kept.resize(Repeats::places);
  Kept& kept = watched->kept[state.repeats.place_of(repeat)];
  const bool known = kept.watched == repeat.watched && kept.generation == repeat.generation &&
                     std::equal(given.word.begin(), given.word.end(), kept.word.begin());
  if (!known) {
    Call call;
    describe(call);
    kept.generation = Repeats::nothing_kept;
    if (!keep(kept, state, given.operation(), call, given.send, given.recv)) return nullptr;
    std::copy(given.word.begin(), given.word.end(), kept.word.begin());
    kept.watched = repeat.watched;
    kept.generation = repeat.generation;
  }
  return may_overlap(kept, given.send, given.recv) ? nullptr : &kept;
}
/// While this thread waits in a call.
void look_again();

/// This thread's call runs by that algorithm.
void ran(const std::string& algorithm);
/// A persistent operation is started.
void started(MPI_Request request);
/// The program revokes a communicator.
void revoked(MPI_Comm comm);
/// The program has been told that the operation is complete, and still has its request.
void told_complete(MPI_Request request);
/// Before a communicator is freed. Waits for what the host makes on it, unless that is MPICH: Open MPI cannot free it while a nonblocking
/// operation of its own is under way there.
void freed(MPI_Comm comm);
/// The program frees a request.
void released(MPI_Request request);
/// Another function that all members of a communicator call, in order.
void joined(Function function, State& state, MPI_Comm comm, const void* caller, bool ends);

}  // namespace omnes::interpose::check
