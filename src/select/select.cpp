// Choosing: the forced algorithm if it can do the job, else the first rule that fits and whose algorithm can.
#include "select/select.hpp"

#include <algorithm>
#include <iterator>

#include "algorithms/levels.hpp"
#include "transport/shm/policy.hpp"

namespace omnes::inline select {

namespace {

/// Bytes of the shortest segments that are tried where all messages pass through shared memory: a slot. Shorter ones took
/// 1.3 to 1.5 times as long with 2 ranks on 2 cores of an AMD EPYC (Zen 3).
std::size_t shortest_in_memory() {
  static const std::size_t bytes = shm::Policy{}.slot_bytes;
  return bytes;
}

std::string why_not_host(const Question& question, bool reproducible) {
  if (!question.blocking) return "serves blocking calls only";
  if (!question.host) return "while it waits, operations under way would not go on with this MPI";
  if (reproducible && reduces(question.operation))
    return "need not combine from the left, as OMNES_REPRODUCIBLE=1 asks";
  return "";
}

}  // namespace

Selector::Selector(const Settings& settings, std::string_view table)
    : forced_(settings.forced),
      forced_not_blocking_(settings.forced_not_blocking),
      remap_(settings.remap),
      reproducible_(settings.reproducible),
      shared_heap_(settings.heap == HeapUse::shared) {
  if (settings.table) own_rules_ = parse_own_table(settings.table->text, settings.table->name);
  if (table.data() != default_table.data()) whole_table_ = parse_table(table);
}

std::array<std::span<const Rule>, 2> Selector::rules_for(Operation operation) const {
  if (whole_table_.empty()) return {own_rules_, default_rules(operation)};
  return {own_rules_, whole_table_};
}

// Adopted buffers change no choice (OMNES_HEAP=auto): each rank adopts alone, and not at first, and what suits a shared heap may be
// slow without one. Not adopted, a sliced reduce of 1 MiB took 5 times as long as a linear one in segments (2 ranks on a Zen 5), a
// linear bcast 4 times as long as a hierarchical one (16 cores).
Question Selector::asked(Question question) const {
  question.shared_heap = shared_heap_;
  return question;
}

Answer Selector::choose(const Question& question, const std::optional<Choice>& forced, const Adviser& model) const {
  std::string passed_over;
  ByteRange sizes;
  const auto serves = [&](const Choice& choice, const std::string& name) {
    const std::string reason = why_not(choice, question, reproducible_);
    if (!reason.empty()) passed_over += name + ": " + reason + "; ";
    if (!reason.empty() || choice.levels.empty()) return reason.empty();
    const std::string absent = levels_passed_over(choice.levels, question.hierarchy.get());
    if (!absent.empty()) passed_over += name + ": these ranks have no level " + absent + "; ";
    return reason.empty();
  };
  // An answer if what is wanted can serve; `name` is the choice as complaints spell it, `who` wants it.
  const auto answer = [&](const Choice& choice, const std::string& name,
                          const std::string& who) -> std::optional<Answer> {
    if (choice.algorithm) {
      if (!serves(choice, name)) return std::nullopt;
      return Answer{choice, passed_over + who, {}, sizes};
    }
    if (choice.host) {
      const std::string reason = why_not_host(question, reproducible_);
      if (reason.empty()) return Answer{choice, passed_over + who, {}, sizes};
      passed_over += name + ": " + reason + "; ";
      return std::nullopt;
    }
    const Advice advice = model ? model(asked(question)) : Advice{{}, "is not asked here"};
    sizes.narrow(advice.sizes, question.bytes);
    if (advice.choice)
      return Answer{*advice.choice, passed_over + who + "; the model: " + advice.why, advice.why, sizes};
    passed_over += name + ": " + advice.why + "; ";
    return std::nullopt;
  };
  const auto wanted = [&](const std::optional<Choice>& choice, const std::string& who) {
    return choice ? answer(*choice, who + "=" + to_string(*choice), who) : std::nullopt;
  };
  if (const auto found = wanted(forced, "the communicator")) return *found;
  for (const bool for_all_forms : {false, true}) {
    if (!for_all_forms && question.blocking) continue;
    const auto& by_environment = (for_all_forms ? forced_ : forced_not_blocking_)[static_cast<int>(question.operation)];
    if (const auto found = wanted(by_environment, variable_of(question.operation, for_all_forms))) return *found;
  }
  const Question here = asked(question);
  const Rule* last = nullptr;
  for (const std::span<const Rule> rules : rules_for(here.operation)) {
    for (const Rule& rule : rules) {
      if (!rule.fits_at_some_size(here) || !sizes.narrow(rule.sizes(), here.bytes)) continue;
      last = &rule;
      const Choice choice = rule.choice();
      if (const auto found = answer(choice, to_string(choice), rule.text())) return *found;
    }
  }
  return {last->choice(), passed_over + last->text(), {}, sizes};  // serves everything
}

std::vector<Choice> Selector::candidates(const Question& question) const {
  std::vector<Choice> found;
  const auto add = [&](const Choice& choice) {
    if (!choice.algorithm || !why_not(choice, question, reproducible_).empty()) return false;
    if (!levels_passed_over(choice.levels, question.hierarchy.get()).empty()) return false;
    if (std::ranges::find(found, choice) == found.end()) found.push_back(choice);
    return true;
  };
  const Question here = asked(question);
  const auto rules = rules_for(here.operation);
  const auto is_answer = [&](const Rule& rule) { return rule.fits(here) && add(rule.choice()); };
  (void)std::ranges::any_of(rules, [&](std::span<const Rule> some) { return std::ranges::any_of(some, is_answer); });
  // Composed algorithms only as rules spell them: their ways to be composed are too many to try.
  for (const Choice& choice : omnes::candidates(question.operation, question.bytes))
    if (!choice.algorithm->hierarchical &&
        (!question.one_node() || choice.segment == 0 || choice.segment >= shortest_in_memory()))
      add(choice);
  const auto same = [](std::optional<bool> asked_for, bool holds) { return asked_for.value_or(holds) == holds; };
  for (const std::span<const Rule> some : rules)
    for (const Rule& rule : some)
      if (rule.operation == question.operation && same(rule.one_node, question.one_node()) &&
          same(rule.shared_memory, question.shared_memory))
        if (const Choice choice = rule.choice(); !(question.one_node() && choice.composed())) add(choice);
  return found;
}

}  // namespace omnes::inline select
