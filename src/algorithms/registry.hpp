// The catalogue: every algorithm registers itself here with what it can do and what it cannot.
//
// To add one, write one file with a build function and one `Register` object; list, verify, draw, tests and docs find
// it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedule/builder.hpp"

namespace omnes::inline algorithms {

/// A hierarchical algorithm: the operations that run in the groups of each level but the last, on the way to their
/// representatives and back, and in the last group. Where there is none for the last, it is passed up and down, too.
struct Phases {
  std::optional<Operation> up = {}, top = {}, down = {};
};

struct Algorithm {
  Operation operation;
  const char* name;     ///< lower case, as in OMNES_BCAST=name
  const char* summary;  ///< one line
  const char* source;   ///< who described it
  void (*build)(Builder& builder);
  int default_radix = 0;  ///< 0: takes no radix (`k`)
  int min_radix = 2;
  bool segmented = false;     ///< honours Problem::segments
  bool ordered = false;       ///< reductions: combines in rank order, so serves operations of programs
  bool from_left = false;     ///< reductions: ((x0 . x1) . x2) ...: the same bits as all others that say so
  bool power_of_two = false;  ///< only for p a power of two
  bool even = false;          ///< only for p even, or 1
  bool unequal = false;       ///< also serves the operations with unequal parts: registered once more for each of them
  std::optional<Operation> also = {};  ///< another operation that `build` serves: likewise
  bool root_radix = false;  ///< the default radix is the square root of p, rounded up, and at least default_radix
  /// Of what each rank sends to each, where parts are unequal: its schedules use Builder::temp_between().
  bool needs_all_counts = false;
  /// Composed of others, over Problem::hierarchy. `ordered` holds where ranks of each unit are consecutive.
  std::optional<Phases> hierarchical = {};
  bool consecutive = false;  ///< hierarchical: serves only placements where they are
  bool uniform = false;      ///< hierarchical: serves only placements where units of a level have as many parts
};

/// All of them, sorted by operation and name.
const std::vector<const Algorithm*>& catalogue();
/// nullptr when there is none of that name.
const Algorithm* find_algorithm(Operation operation, std::string_view name);

/// Another name that users know for an algorithm, in all operations that have it and nothing else of the other name.
struct Alias {
  const char* name;
  const char* algorithm;
  int radix = 0;                       ///< the k that the name means; 0: any
  std::optional<Operation> only = {};  ///< where the name means this algorithm: here, with equal and unequal parts
};
/// nullptr when `name` is none for this operation.
const Alias* find_alias(Operation operation, std::string_view name);
std::vector<const Alias*> aliases_of(const Algorithm& algorithm);

/// The radix for p ranks where none is asked for; 0: takes none.
int default_radix(const Algorithm& algorithm, int p);
/// Why the algorithm cannot solve the problem, in a few words; empty when it can.
std::string why_not(const Algorithm& algorithm, const Problem& problem, bool commutative);
/// The schedule of problem.rank. Throws std::invalid_argument with why_not's reason.
Schedule build(const Algorithm& algorithm, Problem problem, Detail detail = Detail::whole);
/// Adds what it sends, and returns the blocks that it cuts a part into. Throws likewise.
int count_sent(const Algorithm& algorithm, Problem problem, Tally& tally);

/// The names of an algorithm's file are its own: its namespace has none. Where the files of a folder are compiled as one, it has
/// one for each (cmake/by_folder.cmake).
#ifndef OMNES_UNNAMED
#define OMNES_UNNAMED
#endif

/// An entry of the catalogue, which points to it: a constant of the algorithm's file.
struct Register {
  Algorithm algorithm;
  explicit Register(const Algorithm& described);
  Register(const Register&) = delete;
};

}  // namespace omnes::inline algorithms
