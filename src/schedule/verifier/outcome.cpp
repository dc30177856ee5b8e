// Comparing what is held with what is promised.
#include "schedule/verifier/outcome.hpp"

#include <algorithm>
#include <unordered_map>

#include "schedule/text.hpp"

namespace omnes::verifier {

namespace {

class Outcome {
 public:
  Outcome(const Group& group, const Values& values, const std::vector<Value>& held, Claims claims)
      : group_(group), values_(values), held_(held), claims_(claims) {}

  std::optional<Finding> check() {
    for (int rank = 0; rank < group_.p(); ++rank)
      for (int block = 0; block < group_.blocks_in(rank, Buffer::recv); ++block) {
        const Value value = held(rank, block);
        std::string wrong = check_block(value, promised(group_.of(rank).problem, group_.pieces(), block));
        const int first = group_of(rank, group_.of(rank).problem).first;
        if (wrong.empty() && group_.operation() == Operation::allreduce && value != held(first, block))
          wrong = "is associated as " + values_.to_text(value) + ", but on rank " + std::to_string(first) + " as " +
                  values_.to_text(held(first, block));
        if (!wrong.empty()) return Finding{rank, -1, to_text(recv_blocks(block)), wrong};
      }
    return std::nullopt;
  }

 private:
  Value held(int rank, int block) const { return held_[group_.block_id(rank, Buffer::recv, block)]; }

  std::string check_block(Value value, Promise promise) {
    if (promise.nothing) return {};
    if (value == unwritten) return "is not written";
    if (promise.combined > 0) return check_combination(value, promise);
    const Value wanted = values_.moved({promise.rank, promise.block});
    if (value == wanted) return {};
    return "ends with " + values_.to_text(value) + " instead of " + values_.to_text(wanted);
  }

  /// Each contribution that is promised once, and in rank order if claimed.
  std::string check_combination(Value value, const Promise& promise) {
    const auto known = good_.find(value);
    if (known != good_.end() && known->second == promise) return {};
    const auto wanted = static_cast<std::uint64_t>(promise.combined);
    const std::string ends = "ends with " + values_.to_text(value);
    if (values_.terms(value) != wanted)
      return ends + ": " + std::to_string(values_.terms(value)) + " operands instead of " + std::to_string(wanted);
    std::vector<Origin> operands = values_.operands(value);
    const auto in_rank_order = [](Origin x, Origin y) { return x.rank < y.rank; };
    if (claims_.ordered && !std::is_sorted(operands.begin(), operands.end(), in_rank_order))
      return ends + ": the operands are not in rank order";
    if (claims_.from_left && !values_.from_left(value)) return ends + ": not combined from the left";
    std::sort(operands.begin(), operands.end(), in_rank_order);
    for (int i = 0; i < promise.combined; ++i)
      if (operands[i] != Origin{promise.rank + i, promise.block})
        return ends + ": not each rank's block " + std::to_string(promise.block) + " once";
    good_[value] = promise;
    return {};
  }

  const Group& group_;
  const Values& values_;
  const std::vector<Value>& held_;
  Claims claims_;
  std::unordered_map<Value, Promise> good_;  // combinations already looked at, and what they fulfil
};

}  // namespace

std::optional<Finding> check_outcome(const Group& group, const Values& values, const std::vector<Value>& held,
                                     Claims claims) {
  return Outcome(group, values, held, claims).check();
}

}  // namespace omnes::verifier
