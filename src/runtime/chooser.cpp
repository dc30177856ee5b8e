// Asks, builds and binds.
#include "runtime/chooser.hpp"

#include <algorithm>

#include "algorithms/between.hpp"
#include "model/advise.hpp"
#include "runtime/sizes.hpp"
#include "schedule/hierarchy.hpp"

namespace omnes::inline runtime {

Chooser::Chooser(TeamSetup given) : setup_(std::move(given)) {
  reach_.local.assign(setup_.p, -1);
  std::int32_t next = 0;
  for (int rank = 0; rank < setup_.p && setup_.shares_memory; ++rank) {
    const bool here = setup_.node.empty() || setup_.node[rank] == setup_.node[setup_.rank];
    if (here) reach_.local[rank] = next++;
  }
  asked_.p = setup_.p;
  asked_.lie_on(setup_.node, setup_.shares_memory);
  asked_.own_cpus = setup_.own_cpus;
  asked_.fast_caches = asked_.one_node() && setup_.fast_caches;
  asked_.host = setup_.host;
  asked_.machine_file = setup_.machine != nullptr;
  if (!setup_.placement && !setup_.node.empty())
    setup_.placement = {setup_.p, {{"node", std::vector<std::int32_t>(setup_.node.begin(), setup_.node.end())}}};
  if (!setup_.placement) return;
  asked_.hierarchy = std::make_shared<const Hierarchy>(*setup_.placement);
  renumbering_.emplace(setup_.selector->remap(), setup_.selector->reproducible(), *setup_.placement, setup_.machine,
                       setup_.shares_memory);
}

Chooser::~Chooser() = default;

void Chooser::force(Operation operation, std::optional<Choice> choice) {
  forced_[static_cast<int>(operation)] = std::move(choice);
}

/// Builds and binds what has been chosen. The bytes of a part may tell how many segments there are: `sizes` keeps those
/// that tell so many.
Plan Chooser::plan_of(const Call& call, const Choice& choice, const Renumbered& renumbered, Combining combining,
                      ByteRange& sizes) const {
  Problem problem;
  problem.operation = call.operation;
  problem.p = setup_.p;
  problem.rank = setup_.rank;
  problem.root = among_neighbors(call.operation) ? 0 : call.root;
  problem.first_group = setup_.first_group;
  problem.in_place = call.in_place;
  problem.radix = choice.radix;
  problem.hierarchy = asked_.hierarchy;
  problem.composition = choice.levels;
  if (call.neighbors) problem.neighbors = *call.neighbors;
  Schedule schedule = build(*choice.algorithm, problem, renumbered);
  // What the algorithm cuts a part into by nature tells what a segment is cut from; hierarchical ones cut slices,
  // whatever their levels cut the segments into.
  const auto natural =
      static_cast<std::size_t>(choice.algorithm->hierarchical ? std::max(choice.radix, 1) : schedule.pieces);
  const std::size_t bytes = common_bytes(call), unit = bytes / natural;
  problem.segments = segments_for(choice, setup_.p, unit);
  sizes.narrow(same_segments(choice, setup_.p, unit, natural), bytes);
  if (problem.segments > 1) schedule = build(*choice.algorithm, problem, renumbered);
  return bind(schedule, reach_, combining);
}

std::shared_ptr<Prepared> Chooser::make(const Call& call, const Key& key, ByteRange& sizes) {
  Question question = asked_;
  question.operation = call.operation;
  question.blocking = key.form() == Form::blocking;
  question.bytes = common_bytes(call);
  question.commutative = key.commutative();
  question.kernel = !reduces(call.operation) || key.combining().direct;
  const Answer answer = setup_.first_group > 0 && call.operation != Operation::barrier
                            ? choose_between(question)
                            : setup_.selector->choose(question, forced_[static_cast<int>(call.operation)],
                                                      [this](const Question& asked_now) { return advise(asked_now); });
  sizes = answer.sizes;

  auto prepared = std::make_shared<Prepared>();
  prepared->operation = call.operation;
  prepared->root = rooted(call.operation) ? call.root : 0;
  prepared->choice = answer.choice;
  prepared->why = answer.why;
  if (answer.choice.host) {
    prepared->algorithm = to_string(answer.choice);
    prepared->why = "left to the MPI by " + answer.why;
    return prepared;
  }
  prepared->renumbered = renumber(answer.choice, call, key, sizes);
  prepared->needs_all_counts = answer.choice.algorithm->needs_all_counts;
  if (prepared->needs_all_counts) {
    const Call first = exchange_of_counts(call, nullptr);
    ByteRange of_counts;
    prepared->plan = std::move(make(first, Key(first, key.form(), true, {}), of_counts)->plan);
    resize(prepared->plan, sizes_of(first, true));
  }
  Plan& plan = prepared->needs_all_counts ? prepared->second : prepared->plan;
  plan = plan_of(call, answer.choice, prepared->renumbered, key.combining(), sizes);
  prepared->in_rows = plan.joins_parts;
  prepared->sizes = sizes;
  prepared->algorithm = to_string(answer.choice) + prepared->renumbered.text();
  prepared->advice = answer.advice;
  prepared->why += reason(prepared->renumbered);
  return prepared;
}

/// Between groups no table says anything, and ranks know how many bytes there are only where they take part. Flat: the fewest rounds.
Answer Chooser::choose_between(const Question& question) const {
  constexpr int many = 64;  // ranks: to send to, or hear of, each of a group takes as long as a tree's rounds
  constexpr std::size_t few_bytes = 8 * 1024;   // as in the table's rules for allreduce on one node
  constexpr std::size_t bytes_for_each = 1024;  // of a slice, which is a message
  constexpr std::size_t segment = 32 * 1024;    // a slot
  if (among_neighbors(question.operation))
    return {.choice = {find_algorithm(question.operation, "linear")}, .why = "between groups"};
  const std::vector<const Algorithm*> known = between_groups(question.operation);  // flat first, tree last
  const bool near = question.one_node() && question.p <= many;
  if (!reduces(question.operation)) {
    if (near) return {.choice = {known.front()}, .why = "between groups on one node"};
    return {.choice = {.algorithm = known.back(), .segment = segment}, .why = "between groups"};
  }
  const std::size_t most = std::max(few_bytes, near ? 0 : bytes_for_each * question.p);
  const bool flat = near || setup_.selector->reproducible();
  if (question.bytes > most)
    return {.choice = {.algorithm = known[1], .segment = segment}, .why = "long, between groups", .sizes = {most + 1}};
  return {.choice = {flat ? known.front() : known.back()}, .why = "short, between groups", .sizes = {0, most}};
}

/// Whether ranks are renumbered may depend on sizes: then it is the same for all of a class, by its smallest.
Renumbered Chooser::renumber(const Choice& choice, const Call& call, const Key& key, ByteRange& sizes) {
  if (!renumbering_ || setup_.first_group > 0) return {};
  std::optional<std::size_t> bytes = known_bytes(call);
  if (bytes && renumbering_->depends_on_sizes()) {
    const ByteRange size_class = model::size_class(*bytes);
    sizes.narrow(size_class, *bytes);
    bytes = size_class.from;
  }
  return renumbering_->find(choice, call.operation, call.root, bytes, key.commutative());
}

Advice Chooser::advise(const Question& question) {
  if (!advisor_) {
    const Placement nothing_known{setup_.p, {}};
    advisor_ = std::make_unique<model::Advisor>(setup_.machine, setup_.placement.value_or(nothing_known), setup_.node);
  }
  return (*advisor_)(*setup_.selector, question);
}

/// What is worth saying of it: that ranks are renumbered, or why not where that was asked for.
std::string Chooser::reason(const Renumbered& renumbered) const {
  if (renumbered.mapping) return "; renumbered: " + renumbered.why;
  const Remap wanted = setup_.selector->remap();
  const bool asked_for = !setup_.first_group && (wanted == Remap::exchange || wanted == Remap::reorder);
  return asked_for && renumbering_ ? "; not renumbered: " + renumbered.why : std::string();
}

}  // namespace omnes::inline runtime
