// Which algorithm runs: forced by OMNES_<OPERATION>, else the first rule of the decision table that fits.
//
// The table is a readable TOML file (src/select/default.toml, compiled in), with the rules of the user's own in front of
// it. What forces, and a rule, may leave the choice to the model. Only what all ranks know alike may drive a choice.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "select/settings.hpp"
#include "select/table.hpp"

namespace omnes::inline select {

struct Answer {
  Choice choice;
  std::string
      why;  ///< "the communicator", "OMNES_BCAST", or the rule of the table; before it, what was passed over and why
  std::string advice = {};  ///< the model's reason, where it has chosen
  ByteRange sizes = {};     ///< of a part, for which all of this is the same
};

/// What the model says.
struct Advice {
  std::optional<Choice> choice = {};  ///< none: it cannot say
  std::string why = {};               ///< "12.3 us expected, of knomial:k=4 13.1", or why there is none
  ByteRange sizes = {};               ///< of a part, for which it says this
};
using Adviser = std::function<Advice(const Question& question)>;

class Selector {
 public:
  /// What the settings force, the user's table that they name, and a whole one. Throws std::invalid_argument when the table is wrong.
  explicit Selector(const Settings& settings, std::string_view table = default_table);
  /// Reads the environment. Throws std::invalid_argument on a wrong name or value.
  static Selector from_environment() { return Selector(Settings::from_environment()); }

  /// `forced`: what the communicator wants, in front of all that the environment says. `model`: who is asked where the
  /// choice is left to the model; nobody: it cannot say.
  Answer choose(const Question& question, const std::optional<Choice>& forced = std::nullopt,
                const Adviser& model = {}) const;
  /// What the model chooses from: what the table would choose without it, what its rules use for ranks that lie likewise,
  /// and what is worth trying; all that can answer the question, the plainest first.
  std::vector<Choice> candidates(const Question& question) const;
  Remap remap() const { return remap_; }
  bool reproducible() const { return reproducible_; }

 private:
  Question asked(Question question) const;
  /// The user's for any operations, then those of the whole table for at least this one.
  std::array<std::span<const Rule>, 2> rules_for(Operation operation) const;

  std::array<std::optional<Choice>, operation_count> forced_, forced_not_blocking_;
  Remap remap_;
  bool reproducible_;
  bool shared_heap_;
  std::vector<Rule> own_rules_;
  std::vector<Rule> whole_table_;  // empty: the compiled-in one
};

}  // namespace omnes::inline select
