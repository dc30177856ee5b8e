// Recording: one pass over the schedules, then the receives find their messages.
#include "model/tape.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace omnes::model {

namespace {

/// What counts messages between a rank and each other one, emptied at no cost.
class Counter {
 public:
  explicit Counter(int p) : entries_(p) {}
  void clear() { ++epoch_; }
  std::uint32_t next(int peer) {
    Entry& entry = entries_[peer];
    if (entry.epoch != epoch_) entry = {epoch_, 0};
    return entry.count++;
  }

 private:
  struct Entry {
    std::uint32_t epoch = 0, count = 0;
  };
  std::vector<Entry> entries_;
  std::uint32_t epoch_ = 1;
};

/// Names of messages -> their numbers, by open addressing: millions of them, inserted once each.
class Names {
 public:
  void insert(std::uint64_t name, std::uint32_t number) {
    if (2 * (used_ + 1) > names_.size()) grow();
    place(name, number);
    ++used_;
  }
  std::uint32_t find(std::uint64_t name) const {
    if (names_.empty()) return nothing;
    for (std::size_t i = hash(name);; ++i) {
      const std::size_t at = i & (names_.size() - 1);
      if (names_[at] == name) return numbers_[at];
      if (names_[at] == free_) return nothing;
    }
  }

 private:
  static constexpr std::uint64_t free_ = ~std::uint64_t{0};
  static std::size_t hash(std::uint64_t name) {
    name = (name ^ name >> 31) * 0x9e3779b97f4a7c15u;  // Fibonacci hashing
    return static_cast<std::size_t>(name ^ name >> 29);
  }
  void place(std::uint64_t name, std::uint32_t number) {
    std::size_t at = hash(name) & (names_.size() - 1);
    while (names_[at] != free_) at = (at + 1) & (names_.size() - 1);
    names_[at] = name;
    numbers_[at] = number;
  }
  void grow() {
    std::vector<std::uint64_t> names(std::max<std::size_t>(64, 4 * names_.size()), free_);
    std::vector<std::uint32_t> numbers(names.size());
    names.swap(names_);
    numbers.swap(numbers_);
    for (std::size_t i = 0; i < names.size(); ++i)
      if (names[i] != free_) place(names[i], numbers[i]);
  }
  std::vector<std::uint64_t> names_;
  std::vector<std::uint32_t> numbers_;
  std::size_t used_ = 0;
};

constexpr int rank_bits = 21, order_bits = 21;  // up to 2^20 ranks; up to 2^21 messages between two of them

std::uint64_t name_of(int from_class, int displacement, std::uint32_t order, bool published) {
  return (static_cast<std::uint64_t>(from_class) << rank_bits | static_cast<std::uint64_t>(displacement))
             << (order_bits + 1) |
         std::uint64_t{order} << 1 | static_cast<std::uint64_t>(published);
}

class Recorder {
 public:
  Recorder(const MachineCosts& machine, const Placement& placement, const Symmetry& symmetry)
      : machine_(machine),
        placement_(placement),
        level_of_(levels_of(machine, placement)),
        sent_(symmetry.p),
        received_(symmetry.p),
        received_published_(symmetry.p) {
    tape_.symmetry = symmetry;
  }

  Tape record(const ScheduleOf& schedule) {
    note_units();
    for (int rank = 0; rank < tape_.symmetry.classes; ++rank) {
      tape_.first_step.push_back(static_cast<std::uint32_t>(tape_.steps.size()));
      const Schedule one = schedule(rank);
      tape_.pieces = one.pieces;
      tape_.operation = one.problem.operation;
      add(one);
    }
    tape_.first_step.push_back(static_cast<std::uint32_t>(tape_.steps.size()));
    for (const auto& [step, name] : takes_) take(step, name);
    return std::move(tape_);
  }

 private:
  std::uint8_t level(int a, int b) const { return level_of_[placement_.level_between(a, b)]; }

  void note_units() {
    const int classes = tape_.symmetry.classes, p = tape_.symmetry.p;
    for (const PlacementLevel& level : placement_.levels) {
      std::vector<std::int32_t> renumbered(*std::ranges::max_element(level.unit) + 1, -1);
      std::vector<std::int32_t> units;
      int count = 0;
      for (int rank = 0; rank < classes; ++rank) {
        std::int32_t& number = renumbered[level.unit[rank]];
        if (number < 0) number = count++;
        units.push_back(number);
      }
      std::vector<double> all(count), simulated(count);
      for (int rank = 0; rank < p; ++rank)
        if (const std::int32_t unit = renumbered[level.unit[rank]]; unit >= 0) {
          ++all[unit];
          if (rank < classes) ++simulated[unit];
        }
      for (int unit = 0; unit < count; ++unit) all[unit] /= simulated[unit];
      tape_.units.push_back(std::move(units));
      tape_.share.push_back(std::move(all));
    }
    // Ranks share memory where they share a unit of the widest level within which the machine has memory.
    tape_.level_of.assign(level_of_.begin(), level_of_.end() - 1);
    tape_.near_readers.assign(classes, 0);
    std::size_t widest = placement_.levels.size();
    while (widest > 0 && !machine_.levels[level_of_[widest - 1]].memory) --widest;
    if (widest == 0) return;
    tape_.widest_memory = level_of_[widest - 1];
    const auto& units = tape_.units[widest - 1];
    std::vector<std::int32_t> simulated(tape_.share[widest - 1].size());
    for (const std::int32_t unit : units) ++simulated[unit];
    for (int rank = 0; rank < classes; ++rank)
      tape_.near_readers[rank] = std::lround(tape_.share[widest - 1][units[rank]] * simulated[units[rank]]) - 1;
  }

  void add(const Schedule& one) {
    const auto first = static_cast<std::uint32_t>(tape_.steps.size());
    sent_.clear();
    received_.clear();
    received_published_.clear();
    published_ = 0;
    for (const Op& op : one.ops) {
      const auto self = static_cast<std::uint32_t>(tape_.steps.size());
      TapeStep step;
      step.kind = op.kind;
      step.published = op.published;
      step.rank = one.problem.rank;
      step.blocks = op.kind == OpKind::send ? op.a.count : op.dst.count;
      step.waits = op.dep_count;
      if (op.kind == OpKind::send)
        add_messages(one, op, self, step);
      else if (op.kind == OpKind::recv || op.kind == OpKind::recv_reduce)
        add_take(op, self, step);
      tape_.steps.push_back(step);
    }
    // Who waits for whom, turned round.
    for (std::size_t i = 0; i < one.ops.size(); ++i)
      for (const std::uint32_t dep : one.deps_of(one.ops[i])) ++tape_.steps[first + dep].after_count;
    auto next = static_cast<std::uint32_t>(tape_.after.size());
    for (std::size_t i = first; i < tape_.steps.size(); ++i) {
      tape_.steps[i].first_after = next;
      next += tape_.steps[i].after_count;
      tape_.steps[i].after_count = 0;
    }
    tape_.after.resize(next);
    for (std::size_t i = 0; i < one.ops.size(); ++i)
      for (const std::uint32_t dep : one.deps_of(one.ops[i])) {
        TapeStep& before = tape_.steps[first + dep];
        tape_.after[before.first_after + before.after_count++] = static_cast<std::uint32_t>(first + i);
      }
  }

  void add_messages(const Schedule& one, const Op& op, std::uint32_t self, TapeStep& step) {
    const Symmetry& symmetry = tape_.symmetry;
    const int rank = one.problem.rank;
    step.message = static_cast<std::uint32_t>(tape_.messages.size());
    if (op.published) {
      step.messages = 1;
      names_.insert(name_of(rank, 0, published_++, true), step.message);
      tape_.messages.push_back({self, nothing, 0, -1, 0});
      return;
    }
    for (const std::int32_t peer : one.peers_of(op)) {
      names_.insert(name_of(rank, symmetry.displacement(rank, peer), sent_.next(peer), false),
                    static_cast<std::uint32_t>(tape_.messages.size()));
      tape_.messages.push_back({self, nothing, 0, symmetry.class_of(peer), level(rank, peer)});
      ++step.messages;
    }
  }

  void add_take(const Op& op, std::uint32_t self, TapeStep& step) {
    const Symmetry& symmetry = tape_.symmetry;
    const int from = symmetry.class_of(op.peer);
    step.level = level(step.rank, op.peer);
    step.from = from;
    ++step.waits;
    if (op.published) {
      step.place = symmetry.displacement(op.peer, step.rank) - 1;
      takes_.push_back({self, name_of(from, 0, received_published_.next(op.peer), true)});
    } else {
      takes_.push_back(
          {self, name_of(from, symmetry.displacement(op.peer, step.rank), received_.next(op.peer), false)});
    }
  }

  void take(std::uint32_t step, std::uint64_t name) {
    const std::uint32_t number = names_.find(name);
    if (number == nothing) throw std::invalid_argument("a receive has no send: the schedules do not fit together");
    TapeMessage& message = tape_.messages[number];
    tape_.steps[step].message = number;
    tape_.steps[step].next_reader = message.first_reader;
    message.first_reader = step;
    ++message.readers;
  }

  const MachineCosts& machine_;
  const Placement& placement_;
  std::vector<std::uint8_t> level_of_;
  Tape tape_;
  Names names_;
  Counter sent_, received_, received_published_;
  std::uint32_t published_ = 0;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> takes_;
};

}  // namespace

std::vector<std::uint8_t> levels_of(const MachineCosts& machine, const Placement& placement) {
  std::vector<std::uint8_t> result;
  const auto last = static_cast<std::uint8_t>(machine.levels.size() - 1);
  // A level that the machine does not know costs as the next wider one that it knows.
  std::uint8_t wider = last;
  result.push_back(placement.levels.empty() && placement.p == 1 ? 0 : last);
  for (std::size_t l = placement.levels.size(); l-- > 0;) {
    for (std::uint8_t known = 0; known < last; ++known)
      if (machine.levels[known].name == placement.levels[l].name) wider = known;
    result.push_back(wider);
  }
  std::ranges::reverse(result);
  return result;
}

Tape record(const MachineCosts& machine, const Placement& placement, const Symmetry& symmetry,
            const ScheduleOf& schedule) {
  return Recorder(machine, placement, symmetry).record(schedule);
}

}  // namespace omnes::model
