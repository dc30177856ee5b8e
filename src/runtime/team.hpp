// A team: the state of one communicator on one rank. Runs collectives; keeps what it needs for them.
//
// What runs depends on the operation, its form and what combines, and on the bytes of a part: for each of the former the
// team keeps the ranges of the latter for which one answer holds, found by bisection. A range has a plan, which is given
// the sizes of a call before it runs, unless it has them. So a call of new sizes asks nobody and allocates nothing.
// Operations under way need their sizes: such a range has as many plans as were under way at once.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/lane.hpp"
#include "runtime/plan.hpp"
#include "runtime/port.hpp"
#include "runtime/reduction.hpp"
#include "runtime/renumbered.hpp"
#include "schedule/placement.hpp"
#include "schedule/schedule.hpp"
#include "select/select.hpp"
#include "transport/shm/endpoint.hpp"
#include "transport/shm/waiting.hpp"

namespace omnes::model {
struct Machine;
}

namespace omnes::inline runtime {

/// One collective call, with bytes instead of datatypes. Data are contiguous: what is not, the caller packs.
struct Call {
  Operation operation = Operation::barrier;
  int root = 0;
  bool in_place = false;
  const void* send = nullptr;
  void* recv = nullptr;     ///< bcast: the buffer
  std::size_t count = 0;    ///< elements of one part; with unequal parts of this rank's own, where it has one
  std::size_t element = 1;  ///< bytes of an element; parts are cut between elements
  const Reduction* reduction = nullptr;
  /// Elements of each part of that buffer, for operations with unequal parts; else empty.
  std::span<const std::size_t> send_counts = {}, recv_counts = {};
  /// Elements before each of these parts, modulo 2^64; empty: they lie one behind the other. Ignored by what runs on such
  /// parts only: see Prepared::in_rows.
  std::span<const std::size_t> send_starts = {}, recv_starts = {};
  /// For algorithms that need all counts, and only in the second of their two stages: the elements that each rank sends
  /// to each, row by row.
  std::span<const std::size_t> all_counts = {};
  const Neighbors* neighbors = nullptr;  ///< for operations along a topology; outlives the team
};

/// The first of those stages: brings all counts of `call` to `all`, which has room for p * p.
inline Call exchange_of_counts(const Call& call, std::size_t* all) {
  const auto own = call.in_place ? call.recv_counts : call.send_counts;
  return {.operation = Operation::allgather,
          .send = own.data(),
          .recv = all,
          .count = own.size(),
          .element = sizeof(std::size_t)};
}

/// The three forms of MPI's collectives. They differ in who waits when; algorithms serve all of them.
enum class Form : std::uint8_t { blocking, nonblocking, persistent };
inline constexpr int form_count = 3;
std::string_view name(Form form);

struct TeamSetup {
  int p = 1;
  int rank = 0;
  /// For every rank the node it is on (any number, equal for ranks that share memory). Empty: all on one.
  std::vector<int> node;
  /// Where the ranks lie, for hierarchical algorithms and renumbering; equal on all ranks. Not given: what `node` says.
  std::optional<Placement> placement = {};
  bool shares_memory = true;  ///< the ranks of a node reach each other through shared memory
  shm::WaitPolicy waiting;
  bool own_cpus = true;                ///< none of them shares a CPU with another rank
  bool host = false;                   ///< there is a host to which blocking calls may be left
  const Selector* selector = nullptr;  ///< must outlive the team
  /// For choices that are left to the model, and for renumbering; equal on all ranks. Null: the default.
  std::shared_ptr<const model::Machine> machine = {};
};

/// What ran, for statistics: one entry for each distinct (operation, form, root, bytes rounded down to a power of two,
/// algorithm).
struct Ran {
  Operation operation;
  Form form;
  int root;               ///< 0 where there is none
  std::size_t bytes;      ///< of one part, rounded down to a power of two; 0 stays 0
  std::string algorithm;  ///< with parameters, as OMNES_... takes it, and how it is renumbered
  std::uint64_t calls = 0;
  std::uint64_t volume = 0;  ///< exact bytes of a part, summed over the calls; of unequal parts this rank's average
  double seconds = 0;        ///< from start to end
  double fastest = 0;        ///< of these calls
  std::string advice = {};   ///< the model's reason, where it has chosen
};

/// What is decided and made once for all calls that are alike but for their sizes, and the sizes of the last of them.
/// Aligned, so that its first cache line has all that a run needs of it.
struct alignas(64) Prepared {
  Plan plan;

  // Of the last sizes:
  std::size_t count = 0, element = 0;
  std::size_t bytes = 0;      ///< of a part; of unequal ones their average, where it is known
  std::size_t own_bytes = 0;  ///< the same as this rank alone sees it

  bool needs_all_counts = false;  ///< `plan` is that of their exchange only; then comes Team::second_stage()
  Plan second;                    ///< which has this one
  bool in_rows = false;           ///< unequal parts have to lie one behind the other
  Choice choice;
  Renumbered renumbered;
  std::string algorithm;  ///< with parameters, as OMNES_<OPERATION> takes it, and how it is renumbered
  std::string why;
  std::string advice;  ///< the model's, where it has chosen

  ByteRange sizes;  ///< of a part, for which all of this holds

  /// Calls whose parts have as many bytes, rounded down to a power of two.
  struct Counted {
    std::size_t bytes = 0;
    std::uint64_t calls = 0, volume = 0;
    double seconds = 0;
    double fastest = std::numeric_limits<double>::infinity();
  };
  std::vector<Counted> counted;
  /// Gives a plan that has multiples equal parts of other sizes, which are in range.
  void size_whole(std::size_t elements, std::size_t element_bytes) {
    resize_whole(plan, elements, element_bytes);
    ++plan.sizing;
    count = elements;
    element = element_bytes;
    bytes = own_bytes = elements * element_bytes;
  }
  /// Counts a call of the last sizes.
  void add(std::chrono::duration<double> time);
};

/// Where a call's data lie. Schedules are proved never to write `send`.
inline Bases bases_of(const Call& call) {
  return {{static_cast<std::byte*>(const_cast<void*>(call.send)), static_cast<std::byte*>(call.recv), nullptr}};
}

/// Aligned, so that its first two cache lines have all that a run needs that ends in order.
class alignas(64) Team {
 public:
  explicit Team(TeamSetup setup);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int p() const;
  int rank() const;
  int nodes() const;  ///< on which its ranks lie
  /// The lane of blocking calls: opened before the first run(). `endpoint` has the ranks on this rank's node, in rank
  /// order; null when they do not share memory. The port's isend may be null when shared memory reaches everybody.
  Lane& lane() { return lane_; }
  /// Runs the call, which is not left to the host, to its end. Returns what Lane::run does.
  int run(const Call& call) { return run(prepare(call, Form::blocking), call); }
  /// The same, with what prepare() returned for the call, wherever its data are by now.
  int run(const std::shared_ptr<Prepared>& prepared, const Call& call);
  /// Runs once more, to its end and perhaps with other buffers, what run() has run, in one stage.
  int run_again(Prepared& prepared, const Bases& bases, const Reduction* reduction) {
    if (counting_) [[unlikely]]
      return run_counted(prepared, bases, reduction);
    return lane_.run_again(prepared.plan, bases, reduction, waiting_);
  }
  /// Runs what was prepared, in one stage, and resized since.
  int run_resized(Prepared& prepared, const Bases& bases, const Reduction* reduction) {
    if (counting_) [[unlikely]]
      return run_counted(prepared, bases, reduction);
    return lane_.run(prepared.plan, bases, reduction, waiting_);
  }
  /// What run() would run, also for a lane's queue; or, of a blocking call, that it is left to the host, which the caller
  /// has to see to. Wherever the data are. Not while another thread is in run() or here. It keeps its sizes until the next
  /// question, or, of another form than the blocking one, until nobody else holds it.
  const std::shared_ptr<Prepared>& prepare(const Call& call, Form form);
  /// The operation itself, where all counts had to be exchanged first: `call` has them now.
  static std::shared_ptr<const Plan> second_stage(const std::shared_ptr<Prepared>& first, const Call& call);
  const shm::WaitPolicy& waiting() const { return waiting_; }
  /// How ranks wait on the lane, once it is open.
  void wait_so(const shm::WaitPolicy& policy) { waiting_ = policy; }
  /// From now on `choice` runs for this operation, in all forms, wherever it can; none: what the selector says.
  void force(Operation operation, std::optional<Choice> choice);
  /// What the last call ran, as OMNES_<OPERATION> takes it, and why; for explaining.
  std::string last_choice() const;
  /// Counts calls and their time from now on.
  void keep_statistics() { counting_ = true; }
  std::vector<Ran> statistics() const;

 private:
  int run_in_stages(Prepared& first, Call call);
  // By value: a reference would keep run_again() from having the bases in registers.
  int run_counted(Prepared& prepared, Bases bases, const Reduction* reduction);

  // What every run needs.
  bool counting_ = false;
  Lane lane_;
  shm::WaitPolicy waiting_;
  // What finds out what to run.
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace omnes::inline runtime
