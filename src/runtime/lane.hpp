// A lane: queues of its own between the ranks of a team, on which operations run one after the other.
//
// Why. Channels are first-in-first-out and their messages do not say which operation they belong to. On one lane all
// ranks run the same operations in the same order, so messages cannot be mistaken; operations of different lanes may
// overtake each other.
// A lane may get operations before it is open, while its ranks still find each other: they wait in the queue.
#pragma once

#include <cstddef>
#include <memory>

#include "base/assert.hpp"
#include "runtime/executor.hpp"
#include "runtime/port.hpp"
#include "transport/shm/endpoint.hpp"

namespace omnes::inline runtime {

/// Temporary memory for one operation at a time, aligned to cache lines.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();
  /// From now on memory that peers would rather map comes from there; null: none.
  void take_from(shm::Heap* heap);
  /// Throws std::bad_alloc.
  void have_room(std::size_t bytes) {
    if (bytes > bytes_) [[unlikely]]
      grow(bytes);
  }
  std::byte* data() const { return data_; }
  /// What it has got stays for good, wherever the arena goes.
  void leave();

 private:
  void grow(std::size_t bytes);
  void give_back();
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  shm::Heap* heap_ = nullptr;
};

/// An operation in a lane's queue. The lane sets the address of the temporary buffer.
/// One that has to learn something from the other ranks first runs in two stages, each with a plan and data of its own.
struct Flight {
  Flight* behind = nullptr;  ///< in the lane's queue; the lane's
  std::shared_ptr<const Plan> plan;
  Bases bases{};
  ScatteredBuffers scattered{};
  const Reduction* reduction = nullptr;
  bool calls_host = false;     ///< it sends messages through the port, or combines by a function of the host
  bool calls_program = false;  ///< it combines by a function of the program
  void* context = nullptr;
  /// Called once, by advance(), when the first of two stages has succeeded: sets plan, bases and calls_host for the
  /// second. Null: there is but one.
  void (*go_on)(void* context) = nullptr;
  /// Called once, by advance(), with what Lane::run would have returned; the flight is out of the queue then.
  void (*ended)(void* context, int code) = nullptr;
};

class Lane {
 public:
  /// `endpoint`: null when all messages go through the port.
  void open(std::unique_ptr<shm::Endpoint> endpoint, const MessagePort& port);
  /// Nothing is in the queue. Returns the endpoint, for a later lane; null where there is none.
  std::unique_ptr<shm::Endpoint> close();
  bool is_open() const { return open_; }
  shm::Endpoint* endpoint() const { return endpoint_.get(); }

  /// Runs to the end. Returns 0, the host's error code, or `truncated` when ranks disagree about a message's length.
  /// The lane is open and its queue empty.
  int run(const Plan& plan, const Bases& bases, const Reduction* reduction, const shm::WaitPolicy& policy) {
    have_room(plan);
    return run_again(plan, bases, reduction, policy);
  }
  /// The same for a plan that it has run before: what a plan needs, the lane keeps. Of one that has got other sizes since it
  /// has to hear first.
  int run_again(const Plan& plan, const Bases& bases, const Reduction* reduction, const shm::WaitPolicy& policy) {
    OMNES_ASSERT(is_open() && first_ == nullptr);
    return result_of(executor_.run(plan, with_arena(bases), reduction, policy));
  }
  /// As run(), on buffers of which some are scattered.
  int run_scattered(const Plan& plan, const Bases& bases, const ScatteredBuffers& buffers,
                    const shm::WaitPolicy& policy) {
    executor_.scatter(buffers);
    const int code = run(plan, bases, nullptr, policy);
    executor_.scatter({});
    return code;
  }
  /// See Executor.
  void time_waits() { executor_.time_waits(); }
  void have_room(const Plan& plan) {
    have_room_for_data(plan);
    executor_.have_room(plan.steps.size());
  }
  void have_room_for_data(const Plan& plan) { arena_.have_room(plan.arena_bytes); }
  static constexpr int truncated = -1;

  /// The flight stays where it is until it has ended.
  void enqueue(Flight& flight) {
    OMNES_ASSERT(flight.plan != nullptr && flight.ended != nullptr);
    flight.behind = nullptr;
    (first_ == nullptr ? first_ : last_->behind) = &flight;
    last_ = &flight;
  }
  /// The one that runs, or will next; null when none is left.
  const Flight* front() const { return first_; }
  /// Does what can be done without waiting, and, unless they may be called, without the host or the program. Returns
  /// whether anything has moved.
  bool advance(bool may_call_host = true, bool may_call_program = true);
  /// Ends all that is in the queue so.
  void fail(int code);
  /// Something has failed whose messages the host may still send, from wherever they lie.
  bool sends_left() const { return sends_left_; }

 private:
  Bases with_arena(Bases bases) const {
    bases.of[static_cast<int>(Buffer::temp)] = arena_.data();
    return bases;
  }
  int result_of(int code) {
    if (endpoint_ && endpoint_->left_something()) [[unlikely]]
      return see_to_endpoint(code);
    return code;
  }
  int see_to_endpoint(int code);
  void abandon();
  Flight& take_first();

  // What every run needs comes first, up to the first members of the executor.
  Arena arena_;
  std::unique_ptr<shm::Endpoint> endpoint_;
  Executor executor_;                          // its memory stays when the lane is closed and opened again
  Flight *first_ = nullptr, *last_ = nullptr;  // of the queue; the last one, if there is a first
  bool open_ = false;
  bool begun_ = false;  // the front
  bool sends_left_ = false;
};

}  // namespace omnes::inline runtime
