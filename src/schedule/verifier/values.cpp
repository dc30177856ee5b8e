// Hash-consing of symbolic values.
#include "schedule/verifier/values.hpp"

#include <algorithm>

namespace omnes::verifier {

namespace {

constexpr std::uint64_t longest_text = 64;  // operands; a longer expression helps nobody

}  // namespace

Value Values::combined(Value left, Value right) {
  const std::uint64_t key = std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
  const auto [at, fresh] = known_.try_emplace(key, moved_ + static_cast<Value>(pairs_.size()));
  if (fresh) {
    // Repeated doubling of one value could overflow the count; far beyond any p it need not be exact.
    const std::uint64_t most = UINT64_MAX / 2;
    pairs_.push_back({left, right, std::min(terms(left) + terms(right), most)});
  }
  return at->second;
}

std::vector<Origin> Values::operands(Value value) const {
  std::vector<Origin> found;
  std::vector<Value> stack{value};
  while (!stack.empty()) {
    const Value top = stack.back();
    stack.pop_back();
    if (is_moved(top)) {
      found.push_back(origin(top));
    } else {
      stack.push_back(pairs_[top - moved_].right);
      stack.push_back(pairs_[top - moved_].left);
    }
  }
  return found;
}

bool Values::from_left(Value value) const {
  for (; !is_moved(value); value = pairs_[value - moved_].left)
    if (!is_moved(pairs_[value - moved_].right)) return false;
  return true;
}

std::string Values::expression(Value value) const {
  if (is_moved(value)) return std::to_string(origin(value).rank);
  const Pair& pair = pairs_[value - moved_];
  return "(" + expression(pair.left) + " . " + expression(pair.right) + ")";
}

std::string Values::to_text(Value value) const {
  if (value == unwritten) return "nothing";
  if (is_moved(value))
    return "block " + std::to_string(origin(value).block) + " of rank " + std::to_string(origin(value).rank);
  if (terms(value) > longest_text) return "a combination of " + std::to_string(terms(value)) + " contributions";
  return expression(value);
}

}  // namespace omnes::verifier
