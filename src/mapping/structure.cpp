// Digits are chosen from the widest level to the nearest, as the widest is the slowest.
#include "mapping/structure.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace omnes::mapping {

namespace {

// So many tiles at most are compared with each other; for p = 2^20 and groups of eight there are 1140.
constexpr int max_tiles = 5000;
// Orders of the prime factors that are tried: all of 2^a * 3, 2^a * 9 ... for the p that machines have.
constexpr int max_orders = 64;
// Beyond so many steps for one tile only the lowest and the top digits are compared.
constexpr std::int64_t max_steps = 1 << 24;

struct Digit {
  std::int32_t base, weight;  ///< of the place
};
using Digits = std::vector<Digit>;

std::vector<std::int32_t> prime_factors(std::int32_t n) {
  std::vector<std::int32_t> factors;
  for (std::int32_t f = 2; static_cast<std::int64_t>(f) * f <= n; ++f)
    for (; n % f == 0; n /= f) factors.push_back(f);
  if (n > 1) factors.push_back(n);
  return factors;
}

Digits places(std::span<const std::int32_t> bases) {
  Digits digits;
  std::int32_t weight = 1;
  for (const std::int32_t base : bases) {
    digits.push_back({base, weight});
    weight *= base;
  }
  return digits;
}

/// All numbers with these digits, the first digit counting fastest.
std::vector<std::int32_t> numbers(std::span<const Digit> digits) {
  std::vector<std::int32_t> all{0};
  for (const Digit& digit : digits) {
    const std::size_t before = all.size();
    for (std::int32_t value = 1; value < digit.base; ++value)
      for (std::size_t i = 0; i < before; ++i) all.push_back(all[i] + value * digit.weight);
  }
  return all;
}

std::int64_t steps_of(const Pattern& pattern, std::int64_t size) {
  return size * static_cast<std::int64_t>(pattern.offsets.size());
}

/// Weighs tiles: what each sends within itself.
class Scale {
 public:
  explicit Scale(const Pattern& pattern) : pattern_(pattern), inside_(pattern.p, 0) {}

  std::int64_t operator()(std::span<const Digit> digits) {
    const std::vector<std::int32_t> tile = numbers(digits);
    for (const std::int32_t rank : tile) inside_[rank] = 1;
    std::int64_t sum = 0;
    for (const std::int32_t rank : tile)
      for (const auto& [offset, amount] : pattern_.offsets)
        if (inside_[pattern_.shifted(rank, offset)]) sum += amount;
    for (const std::int32_t rank : tile) inside_[rank] = 0;
    return sum;
  }

 private:
  const Pattern& pattern_;
  std::vector<char> inside_;
};

/// Calls visit(chosen) for every choice of digits whose bases multiply to `size`, up to a number of them.
template <class Visit>
void choices(const Digits& digits, std::size_t from, std::int32_t size, Digits& chosen, int& left, const Visit& visit) {
  if (left == 0) return;
  if (size == 1) {
    --left;
    visit(chosen);
    return;
  }
  for (std::size_t i = from; i < digits.size(); ++i) {
    if (size % digits[i].base != 0) continue;
    chosen.push_back(digits[i]);
    choices(digits, i + 1, size / digits[i].base, chosen, left, visit);
    chosen.pop_back();
  }
}

/// The heaviest tile of that size, and its weight; -1 where there is none.
std::pair<Digits, std::int64_t> heaviest(const Digits& digits, std::int32_t size, const Pattern& pattern,
                                         Scale& scale) {
  std::pair<Digits, std::int64_t> best{{}, -1};
  const auto visit = [&](const Digits& chosen) {
    const std::int64_t weight = scale(chosen);
    if (weight > best.second) best = {chosen, weight};
  };
  const std::int64_t affordable = max_steps / std::max<std::int64_t>(1, steps_of(pattern, size));
  Digits chosen;
  int left = static_cast<int>(std::clamp<std::int64_t>(affordable, 1, max_tiles));
  choices(digits, 0, size, chosen, left, visit);  // begins with the lowest digits
  if (left > 0) return best;
  const Digits reversed(digits.rbegin(), digits.rend());
  left = 1;
  choices(reversed, 0, size, chosen, left, [&](Digits top) {
    std::ranges::reverse(top);
    visit(top);
  });
  return best;
}

}  // namespace

const char* name(Symmetry symmetry) {
  switch (symmetry) {
    case Symmetry::rotation: return "rotation";
    case Symmetry::exclusive_or: return "exclusive or";
    case Symmetry::alternation: return "alternation";
    case Symmetry::none: break;
  }
  return "none";
}

Pattern pattern_of(int p, std::span<const std::int32_t> ranks, const std::function<Row(int rank)>& row) {
  Pattern rotation{Symmetry::rotation, p, row(0)};
  bool rotates = true, exclusive = std::has_single_bit(static_cast<unsigned>(p)), alternates = p % 2 == 0;
  Row seen;
  for (const std::int32_t rank : ranks.subspan(1)) {
    const Row sent = row(rank);
    const auto same = [&](const auto& offset_of) {
      seen = sent;
      for (auto& [peer, amount] : seen) peer = offset_of(peer);
      std::sort(seen.begin(), seen.end());
      return seen == rotation.offsets;
    };
    rotates = rotates && same([&](std::int32_t peer) { return (peer - rank + p) % p; });
    exclusive = exclusive && same([&](std::int32_t peer) { return peer ^ rank; });
    alternates =
        alternates && same([&](std::int32_t peer) { return (rank % 2 == 0 ? peer - rank + p : rank - peer + p) % p; });
    if (!rotates && !exclusive && !alternates) return {Symmetry::none, p, {}};
  }
  if (!rotates) rotation.symmetry = exclusive ? Symmetry::exclusive_or : Symmetry::alternation;
  return rotation;
}

Pattern pattern_of(const Traffic& traffic) {
  std::vector<std::int32_t> all(traffic.p);
  for (int rank = 0; rank < traffic.p; ++rank) all[rank] = rank;
  return pattern_of(traffic.p, all, [&](int rank) {
    Row row;
    for (std::int64_t e = traffic.first[rank]; e < traffic.first[rank + 1]; ++e)
      row.emplace_back(traffic.peer[e], traffic.amount[e]);
    return row;
  });
}

std::vector<std::int32_t> sample_of(int p, int about) {
  std::vector<std::int32_t> ranks;
  for (int rank = 0; rank < std::min(p, 4); ++rank) ranks.push_back(rank);
  for (int i = 1; i < about; ++i) ranks.push_back(static_cast<std::int32_t>((std::int64_t{p} * i / about + i) % p));
  ranks.push_back(p - 1);
  std::ranges::sort(ranks);
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

std::vector<std::int32_t> grouped(const Pattern& pattern, std::span<const std::int32_t> sizes) {
  if (pattern.symmetry == Symmetry::none) return {};
  std::vector<std::int32_t> bases = prime_factors(pattern.p);
  Scale scale(pattern);
  Digits best_order;  // the nearest level's digits first
  std::vector<std::int64_t> best_weights;
  const bool parity_first = pattern.symmetry == Symmetry::alternation;
  for (int tried = 0; tried < max_orders && !(parity_first && bases.front() != 2); ++tried) {
    Digits available = places(bases), outer;  // outer: what belongs to wider levels, the widest last
    std::vector<std::int64_t> weights;
    for (std::size_t level = sizes.size(); level-- > 0;) {
      auto [chosen, weight] = heaviest(available, sizes[level], pattern, scale);
      if (weight < 0) break;
      weights.push_back(weight);
      const auto left_out = [&](const Digit& d) {
        return std::ranges::none_of(chosen, [&](const Digit& c) { return c.weight == d.weight; });
      };
      Digits rest;
      std::ranges::copy_if(available, std::back_inserter(rest), left_out);
      outer.insert(outer.begin(), rest.begin(), rest.end());
      available = std::move(chosen);
    }
    if (weights.size() == sizes.size() && weights > best_weights) {
      best_weights = weights;
      best_order = available;
      best_order.insert(best_order.end(), outer.begin(), outer.end());
    }
    if (!std::next_permutation(bases.begin(), bases.end())) break;
  }
  if (best_order.empty()) return {};
  return numbers(best_order);
}

}  // namespace omnes::mapping
