// Choosing: the forced algorithm if it can do the job, else the first rule that fits and whose algorithm can.
#include "select/select.hpp"

namespace omnes {

Selector::Selector(const Settings& settings, std::string_view table)
    : forced_(settings.forced), reproducible_(settings.reproducible), rules_(parse_table(table)) {}

Answer Selector::choose(const Question& question) const {
  std::string passed_over;
  const auto serves = [&](const Choice& choice, const std::string& name) {
    const std::string reason = why_not(choice, question, reproducible_);
    if (!reason.empty()) passed_over += name + ": " + reason + "; ";
    return reason.empty();
  };
  if (const auto& forced = forced_[static_cast<int>(question.operation)]) {
    const std::string variable = variable_of(question.operation);
    if (serves(*forced, variable + "=" + to_string(*forced))) return {*forced, variable};
  }
  const Rule* chosen = nullptr;
  for (const Rule& rule : rules_) {
    if (!rule.fits(question)) continue;
    chosen = &rule;
    if (serves(rule.choice, to_string(rule.choice))) break;  // at the latest the operation's last rule
  }
  return {chosen->choice, passed_over + chosen->text};
}

}  // namespace omnes
