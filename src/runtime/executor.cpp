// The executor's loop. docs/design.md says why it cannot deadlock: every schedule is proved with synchronous sends.
#include "runtime/executor.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/assert.hpp"
#include "transport/shm/copy.hpp"

namespace omnes::inline runtime {

namespace {

// Polls of one step before the executor looks at other steps: about 200 ns, a hand-over of a cache line between sockets.
constexpr int polls_in_order = 64;
constexpr int polls_when_crowded = 8;  // the CPU may be what the others wait for
constexpr int pauses_in_order = 256;   // of ranks that share CPUs, most of them yields: about 0.3 ms

int max_polls(const shm::WaitPolicy* policy) {
  if (policy == nullptr) return 0;
  return policy->oversubscribed ? polls_when_crowded : polls_in_order;
}

}  // namespace

int Executor::run_to_end(const shm::WaitPolicy& policy) {
  const std::size_t done = run_in_order(0, false, &policy);
  if (done == plan_->steps.size()) [[likely]]
    return error_;
  shm::Waiter waiter(policy);
  wait_to_end(done, waiter, policy.oversubscribed);
  if (times_waits_) plan_->waited += waiter.waited();
  return error_;
}

void Executor::wait_to_end(std::size_t done, shm::Waiter& waiter, bool oversubscribed) {
  if (oversubscribed && done >= plan_->only_short_receives_from) {
    done = wait_in_order(done, waiter);
    if (done == plan_->steps.size()) return;
  }
  go_on_in_any_order(done);
  while (!finished()) {
    if (advance()) {
      waiter.reset();
    } else if (port_.wait != nullptr) {
      wait_for_messages();
    } else {
      waiter.pause();
    }
  }
}

void Executor::begin(const Plan& plan, const Bases& bases, const Reduction* reduction) {
  OMNES_ASSERT(finished());
  take(plan, bases, reduction);
  active_.clear();
  const std::size_t done = run_in_order(0, false, nullptr);
  if (done < plan.steps.size()) go_on_in_any_order(done);
  if (plan.copies_beside) advance();
}

void Executor::make_room(std::size_t steps) {
  moving_.resize(steps);
  waits_for_.resize(steps);
  room_ = steps;
}

// From step `first` on, which may have been tried; each is polled as often as the policy says, or once. Returns how many steps are done; the
// next one, if any, may have been tried.
inline std::size_t Executor::run_in_order(std::size_t first, bool tried, const shm::WaitPolicy* policy) {
  const Plan& plan = *plan_;
  const std::size_t n = plan.in_order;
  OMNES_ASSERT(n <= plan.steps.size() && plan.steps.size() <= room_);
  for (std::size_t i = first; i < n; ++i) {
    const Step& step = plan.steps[i];
    Moving& moving = moving_[i];
    if (i > first || !tried) moving = Moving{};
    for (int polls = 0;; ++polls) {
      const Outcome outcome = move(step, moving);
      if (outcome == Outcome::done) break;
      moving.started = outcome == Outcome::started;
      if (moving.started || polls == max_polls(policy) || error_ != 0) return i;
    }
  }
  if (n < plan.steps.size()) moving_[n] = Moving{};
  return n;
}

// Where others wait for nothing but the CPU, only the next step is looked at, and no books are kept: 8 ranks on 2 CPUs take 11 us for a barrier,
// with books 14. Bounded, as a sender whose queue is full does wait for its reader.
std::size_t Executor::wait_in_order(std::size_t done, shm::Waiter& waiter) {
  for (int pauses = 0; pauses < pauses_in_order && done < plan_->steps.size(); ++pauses) {
    waiter.pause();
    const std::size_t before = done;
    done = run_in_order(done, true, nullptr);
    if (done > before) waiter.reset();
  }
  return done;
}

void Executor::go_on_in_any_order(std::size_t tried) {
  const auto& steps = plan_->steps;
  tried_ = tried;
  for (std::size_t i = 0; i < steps.size(); ++i) waits_for_[i] = steps[i].waits_for;
  active_.clear();
  held_back_ = steps.size() - tried;
  for (const std::uint32_t i : plan_->ready) activate(i, active_.size());
  for (std::size_t i = 0; i < tried; ++i) {
    release(steps[i].first_start, steps[i].start_count, active_.size());
    release(steps[i].first_done, steps[i].done_count, active_.size());
  }
  if (moving_[tried].started) release(steps[tried].first_start, steps[tried].start_count, active_.size());
  // A message that finds its receive posted lands where it belongs; others are kept by the host and copied once more.
  // Peers in shared memory that are told in time copy while this rank copies its own part.
  std::ranges::sort(active_, {}, [&](std::uint32_t i) {
    const bool posts = steps[i].route == Route::port && steps[i].kind != OpKind::send;
    return std::tuple(!posts, plan_->copies_beside && steps[i].route == Route::local, i);
  });
}

bool Executor::advance() {
  const auto& steps = plan_->steps;
  test_messages();
  bool moved = false;
  std::size_t kept = 0;
  // active_ may grow during the pass: released steps are tried in it.
  for (std::size_t at = 0; at < active_.size(); ++at) {
    const std::uint32_t i = active_[at];
    const Step& step = steps[i];
    const Outcome outcome = move(step, moving_[i]);
    if (outcome != Outcome::busy && !moving_[i].started) {
      moving_[i].started = true;
      moved = true;
      release(step.first_start, step.start_count, at + 1);
    }
    if (outcome == Outcome::done) {
      moved = true;
      release(step.first_done, step.done_count, at + 1);
    } else {
      active_[kept++] = i;
    }
  }
  active_.resize(kept);
  copies_left_ = false;
  return moved;
}

void Executor::release(std::uint32_t first, std::uint32_t count, std::size_t place) {
  for (std::uint32_t k = first; k < first + count; ++k) {
    const std::uint32_t next = plan_->after[k];
    OMNES_ASSERT(waits_for_[next] > 0);
    if (--waits_for_[next] == 0) activate(next, place);
  }
}

// Before later copies: were a message tried after all copies of its pass, its reader would wait for them.
void Executor::activate(std::uint32_t step, std::size_t place) {
  if (step < tried_) return;  // done in order
  if (step > tried_) moving_[step] = Moving{};
  OMNES_ASSERT(step < plan_->steps.size() && held_back_ > 0);
  const auto first = active_.begin() + static_cast<std::ptrdiff_t>(place);
  const auto copy = std::find_if(first, active_.end(), [&](std::uint32_t other) {
    return other > step && plan_->steps[other].route == Route::local;
  });
  active_.insert(copy, step);
  --held_back_;
}

void Executor::test_messages() {
  awaited_.clear();
  for (const std::uint32_t i : active_)
    if (plan_->steps[i].route == Route::port && moving_[i].started) awaited_.push_back(&moving_[i].request);
  if (!awaited_.empty()) note(port_.test(port_.context, awaited_));
}

bool Executor::abandon() {
  bool over = true;
  for (const std::uint32_t i : active_) {
    const Step& step = plan_->steps[i];
    if (step.route == Route::port && moving_[i].started && port_.withdraw != nullptr)
      over &= port_.withdraw(port_.context, moving_[i].request, step.kind != OpKind::send);
  }
  active_.clear();
  return over;
}

// When no step is held back, nothing can be done before the last message is through.
void Executor::wait_for_messages() {
  awaited_.clear();
  for (const std::uint32_t i : active_) awaited_.push_back(&moving_[i].request);
  note(port_.wait(port_.context, awaited_, held_back_ == 0));
}

inline Executor::Outcome Executor::move(const Step& step, Moving& moving) {
  const Bases& bases = bases_;
  switch (step.kind) {
    case OpKind::copy:
      if (is_scattered_) [[unlikely]]
        copy_scattered(step);
      else
        shm::copy_bytes(bases[step.dst], bases[step.a], step.bytes);
      return Outcome::done;
    case OpKind::reduce:
      if (step.elements > 0) (*reduction_)(bases[step.a], bases[step.b], bases[step.dst], step.elements);
      return Outcome::done;
    case OpKind::send: return send(step, moving);
    case OpKind::recv:
    case OpKind::recv_reduce: return receive(step, moving);
  }
  return Outcome::done;
}

// What long messages are sent from and received into, of the program's buffers; not where others' data may lie between. Of two ranks,
// no results that are combined there and then sent: what the other one has read in place must be taken back, line by line, by the next
// call, which takes longer than a copy where cores have no common cache (allreduce of 1 MiB on a Zen 5: 99 us instead of 64).
void Executor::tell_buffers() {
  look_from_ = is_scattered_ ? 0 : SIZE_MAX;
  if (buffers_told_ || buffers_matter_from_ == SIZE_MAX) return;
  buffers_told_ = true;
  for (InMessages& buffer : told_) buffer.clear();
  const auto add = [&](const Region& region, std::size_t bytes, std::size_t in_message) {
    if (region.buffer != Buffer::temp && scattered_[region.buffer] == nullptr && bytes > 0)
      told_[static_cast<int>(region.buffer)].add({region.offset, region.offset + bytes}, in_message, plan_->has_gaps);
  };
  for (const Step& step : plan_->steps) {
    const bool sends = step.kind == OpKind::send, receives = step.kind == OpKind::recv || step.staged;
    const bool combines = step.kind == OpKind::reduce || step.kind == OpKind::recv_reduce;
    if (combines && step.dst.buffer != Buffer::temp) told_[static_cast<int>(step.dst.buffer)].combined = true;
    if (sends && step.a.buffer != Buffer::temp) told_[static_cast<int>(step.a.buffer)].sent = true;
    if (step.route == Route::shm && (sends || receives)) {
      add(sends ? step.a : step.staged ? step.b : step.dst, step.bytes, step.bytes);
    } else if (plan_->has_gaps && step.kind == OpKind::copy) {
      add(step.a, step.bytes, 0);
      add(step.dst, step.bytes, 0);
    }
  }
  for (const Buffer buffer : {Buffer::send, Buffer::recv}) {
    InMessages& told = told_[static_cast<int>(buffer)];
    if (told.combined && told.sent && endpoint_->p() == 2) continue;
    if (told.longest >= buffers_matter_from_ && !told.has_gap())
      endpoint_->use_buffer(bases_.of[static_cast<int>(buffer)] + told.all.begin, told.all.end - told.all.begin);
  }
}

bool Executor::InMessages::has_gap() {
  std::ranges::sort(parts, {}, &Span::begin);
  std::size_t end = all.begin;
  return std::ranges::any_of(parts, [&](const Span& part) {
    const bool gap = part.begin > end;
    end = std::max(end, part.end);
    return gap;
  });
}

// Before a long message is sent from there, or received into there. Returns how that is scattered, if it is.
const Scattered* Executor::look_at(const Region& region) {
  const Scattered* const scattered = is_scattered_ ? scattered_[region.buffer] : nullptr;
  if (scattered == nullptr) tell_buffers();
  return scattered;
}

namespace {

/// Part of what is scattered, from byte `start` on.
struct Part {
  const Scattered& of;
  std::size_t start;

  static void pack(void* part, std::size_t offset, std::byte* to, std::size_t bytes) {
    const auto& [of, start] = *static_cast<const Part*>(part);
    of.pack(of.context, start + offset, to, bytes);
  }
  static void unpack(void* part, std::size_t offset, const void* from, std::size_t bytes) {
    const auto& [of, start] = *static_cast<const Part*>(part);
    of.unpack(of.context, start + offset, static_cast<const std::byte*>(from), bytes);
  }
};

}  // namespace

Executor::Outcome Executor::send_scattered(const Step& step, const Scattered& from, Moving& moving) {
  Part part{from, step.a.offset};
  const shm::Source source{Part::pack, &part};
  const bool done = step.published ? endpoint_->publish(source, step.bytes, moving.transfer)
                                   : endpoint_->send({plan_->readers.data() + step.first_reader, step.reader_count},
                                                     source, step.bytes, moving.transfer);
  return done ? Outcome::done : Outcome::busy;
}

Executor::Outcome Executor::receive_scattered(const Step& step, const Scattered& into, Moving& moving) {
  Part part{into, step.dst.offset};
  const shm::Sink sink{Part::unpack, &part};
  const bool done = step.published ? endpoint_->recv_published(step.peer, sink, step.bytes, moving.transfer)
                                   : endpoint_->recv(step.peer, sink, step.bytes, moving.transfer);
  return done ? Outcome::done : Outcome::busy;
}

void Executor::copy_scattered(const Step& step) {
  const Scattered* const from = scattered_[step.a.buffer];
  const Scattered* const into = scattered_[step.dst.buffer];
  if (from == nullptr && into == nullptr) return shm::copy_bytes(bases_[step.dst], bases_[step.a], step.bytes);
  if (into == nullptr) return from->pack(from->context, step.a.offset, bases_[step.dst], step.bytes);
  if (from == nullptr) return into->unpack(into->context, step.dst.offset, bases_[step.a], step.bytes);
  std::byte piece[8192];  // stays in the first-level cache
  for (std::size_t done = 0; done < step.bytes; done += sizeof piece) {
    const std::size_t some = std::min(sizeof piece, step.bytes - done);
    from->pack(from->context, step.a.offset + done, piece, some);
    into->unpack(into->context, step.dst.offset + done, piece, some);
  }
}

inline Executor::Outcome Executor::send(const Step& step, Moving& moving) {
  if (step.bytes == 0 && step.is_optional) return Outcome::done;
  if (step.route == Route::shm) {
    if (step.bytes >= look_from_) [[unlikely]] {
      if (const Scattered* const from = look_at(step.a)) return send_scattered(step, *from, moving);
    }
    const std::byte* data = bases_[step.a];
    moving.transfer.busy = copies_left_;
    const bool done = step.published ? endpoint_->publish(data, step.bytes, moving.transfer)
                                     : endpoint_->send({plan_->readers.data() + step.first_reader, step.reader_count},
                                                       data, step.bytes, moving.transfer);
    if (done) return Outcome::done;
    return moving.transfer.posted() ? Outcome::started : Outcome::busy;
  }
  if (!moving.started) {
    OMNES_ASSERT(!is_scattered_);
    note(port_.isend(port_.context, step.peer, step.published ? ChannelKind::published : ChannelKind::pair,
                     bases_[step.a], step.bytes, &moving.request));
    return Outcome::started;
  }
  return moving.request.through ? Outcome::done : Outcome::started;
}

inline Executor::Outcome Executor::receive(const Step& step, Moving& moving) {
  if (step.bytes == 0 && step.is_optional) return Outcome::done;
  const Region& landing = step.staged ? step.b : step.dst;
  Outcome outcome = Outcome::busy;
  if (step.route == Route::port) {
    if (!moving.started) {
      OMNES_ASSERT(!is_scattered_);
      // Pages that the host writes, perhaps from another thread, must not change their place meanwhile.
      if (look_from_ != SIZE_MAX) [[unlikely]]
        tell_buffers();
      note(port_.irecv(port_.context, step.peer, step.published ? ChannelKind::published : ChannelKind::pair,
                       bases_[landing], step.bytes, &moving.request));
      return Outcome::started;
    }
    outcome = moving.request.through ? Outcome::done : Outcome::started;
  } else if (step.kind == OpKind::recv || step.staged) {
    if (step.bytes >= look_from_) [[unlikely]] {
      if (const Scattered* const into = look_at(landing)) return receive_scattered(step, *into, moving);
    }
    moving.transfer.busy = copies_left_;
    const bool done = step.published
                          ? endpoint_->recv_published(step.peer, bases_[landing], step.bytes, moving.transfer)
                          : endpoint_->recv(step.peer, bases_[landing], step.bytes, moving.transfer);
    if (done) outcome = Outcome::done;
  } else {
    combining_ = &step;
    const shm::Sink sink{combine_fragment, this};
    const bool done = step.published ? endpoint_->recv_published(step.peer, sink, step.bytes, moving.transfer)
                                     : endpoint_->recv(step.peer, sink, step.bytes, moving.transfer);
    if (done) outcome = Outcome::done;
  }
  if (outcome == Outcome::done && step.staged) combine(step, bases_[landing], 0, step.elements);
  return outcome;
}

void Executor::combine(const Step& step, const void* incoming, std::size_t offset, std::size_t elements) const {
  if (elements == 0) return;
  const std::byte* a = bases_[step.a] + offset;
  std::byte* dst = bases_[step.dst] + offset;
  if (step.incoming_first) {
    (*reduction_)(incoming, a, dst, elements);
  } else {
    (*reduction_)(a, incoming, dst, elements);
  }
}

void Executor::combine_fragment(void* self, std::size_t offset, const void* data, std::size_t bytes) {
  const auto* executor = static_cast<const Executor*>(self);
  const Step& step = *executor->combining_;
  executor->combine(step, data, offset, bytes / executor->plan_->element);
}

}  // namespace omnes::inline runtime
