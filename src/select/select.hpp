// Which algorithm runs: forced by OMNES_<OPERATION>, else the first rule of the decision table that fits.
//
// The table is a readable TOML file (src/select/default.toml, compiled in), with the rules of the user's own in front of
// it. Only what all ranks know alike may drive a choice.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "select/settings.hpp"
#include "select/table.hpp"

namespace omnes {

struct Answer {
  Choice choice;
  std::string
      why;  ///< "the communicator", "OMNES_BCAST", or the rule of the table; before it, what was passed over and why
};

class Selector {
 public:
  /// What the settings force, the user's table that they name, and a whole one. Throws std::invalid_argument when the table is wrong.
  explicit Selector(const Settings& settings, std::string_view table = default_table);
  /// Reads the environment. Throws std::invalid_argument on a wrong name or value.
  static Selector from_environment() { return Selector(Settings::from_environment()); }

  /// `forced`: what the communicator wants, in front of all that the environment says.
  Answer choose(const Question& question, const std::optional<Choice>& forced = std::nullopt) const;
  Remap remap() const { return remap_; }
  bool reproducible() const { return reproducible_; }

 private:
  std::array<std::optional<Choice>, operation_count> forced_, forced_not_blocking_;
  Remap remap_;
  bool reproducible_;
  bool shared_heap_;
  std::vector<Rule> rules_;
};

}  // namespace omnes
