// Choosing: the forced algorithm if it can do the job, else the first rule that fits and whose algorithm can.
#include "select/select.hpp"

#include <algorithm>
#include <iterator>

#include "algorithms/levels.hpp"

namespace omnes {

Selector::Selector(const Settings& settings, std::string_view table)
    : forced_(settings.forced),
      forced_not_blocking_(settings.forced_not_blocking),
      remap_(settings.remap),
      reproducible_(settings.reproducible),
      shared_heap_(settings.heap == HeapUse::shared) {
  if (settings.table) rules_ = parse_own_table(settings.table->text, settings.table->name);
  std::ranges::move(parse_table(table), std::back_inserter(rules_));
}

Answer Selector::choose(const Question& question, const std::optional<Choice>& forced) const {
  std::string passed_over;
  const auto serves = [&](const Choice& choice, const std::string& name) {
    const std::string reason = why_not(choice, question, reproducible_);
    if (!reason.empty()) passed_over += name + ": " + reason + "; ";
    if (!reason.empty() || choice.levels.empty()) return reason.empty();
    const std::string absent = levels_passed_over(choice.levels, question.hierarchy.get());
    if (!absent.empty()) passed_over += name + ": these ranks have no level " + absent + "; ";
    return reason.empty();
  };
  const auto wants = [&](const std::optional<Choice>& choice, const std::string& who) {
    return choice && serves(*choice, who + "=" + to_string(*choice));
  };
  if (wants(forced, "the communicator")) return {*forced, passed_over + "the communicator"};
  for (const bool for_all_forms : {false, true}) {
    if (!for_all_forms && question.blocking) continue;
    const auto& by_environment = (for_all_forms ? forced_ : forced_not_blocking_)[static_cast<int>(question.operation)];
    const std::string variable = variable_of(question.operation, for_all_forms);
    if (wants(by_environment, variable)) return {*by_environment, passed_over + variable};
  }
  Question asked = question;
  asked.shared_heap = shared_heap_;
  const Rule* chosen = nullptr;
  for (const Rule& rule : rules_) {
    if (!rule.fits(asked)) continue;
    chosen = &rule;
    if (serves(rule.choice, to_string(rule.choice))) break;  // at the latest the operation's last rule
  }
  return {chosen->choice, passed_over + chosen->text};
}

}  // namespace omnes
