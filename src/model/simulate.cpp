// The simulation's events: sends, receives, local work; then the way back along the critical path.
#include "model/simulate.hpp"

#include <algorithm>

namespace omnes::model {

Simulator::Simulator(const MachineCosts& machine, const std::string& reduction)
    : machine_(machine), gamma_(machine.reduction(reduction)) {}

Outcome Simulator::run(const Tape& tape, double part_bytes) {
  tape_ = &tape;
  block_bytes_ = part_bytes / tape.pieces;
  const auto classes = static_cast<std::size_t>(tape.symmetry.classes);
  states_.assign(tape.steps.size(), {});
  posts_.assign(tape.messages.size(), {});
  finished_.assign(classes, 0);
  idle_from_.assign(classes, 0);
  last_step_.assign(classes, nothing);
  port_out_.assign(classes, 0);
  port_in_.assign(classes, 0);
  sent_.assign(classes, -never);
  for (auto* shared : {&out_, &in_, &memory_}) {
    shared->resize(tape.share.size());
    for (std::size_t level = 0; level < tape.share.size(); ++level)
      (*shared)[level].assign(tape.share[level].size(), 0);
  }
  heap_.clear();
  for (std::uint32_t step = 0; step < tape.steps.size(); ++step) {
    states_[step].waits = tape.steps[step].waits;
    if (states_[step].waits == 0) heap_.push_back({0, step});
  }
  std::make_heap(heap_.begin(), heap_.end());
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end());
    const std::uint32_t step = heap_.back().step;
    heap_.pop_back();
    take(step);
  }

  Outcome outcome;
  outcome.path.overhead = machine_.call;
  std::uint32_t at = nothing;
  double time = 0;
  for (std::uint32_t step = 0; step < tape.steps.size(); ++step)
    if (states_[step].done > time) {
      time = states_[step].done;
      at = step;
    }
  outcome.seconds = machine_.call + time;
  while (at != nothing) {
    const State& state = states_[at];
    const TapeStep& step = tape.steps[at];
    const bool by_message = step.kind != OpKind::send && step.message != nothing && state.cause != nothing &&
                            tape.messages[step.message].sender == state.cause;
    split(step, by_message, time - state.from, outcome.path);
    time = state.from;
    at = state.cause;
  }
  return outcome;
}

void Simulator::take(std::uint32_t number) {
  const TapeStep& step = tape_->steps[number];
  switch (step.kind) {
    case OpKind::send: return send(number);
    case OpKind::recv:
    case OpKind::recv_reduce: return receive(number);
    case OpKind::copy:
    case OpKind::reduce: {
      const Curve& curve = step.kind == OpKind::copy ? machine_.copy : gamma_;
      complete(number, occupy(number, claim(number) + machine_.step + (step.blocks > 0 ? curve(bytes_of(step)) : 0)));
    }
  }
}

// When the rank's processor is free for a step that is due.
double Simulator::claim(std::uint32_t number) {
  const int rank = tape_->steps[number].rank;
  State& state = states_[number];
  if (idle_from_[rank] <= state.due) return state.due;
  state.cause = last_step_[rank];
  state.from = idle_from_[rank];
  return state.from;
}

double Simulator::occupy(std::uint32_t number, double until) {
  const int rank = tape_->steps[number].rank;
  idle_from_[rank] = until;
  last_step_[rank] = number;
  return until;
}

void Simulator::send(std::uint32_t number) {
  const TapeStep& step = tape_->steps[number];
  const int rank = step.rank;
  const double bytes = bytes_of(step);
  const TapeMessage* const messages = tape_->messages.data() + step.message;
  double time = claim(number) + machine_.step, held = 0;
  std::uint32_t pending = 0;

  // To ranks that share memory: one copy, or none.
  const LevelCosts* near = nullptr;
  int readers = 0;
  if (step.published && tape_->near_readers[rank] > 0) {
    near = &machine_.levels[tape_->widest_memory];
    readers = 1;
  }
  for (std::uint32_t m = 0; m < step.messages && !step.published; ++m)
    if (machine_.levels[messages[m].level].memory) {
      near = &machine_.levels[messages[m].level];
      ++readers;
    }
  double first = time, path = time;
  if (near != nullptr) {
    time += readers * near->send;
    path = time;
    if (bytes >= near->single_from) {
      first = time + near->latency;
    } else {
      const double copied = near->copy_in(bytes);
      first = time + copied * near->first_share(bytes) + near->latency;
      time = copied_together(rank, near, time + copied, time, bytes);
    }
  }
  for (std::uint32_t m = 0; m < step.messages; ++m) {
    Post& post = posts_[step.message + m];
    const TapeMessage& message = messages[m];
    const bool far = !step.published && !machine_.levels[message.level].memory;
    if (near != nullptr && !far) {
      post = {first, time + near->latency, bytes >= near->single_from};
      if (post.single) pending += step.published ? near_takers(message) : message.readers;
      hand_over(message, number, post.first, path, true);
    }
    if (!far) continue;
    const LevelCosts& level = machine_.levels[message.level];
    time += level.send;
    sent_[rank] = time;
    post = {time + level.latency, time, bytes >= level.synchronous_from};
    if (post.single) {
      pending += message.readers;
      hand_over(message, number, post.first, time, false);
    } else {
      const Way way = cross(rank, message.to, message.level, time, bytes);
      held = std::max(held, way.begin + level.held(bytes));
      hand_over(message, number, way.end, time, false);
    }
  }
  if (step.published && tape_->near_readers[rank] + 1 < tape_->symmetry.p)
    time = publish_far(number, time, bytes, held);
  occupy(number, time);
  states_[number].waits = pending;
  states_[number].done = std::max(time, held);
  if (pending == 0) complete(number, states_[number].done);
}

// One message for each rank beyond the node, in order, after what the sender has sent before: each reader's place in it
// says when.
double Simulator::publish_far(std::uint32_t number, double time, double bytes, double& held) {
  const TapeStep& step = tape_->steps[number];
  const int far = tape_->symmetry.p - 1 - tape_->near_readers[step.rank];
  double gap = 0, send = 0;
  const double port = port_out_[step.rank];
  for (std::uint32_t reader = tape_->messages[step.message].first_reader; reader != nothing;
       reader = tape_->steps[reader].next_reader) {
    const TapeStep& taker = tape_->steps[reader];
    const LevelCosts& level = machine_.levels[taker.level];
    if (level.memory) continue;
    const double wire = level.wire(bytes);
    double shared = 0;
    for (std::size_t l = 0; l < tape_->units.size(); ++l)
      if (tape_->level_of[l] < taker.level)
        shared = std::max(
            shared, machine_.levels[tape_->level_of[l]].out * bytes * tape_->share[l][tape_->units[l][step.rank]]);
    gap = std::max({gap, level.send, wire, shared});
    send = level.send;
    const int place = std::min(taker.place, far - 1);
    const double sent = std::max(time + level.send, port) + place * gap;
    release(reader, sent + level.latency + wire, number, time);
    held = std::max(held, sent + level.held(bytes));
  }
  port_out_[step.rank] = std::max(time + send, port) + far * gap;
  return time + far * send;
}

void Simulator::receive(std::uint32_t number) {
  const TapeStep& step = tape_->steps[number];
  const LevelCosts& level = machine_.levels[step.level];
  const double bytes = bytes_of(step);
  const bool reducing = step.kind == OpKind::recv_reduce;
  const Post& post = posts_[step.message];
  double begin = claim(number) + machine_.step + level.recv;
  const double combining = reducing && step.blocks > 0 ? gamma_(bytes) : 0;
  if (!level.memory && level.crossed(sent_[step.rank], post.last)) begin += level.exchange_latency;

  if (!level.memory && !post.single) {  // it has arrived
    complete(number, occupy(number, begin + combining));
  } else if (!level.memory) {  // the sender waits for this
    occupy(number, begin);
    const Way way = cross(step.from, step.rank, step.level, begin + level.latency, bytes);
    complete(number, reducing ? occupy(number, way.end + combining) : way.end);
    ease(number, level.sender_free(way.begin, way.end, bytes));
  } else if (!post.single) {
    const double work = std::max(level.copy(bytes), combining);
    const double behind = post.last + level.recv + work * level.first_share(bytes);
    complete(number, occupy(number, copied_together(step.rank, &level, std::max(begin + work, behind), begin, bytes)));
  } else {
    // An idle sender copies half of it. One that this rank stands for itself is as busy as this rank.
    const bool shared = !reducing && step.from != step.rank && idle_from_[step.from] <= begin;
    const Curve& single = step.published ? level.single_publish : level.single;
    const double work = reducing ? level.single_reduce(bytes) + combining : single(shared ? bytes / 2 : bytes);
    const double done = copied_together(step.rank, &level, begin + work, begin, bytes);
    if (shared) {
      idle_from_[step.from] = done;
      last_step_[step.from] = number;
    }
    complete(number, occupy(number, done));
    ease(number, done + level.latency);
  }
}

// The host MPI's message, from when its sender has done its work; returns when it was on its way and when it has arrived.
Simulator::Way Simulator::cross(int from, int to, int number, double begin, double bytes) {
  const LevelCosts& level = machine_.levels[number];
  begin = std::max(begin, port_out_[from]);
  double wire = level.wire(bytes);
  if (port_in_[from] > begin || port_out_[to] > begin) wire *= level.exchange;
  port_out_[from] = begin + wire;
  double arrived = begin + level.latency + wire;
  for (std::size_t l = 0; l < tape_->units.size(); ++l) {
    const double out = machine_.levels[tape_->level_of[l]].out;
    if (out == 0 || tape_->level_of[l] >= number) continue;
    const std::int32_t source = tape_->units[l][from], target = tape_->units[l][to];
    double& leaving = out_[l][source];
    leaving = std::max(leaving, begin) + bytes * out * tape_->share[l][source];
    double& entering = in_[l][target];
    entering = std::max(entering, begin + level.latency) + bytes * out * tape_->share[l][target];
    arrived = std::max({arrived, leaving + level.latency, entering});
  }
  arrived = std::max(arrived, port_in_[to] + wire);
  port_in_[to] = arrived;
  return {begin, arrived};
}

// When a copy that lasts until `done` if it is alone really ends, among the others on its unit of memory.
double Simulator::copied_together(int rank, const LevelCosts* level, double done, double begin, double bytes) {
  if (level->shared == 0) return done;
  for (std::size_t l = 0; l < tape_->units.size(); ++l) {
    if (&machine_.levels[tape_->level_of[l]] != level) continue;
    const std::int32_t unit = tape_->units[l][rank];
    double& free = memory_[l][unit];
    free = std::max(free, begin) + bytes * level->shared * tape_->share[l][unit];
    return std::max(done, free);
  }
  return done;
}

std::uint32_t Simulator::near_takers(const TapeMessage& message) const {
  std::uint32_t count = 0;
  for (std::uint32_t reader = message.first_reader; reader != nothing; reader = tape_->steps[reader].next_reader)
    count += machine_.levels[tape_->steps[reader].level].memory;
  return count;
}

// To its readers: near ones, or the far one.
void Simulator::hand_over(const TapeMessage& message, std::uint32_t sender, double time, double path, bool near) {
  for (std::uint32_t reader = message.first_reader; reader != nothing;) {
    const TapeStep& step = tape_->steps[reader];
    const std::uint32_t next = step.next_reader;
    if (machine_.levels[step.level].memory == near) release(reader, time, sender, path);
    reader = next;
  }
}

void Simulator::release(std::uint32_t number, double time, std::uint32_t cause, double from) {
  State& state = states_[number];
  if (time >= state.due) {
    state.due = time;
    state.cause = cause;
    state.from = from;
  }
  if (--state.waits > 0) return;
  heap_.push_back({state.due, number});
  std::push_heap(heap_.begin(), heap_.end());
}

void Simulator::complete(std::uint32_t number, double time) {
  const TapeStep& step = tape_->steps[number];
  states_[number].done = time;
  finished_[step.rank] = std::max(finished_[step.rank], time);
  for (std::uint32_t i = step.first_after; i < step.first_after + step.after_count; ++i)
    release(tape_->after[i], time, number, time);
}

// A reader has taken what the sender waits with: the last one lets it go on.
void Simulator::ease(std::uint32_t reader, double time) {
  const std::uint32_t sender = tape_->messages[tape_->steps[reader].message].sender;
  State& state = states_[sender];
  state.done = std::max(state.done, time);
  if (--state.waits == 0) complete(sender, state.done);
}

// What a step's piece of the path is made of, the surest first; what remains is data on the move.
void Simulator::split(const TapeStep& step, bool by_message, double seconds, Split& path) const {
  const auto give = [&](double& to, double at_most) {
    const double part = std::clamp(at_most, 0.0, seconds);
    to += part;
    seconds -= part;
  };
  const double bytes = bytes_of(step);
  const bool local = step.message == nothing;
  const bool sending = step.kind == OpKind::send;
  std::size_t level_number = sending && !step.published ? tape_->messages[step.message].level : step.level;
  if (sending && step.published)
    level_number = tape_->near_readers[step.rank] > 0 ? tape_->widest_memory : machine_.levels.size() - 1;
  const LevelCosts& level = machine_.levels[level_number];
  double work = local ? 0 : level.recv;
  if (sending && step.published)
    work = level.send + (tape_->symmetry.p - 1 - tape_->near_readers[step.rank]) * machine_.levels.back().send;
  else if (sending)
    work = step.messages * level.send;
  give(path.overhead, machine_.step + work);
  if (by_message) give(path.latency, (!level.memory && posts_[step.message].single ? 3 : 1) * level.latency);
  if ((step.kind == OpKind::reduce || step.kind == OpKind::recv_reduce) && step.blocks > 0)
    give(path.reduction, gamma_(bytes));
  give(local || level.memory ? path.copy : path.bandwidth, seconds);
}

}  // namespace omnes::model
