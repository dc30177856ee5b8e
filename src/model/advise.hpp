// Choosing by the model: which candidate for an operation is expected to be the fastest on these ranks.
//
// How. All candidates are estimated (estimate.hpp) from very few ranks, which for most is enough to know that they are too
// slow. Whichever looks best is then looked at more closely, four times as many steps each time, until it is known or no
// longer changes, and those close behind it, too; and so on, until a fixed amount of work is spent. Among candidates
// known so well the fastest is chosen, or what the table would choose if it is about as fast; where there is none, the
// model cannot say.
// Why all ranks choose alike. Nothing but the question, the placement, the machine and the candidates goes in, which ranks
// know alike; the work is counted, not timed; and ties go to the first.
// Cost. Once for each operation and size class, below a millisecond for 64 ranks (bench/first_choice.cpp); what was found
// is kept.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <tuple>

#include "model/estimate.hpp"
#include "select/select.hpp"

namespace omnes::model {

/// Sizes between two powers of two are cut into four classes: one choice serves all sizes of a class.
ByteRange size_class(std::size_t bytes);

class Advisor {
 public:
  /// Without a machine, the default one. `node`: of each rank, any numbers; empty: all are on one.
  Advisor(std::shared_ptr<const MachineCosts> machine, Placement placement, std::span<const std::int32_t> node);
  Advisor(const Advisor&) = delete;
  Advisor& operator=(const Advisor&) = delete;

  Advice operator()(const Selector& selector, const Question& question);

 private:
  Advice find(const Question& question, const std::vector<Choice>& candidates);

  std::shared_ptr<const MachineCosts> machine_;
  Placement placement_;
  Estimator estimator_;
  std::map<std::tuple<Operation, bool, std::size_t>, Advice> known_;  // by operation, commutative, size class
};

}  // namespace omnes::model
