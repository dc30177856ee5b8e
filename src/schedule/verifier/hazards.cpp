// Hazards: two ops of a rank that touch the same block, one of them writing, must be ordered by the dependencies.
//
// How. Dependencies point backwards, so the only order they can give is that of the list. Per block it suffices that a
// reader comes after the last writer, and a writer after the readers since, or, when there are none, after the last
// writer: all other conflicts are then ordered through these. Most of them are direct dependencies; for the rest one
// backward search per op, no further than the earliest op that is wanted.
#include <algorithm>

#include "schedule/text.hpp"
#include "schedule/verifier/group.hpp"

namespace omnes::verifier {

namespace {

class Hazards {
 public:
  Hazards(const Schedule& schedule, int rank) : schedule_(schedule), rank_(rank), seen_(schedule.ops.size(), none) {}

  std::optional<Finding> check() {
    for (std::uint32_t op = 0; op < schedule_.ops.size(); ++op) {
      wanted_.clear();
      touch(op);
      if (auto finding = check_order(op)) return finding;
    }
    return std::nullopt;
  }

 private:
  static constexpr std::uint32_t none = UINT32_MAX;

  struct Touched {
    std::uint32_t writer = none;
    std::vector<std::uint32_t> readers;  // since the last writer
  };
  /// An op that must be complete before the current one, because of a block.
  struct Wanted {
    std::uint32_t op;
    Blocks block;
  };

  Touched& touched(Blocks block) {
    auto& of_buffer = touched_[static_cast<int>(block.buffer)];
    if (of_buffer.size() <= static_cast<std::size_t>(block.first)) of_buffer.resize(block.first + 1);
    return of_buffer[block.first];
  }

  void touch(std::uint32_t self) {
    const Op& op = schedule_.ops[self];
    for (const Blocks run : {op.a, op.b})
      for (int i = 0; i < run.count; ++i) {
        const Blocks block{run.buffer, run.first + i, 1};
        Touched& at = touched(block);
        if (at.writer != none) wanted_.push_back({at.writer, block});
        at.readers.push_back(self);
      }
    for (int i = 0; i < op.dst.count; ++i) {
      const Blocks block{op.dst.buffer, op.dst.first + i, 1};
      Touched& at = touched(block);
      std::erase(at.readers, self);
      for (const std::uint32_t reader : at.readers) wanted_.push_back({reader, block});
      if (at.readers.empty() && at.writer != none) wanted_.push_back({at.writer, block});
      at.readers.clear();
      at.writer = self;
    }
  }

  std::optional<Finding> check_order(std::uint32_t self) {
    const auto deps = schedule_.deps_of(schedule_.ops[self]);
    for (const std::uint32_t dep : deps) seen_[dep] = self;
    const auto missing = [&](const Wanted& wanted) { return seen_[wanted.op] != self; };
    if (std::none_of(wanted_.begin(), wanted_.end(), missing)) return std::nullopt;
    search(self);
    const auto found = std::find_if(wanted_.begin(), wanted_.end(), missing);
    if (found == wanted_.end()) return std::nullopt;
    return Finding{rank_, static_cast<int>(self), to_text(found->block),
                   "may run before op " + std::to_string(found->op) + " (" +
                       to_text(schedule_, schedule_.ops[found->op]) +
                       ") is done with the block: a dependency is missing"};
  }

  /// Marks all ops that come before `self`, down to the first that is wanted.
  void search(std::uint32_t self) {
    std::uint32_t first = none;
    for (const Wanted& wanted : wanted_) first = std::min(first, wanted.op);
    const auto deps = schedule_.deps_of(schedule_.ops[self]);
    stack_.assign(deps.begin(), deps.end());
    while (!stack_.empty()) {
      const Op& op = schedule_.ops[stack_.back()];
      stack_.pop_back();
      for (const std::uint32_t dep : schedule_.deps_of(op)) {
        if (dep < first || seen_[dep] == self) continue;
        seen_[dep] = self;
        stack_.push_back(dep);
      }
    }
  }

  const Schedule& schedule_;
  int rank_;
  std::vector<Touched> touched_[3];
  std::vector<Wanted> wanted_;
  std::vector<std::uint32_t> seen_;  // per op the last op that it was found to be before
  std::vector<std::uint32_t> stack_;
};

}  // namespace

std::optional<Finding> check_hazards(const Group& group) {
  for (int rank = 0; rank < group.p(); ++rank)
    if (auto finding = Hazards(group.of(rank), rank).check()) return finding;
  return std::nullopt;
}

}  // namespace omnes::verifier
