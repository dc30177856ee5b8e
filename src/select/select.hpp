// Which algorithm runs: forced by OMNES_<OPERATION>, else the first rule of the decision table that fits.
//
// The table is a readable TOML file (src/select/default.toml, compiled in). Only what all ranks know alike may drive a choice.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/registry.hpp"

namespace omnes {

/// An algorithm with its parameters: "knomial:k=4,segment=16K".
struct Choice {
  const Algorithm* algorithm = nullptr;
  int radix = 0;            ///< 0: the algorithm's default
  std::size_t segment = 0;  ///< bytes; 0: not segmented
};

/// Parses "name[:k=N][,segment=BYTES]" (bytes with K, M, G). Throws std::invalid_argument: one line, with what is valid.
Choice parse_choice(Operation operation, std::string_view text);
/// The inverse of parse_choice.
std::string to_string(const Choice& choice);
/// "16K" -> 16384. Throws std::invalid_argument.
std::size_t parse_bytes(std::string_view text);

/// What a choice may depend on.
struct Question {
  Operation operation;
  int p = 1;
  std::size_t bytes = 0;      ///< of one part
  std::size_t elements = 0;   ///< of one part
  bool commutative = true;
  bool one_node = true;       ///< all ranks share memory
};

struct Answer {
  Choice choice;
  std::string why;            ///< "OMNES_BCAST", or the rule of the table
};

class Selector {
 public:
  /// Reads OMNES_<OPERATION> from the environment and the compiled-in table. Throws std::invalid_argument on a wrong name or value.
  static Selector from_environment();
  Answer choose(const Question& question) const;

 private:
  struct Rule {
    Operation operation;
    int max_ranks;             // inclusive
    std::size_t max_bytes;     // inclusive
    std::optional<bool> commutative;
    std::optional<bool> one_node;
    Choice choice;
    std::string text;
  };
  std::optional<Choice> forced_[operation_count];
  std::vector<Rule> rules_;
};

/// The segments that a choice means for a message of so many bytes per natural unit; at least 1.
int segments_for(const Choice& choice, std::size_t bytes);

}  // namespace omnes
