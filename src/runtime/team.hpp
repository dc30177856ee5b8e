// A team: the state of one communicator on one rank. Runs collectives; keeps what it needs for them.
//
// What runs depends on the operation, its form and what combines, and on the bytes of a part: for each of the former the
// team keeps the ranges of the latter for which one answer holds, found by bisection. A range has a plan, which is given
// the sizes of a call before it runs, unless it has them. So a call of new sizes asks nobody and allocates nothing.
// Operations under way need their sizes: such a range has as many plans as were under way at once.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/call.hpp"
#include "runtime/chooser.hpp"
#include "runtime/lane.hpp"
#include "runtime/prepared.hpp"
#include "runtime/sample.hpp"
#include "runtime/statistics.hpp"

namespace omnes::inline runtime {

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
    if (counting_ && !prepared.quick.take()) [[unlikely]]
      return run_counted(prepared, bases, reduction);
    return lane_.run_again(prepared.plan, bases, reduction, waiting_);
  }
  /// For what run() has run and what has been given other sizes since, before run_again(). Throws std::bad_alloc.
  void have_room(const Prepared& prepared) { lane_.have_room_for_data(prepared.plan); }
  bool keeps_statistics() const { return counting_; }
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
  /// What is forced, and what has been chosen until then: as OMNES_<OPERATION> takes it; of several by bytes of a part, such as
  /// "knomial:k=4 0-2047; ring 64K-". Empty: nothing. Also while another thread is in a call.
  std::string forced(Operation operation) const;
  std::string chosen(Operation operation) const;
  /// Counts calls and times a sample of them from now on; of each kind it keeps when at most so many were.
  void keep_statistics(std::size_t max_timed);
  /// Of its blocking calls.
  Samples& samples() const;
  std::vector<Ran> statistics() const;

 private:
  int run_scattered(Prepared& prepared, const Call& call);
  int run_in_stages(Prepared& first, Call call);
  int run_two_stages(Prepared& first, Call call);
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
