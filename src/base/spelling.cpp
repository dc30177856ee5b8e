#include "base/spelling.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace omnes {

namespace {

constexpr std::size_t longest = 64;  // letters of a word that any name is compared with

/// Letters to insert, remove or replace to make one of the other (Levenshtein 1966).
std::size_t distance(std::string_view one, std::string_view other) {
  std::vector<std::size_t> row(other.size() + 1);  // to the first letters of `other`, from those of `one` seen so far
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < one.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < other.size(); ++j)
      diagonal = std::exchange(row[j + 1], std::min({row[j + 1] + 1, row[j] + 1, diagonal + (one[i] != other[j])}));
  }
  return row.back();
}

}  // namespace

const std::string* nearest(std::string_view word, std::span<const std::string> names) {
  if (word.size() < 2 || word.size() > longest) return nullptr;
  std::size_t best = std::max<std::size_t>(1, word.size() / 3) + 1;  // the least that is too far
  const std::string* found = nullptr;
  for (const std::string& name : names) {
    if (name.size() >= word.size() + best || word.size() >= name.size() + best) continue;  // by their lengths alone
    const std::size_t far = distance(word, name);
    if (far >= best) continue;
    best = far;
    found = &name;
  }
  return found;
}

std::string valid_names(std::string_view word, const std::vector<std::string>& names,
                        const std::vector<std::string>& others) {
  std::string valid;
  for (const std::string& name : names) valid += (valid.empty() ? "valid: " : ", ") + name;
  std::vector<std::string> known = names;
  known.insert(known.end(), others.begin(), others.end());
  const std::string* const meant = nearest(word, known);
  return (meant ? "did you mean " + *meant + "? " : "") + valid;
}

}  // namespace omnes
