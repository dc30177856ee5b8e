// Runs a plan: starts every step whose releases have come, and pokes the unfinished ones until none is left. Either to the end (run), or as
// far as it goes at the moment (begin, then advance until finished).
//
// How: first straight down the list, as long as each step ends at once or after a few polls: no bookkeeping, which is all that a small message
// needs. (A plan that copies beside long messages begins with the second way.) Ranks that share CPUs go on so, yielding between two looks, once
// nothing but short receives is left. From the first step on that takes longer or is a message of the host, in any order that the releases
// allow, receives from the host first: `active` holds the steps that may move, oldest first; a pass tries each once; those that end release
// others, which join the same pass; a pass in which nothing moves is a wait (shm::Waiter).
// Why it is correct: dependencies point backwards, so list order satisfies them. But waiting in list order alone could deadlock (a later send may be
// what others wait for), hence the bounds.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/assert.hpp"
#include "runtime/plan.hpp"
#include "runtime/port.hpp"
#include "runtime/reduction.hpp"
#include "runtime/scattered.hpp"
#include "transport/shm/endpoint.hpp"
#include "transport/shm/waiting.hpp"

namespace omnes::inline runtime {

/// The start addresses of send, recv and temp (the arena), indexed by Buffer. `send` is only read.
struct Bases {
  std::byte* of[3];
  std::byte* operator[](const Region& region) const { return of[static_cast<int>(region.buffer)] + region.offset; }
};

class Executor {
 public:
  /// Through what the plans that follow run. None is under way.
  void use(shm::Endpoint* endpoint, const MessagePort& port) {
    OMNES_ASSERT(finished());
    endpoint_ = endpoint;
    port_ = port;
    buffers_matter_from_ = endpoint != nullptr ? endpoint->buffers_matter_from() : SIZE_MAX;
    scatter({});
  }

  /// From now on plans are told how long they have waited.
  void time_waits() { times_waits_ = true; }
  /// For plans of so many steps. Before they are run; it stays.
  void have_room(std::size_t steps) {
    if (room_ < steps) [[unlikely]]
      make_room(steps);
  }
  /// Runs to the end. Returns 0 or the port's error code.
  int run(const Plan& plan, const Bases& bases, const Reduction* reduction, const shm::WaitPolicy& policy) {
    take(plan, bases, reduction);
    return run_to_end(policy);
  }

  /// Starts a plan and does what can be done without waiting. Plan and reduction must stay until it is finished.
  void begin(const Plan& plan, const Bases& bases, const Reduction* reduction);
  /// For the next plan, and until it is told anew: these buffers have no address.
  void scatter(const ScatteredBuffers& buffers) {
    scattered_ = buffers;
    is_scattered_ = buffers.any();
    look_first_from_ = is_scattered_ ? 0 : buffers_matter_from_;
  }
  /// Tries every step that may move once. Returns whether any has.
  bool advance();
  /// Every step is done, or one has failed.
  bool finished() const { return active_.empty() || error_ != 0; }
  int error() const { return error_; }
  /// What is under way shall not go on: nothing is received any more. Returns whether nothing is sent any more, either.
  bool abandon();

 private:
  enum class Outcome { busy, started, done };

  struct alignas(64) Moving {  // what a step in flight needs to remember
    shm::Transfer transfer;
    PortRequest request;
    bool started = false;
  };

  void take(const Plan& plan, const Bases& bases, const Reduction* reduction) {
    plan_ = &plan;
    bases_ = bases;
    reduction_ = reduction;
    error_ = 0;
    copies_left_ = plan.copies_beside;
    look_from_ = look_first_from_;
    buffers_told_ = false;
  }
  void make_room(std::size_t steps);
  int run_to_end(const shm::WaitPolicy& policy);
  void wait_to_end(std::size_t done, shm::Waiter& waiter, bool oversubscribed);
  std::size_t run_in_order(std::size_t first, bool tried, const shm::WaitPolicy* policy);
  std::size_t wait_in_order(std::size_t done, shm::Waiter& waiter);
  void go_on_in_any_order(std::size_t tried);
  Outcome move(const Step& step, Moving& moving);
  Outcome send(const Step& step, Moving& moving);
  Outcome receive(const Step& step, Moving& moving);
  const Scattered* look_at(const Region& region);
  Outcome send_scattered(const Step& step, const Scattered& from, Moving& moving);
  Outcome receive_scattered(const Step& step, const Scattered& into, Moving& moving);
  void copy_scattered(const Step& step);
  void tell_buffers();
  struct Span {  // of a buffer
    std::size_t begin, end;
  };
  struct InMessages {  // what of a buffer a plan moves in memory that ranks share
    Span all{SIZE_MAX, 0};
    std::size_t longest = 0;  // message
    bool combined = false, sent = false;
    std::vector<Span> parts;  // where something else may lie between them

    void clear() {
      all = {SIZE_MAX, 0};
      longest = 0;
      combined = sent = false;
      parts.clear();
    }
    void add(const Span& part, std::size_t in_message, bool may_have_gaps) {
      all = {std::min(all.begin, part.begin), std::max(all.end, part.end)};
      longest = std::max(longest, in_message);
      if (may_have_gaps) parts.push_back(part);
    }
    bool has_gap();
  };
  /// The first error stays.
  void note(int code) {
    if (error_ == 0) error_ = code;
  }
  void combine(const Step& step, const void* incoming, std::size_t offset, std::size_t elements) const;
  static void combine_fragment(void* self, std::size_t offset, const void* data, std::size_t bytes);
  // Steps that become active are tried from that place of active_ on.
  void release(std::uint32_t first, std::uint32_t count, std::size_t place);
  void activate(std::uint32_t step, std::size_t place);
  void test_messages();
  void wait_for_messages();

  // What every run needs, side by side.
  shm::Endpoint* endpoint_ = nullptr;
  const Plan* plan_ = nullptr;
  Bases bases_{};
  const Reduction* reduction_ = nullptr;
  int error_ = 0;
  bool copies_left_ = false;   // of a plan that copies beside its messages: this rank's own part is not copied yet
  bool is_scattered_ = false;  // some buffer is
  bool buffers_told_ = false;  // to the endpoint, of this plan
  std::size_t buffers_matter_from_ = SIZE_MAX;
  // Messages of so many bytes have to look at their buffers first: at the start of a plan, and now.
  std::size_t look_first_from_ = SIZE_MAX, look_from_ = SIZE_MAX;
  std::vector<Moving> moving_;
  const Step* combining_ = nullptr;  // the recv_reduce whose fragments arrive
  bool times_waits_ = false;
  std::size_t room_ = 0;  // steps that waits_for_ and moving_ have room for

  MessagePort port_;
  std::size_t tried_ = 0;  // steps before this one were done in order; it may have been tried
  std::vector<std::uint32_t> waits_for_;
  std::vector<std::uint32_t> active_;
  std::size_t held_back_ = 0;  // steps that have not become active yet
  std::vector<PortRequest*> awaited_;
  std::array<InMessages, 2> told_;  // of send and recv
  ScatteredBuffers scattered_;
};

}  // namespace omnes::inline runtime
