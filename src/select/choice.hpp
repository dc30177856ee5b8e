// An algorithm with its parameters, and its text form: "knomial:k=4,segment=16K".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/registry.hpp"

namespace omnes::inline select {

/// A range of sizes of a part, both ends included.
struct ByteRange {
  std::size_t from = 0, to = SIZE_MAX;
  bool contains(std::size_t bytes) const { return from <= bytes && bytes <= to; }
  /// Whether these bytes, which the range contains, lie in the other one; what is left of it are those that lie there as
  /// well, or do not either.
  bool narrow(const ByteRange& other, std::size_t bytes);
};

struct Choice {
  const Algorithm* algorithm = nullptr;  ///< null: `host`, or whatever the model holds for the fastest
  int radix = 0;                         ///< 0: the algorithm's default
  std::size_t segment = 0;               ///< bytes; 0: not segmented
  Composition levels = {};               ///< of hierarchical algorithms: those that are named
  bool host = false;                     ///< the host MPI is to do it, by whatever algorithm it has

  bool by_model() const { return !algorithm && !host; }
  bool composed() const { return algorithm && algorithm->hierarchical; }
  bool operator==(const Choice&) const = default;
};

/// Parses "name[:k=N][,segment=BYTES]", with "LEVEL=NAME[:k=N]" for the levels of hierarchical algorithms; an alias
/// becomes what it means. Throws std::invalid_argument: one line, with what is valid.
Choice parse_choice(Operation operation, std::string_view text);
/// The same, or "model", or, as only blocking calls may be left to it, "host". What may be asked for by variables,
/// communicators and tables.
Choice parse_wish(Operation operation, std::string_view text, bool blocking = true);
/// The inverse of both, without aliases.
std::string to_string(const Choice& choice);

/// A whole number from lowest to highest. Throws std::invalid_argument.
int parse_number(std::string_view text, int lowest, int highest);
/// "16K" -> 16384; also M and G. Throws std::invalid_argument.
std::size_t parse_bytes(std::string_view text);
/// 16384 -> "16K".
std::string bytes_text(std::size_t bytes);

/// What is worth trying for parts of so many bytes, where nothing is known: every algorithm as it comes, and with a few
/// radices and segments.
std::vector<Choice> candidates(Operation operation, std::size_t part_bytes);

/// Why the choice cannot solve the problem, which is without what the choice says; empty when it can.
std::string why_not(const Choice& choice, Problem problem, bool commutative);

/// The segments that a choice means on p ranks for a message of so many bytes per natural unit; at least 1.
int segments_for(const Choice& choice, int p, std::size_t bytes);
/// The bytes of parts, each of so many natural units, for which there are as many segments as for a unit of `bytes`.
ByteRange same_segments(const Choice& choice, int p, std::size_t bytes, std::size_t units);

}  // namespace omnes::inline select
