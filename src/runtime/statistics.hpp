// What ran, how often and how long.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/plan_cache.hpp"

namespace omnes::inline runtime {

/// What ran, for statistics: one entry for each distinct (operation, form, root, bytes rounded down to a power of two,
/// algorithm).
struct Ran {
  Operation operation;
  Form form;
  int root;               ///< 0 where there is none
  std::size_t bytes;      ///< of one part, rounded down to a power of two; 0 stays 0
  std::string algorithm;  ///< with parameters, as OMNES_... takes it, and how it is renumbered
  std::uint64_t calls = 0;
  std::uint64_t volume = 0;  ///< exact bytes of a part, summed over the calls; of unequal parts this rank's average
  double seconds = 0;        ///< from start to end
  double fastest = 0;        ///< of these calls
  std::string advice = {};   ///< the model's reason, where it has chosen
};

class Statistics {
 public:
  /// Adds what was counted of calls like this one.
  void add(const Key& key, const Prepared& prepared);
  std::vector<Ran> all() const;

 private:
  std::map<std::tuple<Operation, Form, int, std::size_t, std::string>, Ran> ran_;
};

}  // namespace omnes::inline runtime
