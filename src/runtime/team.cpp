// A team's calls: find the plan (usually the one of last time), lend it the arena, run it, count it.
#include "runtime/team.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "model/advise.hpp"
#include "runtime/renumbering.hpp"
#include "schedule/hierarchy.hpp"

namespace omnes::inline runtime {

namespace {

/// Everything that a plan depends on, in three words: it is made and compared in every call. Whether `send` is given (in place or not) differs
/// between ranks and drives no choice.
class Key {
 public:
  Key() = default;
  Key(const Call& call, Form form, bool commutative, bool kernel, std::size_t count)
      : what_(static_cast<std::uint64_t>(call.operation) | static_cast<std::uint64_t>(call.in_place) << 8 |
              static_cast<std::uint64_t>(commutative) << 9 | static_cast<std::uint64_t>(kernel) << 10 |
              static_cast<std::uint64_t>(form) << 11 | static_cast<std::uint64_t>(call.root) << 32),
        count_(count),
        element_(call.element) {}

  Operation operation() const { return static_cast<Operation>(what_ & 0xFF); }
  bool in_place() const { return what_ >> 8 & 1; }
  bool commutative() const { return what_ >> 9 & 1; }
  bool kernel() const { return what_ >> 10 & 1; }
  Form form() const { return static_cast<Form>(what_ >> 11 & 3); }
  int root() const { return static_cast<int>(what_ >> 32); }
  std::size_t count() const { return count_; }
  std::size_t element() const { return element_; }

  /// Its upper bits are the best mixed ones.
  std::uint64_t hash() const {
    return (what_ ^ count_ ^ element_ << 48) * 0x9E3779B97F4A7C15u;  // Fibonacci hashing: 2^64 / golden ratio
  }
  bool operator==(const Key&) const = default;

 private:
  std::uint64_t what_ = 0;
  std::size_t count_ = 0;
  std::size_t element_ = 0;
};

struct KeyHash {
  std::size_t operator()(const Key& key) const { return key.hash() >> 16; }
};

/// Elements up to this size divide every fragment (56 bytes inline, slots, single-copy pieces), so kernels may take them one by one.
constexpr std::size_t largest_direct_element = 8;  // bytes
/// Plans kept for one communicator; a program with more distinct calls than this starts over.
constexpr std::size_t most_plans = 512;
constexpr int recent_bits = 4;  // log2 of how many recent plans are found by one comparison
bool has_counts(const Call& call) { return !call.send_counts.empty() || !call.recv_counts.empty(); }

/// What stands for the counts of unequal parts in a key; the counts themselves are compared when the plan is found.
std::size_t digest(const Call& call) {
  std::size_t hash = call.count;
  const auto add = [&](std::size_t word) { hash = (hash ^ word) * 0x9E3779B97F4A7C15u + (hash >> 32); };
  for (const auto counts : {call.send_counts, call.recv_counts}) {
    add(counts.size());
    for (const std::size_t count : counts) add(count);
  }
  return hash;
}

}  // namespace

struct Team::State {
  State(TeamSetup given, const bool& counts) : setup(std::move(given)), counting(counts) {
    reach.local.assign(setup.p, -1);
    std::int32_t next = 0;
    for (int rank = 0; rank < setup.p && setup.shares_memory; ++rank) {
      const bool here = setup.node.empty() || setup.node[rank] == setup.node[setup.rank];
      if (here) reach.local[rank] = next++;
    }
    asked.p = setup.p;
    asked.lie_on(setup.node, setup.shares_memory);
    asked.own_cpus = setup.own_cpus;
    asked.host = setup.host;
    asked.machine_file = setup.machine != nullptr;
    if (!setup.placement && !setup.node.empty())
      setup.placement = {setup.p, {{"node", std::vector<std::int32_t>(setup.node.begin(), setup.node.end())}}};
    if (!setup.placement) return;
    asked.hierarchy = std::make_shared<const Hierarchy>(*setup.placement);
    renumbering.emplace(setup.selector->remap(), setup.selector->reproducible(), *setup.placement, setup.machine,
                        setup.shares_memory);
  }

  /// Bytes of a part that all ranks know alike: of unequal parts the average, and none where nobody knows all.
  static std::optional<std::size_t> known_bytes(const Call& call) {
    switch (call.operation) {
      case Operation::allgatherv: return sum(call.recv_counts) / call.recv_counts.size() * call.element;
      case Operation::reduce_scatter: return sum(call.send_counts) / call.send_counts.size() * call.element;
      default: return knows_parts(call.operation) ? std::optional(call.count * call.element) : std::nullopt;
    }
  }
  static std::size_t common_bytes(const Call& call) { return known_bytes(call).value_or(0); }
  static std::size_t sum(std::span<const std::size_t> counts) {
    return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  }

  /// Bytes of a part as this rank sees them: for statistics, as others may see something else.
  static std::size_t own_bytes(const Call& call) {
    const auto counts = call.send_counts.empty() ? call.recv_counts : call.send_counts;
    if (counts.empty() || rooted(call.operation)) return call.count * call.element;
    return (sum(counts) * call.element + counts.size() - 1) / counts.size();  // some bytes are never none
  }

  /// Builds and binds what has been chosen.
  Plan plan_of(const Call& call, const Choice& choice, const Renumbered& renumbered, Combining combining) const {
    Problem problem;
    problem.operation = call.operation;
    problem.p = setup.p;
    problem.rank = setup.rank;
    problem.root = call.root;
    problem.in_place = call.in_place;
    problem.radix = choice.radix;
    problem.hierarchy = asked.hierarchy;
    problem.composition = choice.levels;
    if (call.neighbors) problem.neighbors = *call.neighbors;
    Schedule schedule = build(*choice.algorithm, problem, renumbered);
    // What the algorithm cuts a part into by nature tells what a segment is cut from; hierarchical ones cut slices,
    // whatever their levels cut the segments into.
    const int natural = choice.algorithm->hierarchical ? std::max(choice.radix, 1) : schedule.pieces;
    const std::size_t unit = common_bytes(call) / static_cast<std::size_t>(natural);
    problem.segments = segments_for(choice, setup.p, unit);
    if (problem.segments > 1) schedule = build(*choice.algorithm, problem, renumbered);

    const auto parts = [&](std::span<const std::size_t> counts) {
      return counts.empty() ? Parts{call.count, {}} : unequal_parts(counts);
    };
    const Layout layout{parts(call.send_counts), parts(call.recv_counts), call.element, schedule.pieces,
                        call.all_counts};
    return bind(schedule, layout, reach, combining);
  }

  std::shared_ptr<Prepared> make(const Call& call, const Key& key) {
    Question question = asked;
    question.operation = call.operation;
    question.blocking = key.form() == Form::blocking;
    question.bytes = common_bytes(call);
    question.elements = call.element > 0 ? question.bytes / call.element : 0;
    question.commutative = key.commutative();
    const Combining combining{key.kernel() && call.element <= largest_direct_element, key.kernel()};
    question.kernel = !reduces(call.operation) || combining.direct;
    const Answer answer = setup.selector->choose(question, forced[static_cast<int>(call.operation)],
                                                 [this](const Question& asked_now) { return advise(asked_now); });

    auto prepared = std::make_shared<Prepared>();
    prepared->choice = answer.choice;
    prepared->why = answer.why;
    if (answer.choice.host) {
      prepared->algorithm = to_string(answer.choice);
      prepared->why = "left to the MPI by " + answer.why;
      return prepared;
    }
    if (renumbering)
      prepared->renumbered =
          renumbering->find(answer.choice, call.operation, call.root, known_bytes(call), key.commutative());
    prepared->needs_all_counts = answer.choice.algorithm->needs_all_counts;
    if (prepared->needs_all_counts) {
      const Call first = exchange_of_counts(call, nullptr);
      prepared->plan = std::move(make(first, Key(first, key.form(), true, false, first.count))->plan);
    } else {
      prepared->plan = plan_of(call, answer.choice, prepared->renumbered, combining);
    }
    prepared->bytes = question.bytes;
    prepared->own_bytes = own_bytes(call);
    prepared->count = call.count;
    prepared->send_counts.assign(call.send_counts.begin(), call.send_counts.end());
    prepared->recv_counts.assign(call.recv_counts.begin(), call.recv_counts.end());
    prepared->algorithm = to_string(answer.choice) + prepared->renumbered.text();
    prepared->advice = answer.advice;
    prepared->why += reason(prepared->renumbered);
    return prepared;
  }

  Advice advise(const Question& question) {
    if (!advisor) {
      const Placement nothing_known{setup.p, {}};
      advisor = std::make_unique<model::Advisor>(setup.machine, setup.placement.value_or(nothing_known), setup.node);
    }
    return (*advisor)(*setup.selector, question);
  }

  /// What is worth saying of it: that ranks are renumbered, or why not where that was asked for.
  std::string reason(const Renumbered& renumbered) const {
    if (renumbered.mapping) return "; renumbered: " + renumbered.why;
    const Remap wanted = setup.selector->remap();
    const bool asked_for = wanted == Remap::exchange || wanted == Remap::reorder;
    return asked_for && renumbering ? "; not renumbered: " + renumbered.why : std::string();
  }

  static bool same_counts(const Prepared& prepared, const Call& call) {
    return prepared.count == call.count && std::ranges::equal(prepared.send_counts, call.send_counts) &&
           std::ranges::equal(prepared.recv_counts, call.recv_counts);
  }

  const std::shared_ptr<Prepared>& prepared_for(const Call& call, Form form) {
    const Reduction* reduction = call.reduction;
    const Key key(call, form, reduction == nullptr || reduction->commutative,
                  reduction != nullptr && reduction->context == nullptr, has_counts(call) ? digest(call) : call.count);
    Recent& at = recent[key.hash() >> (64 - recent_bits)];
    if (at.prepared == nullptr || !(at.key == key)) [[unlikely]] {
      auto found = plans.find(key);
      if (found == plans.end()) {
        if (plans.size() >= most_plans) forget_plans();
        found = plans.emplace(key, make(call, key)).first;
      }
      at = {key, &found->second};
    }
    if (has_counts(call) && !same_counts(**at.prepared, call)) [[unlikely]] {  // two calls with the same digest
      retire(key, *at.prepared);
      *at.prepared = make(call, key);
    }
    last = at.prepared;
    return *at.prepared;
  }

  std::shared_ptr<const Plan> second_stage(const std::shared_ptr<const Prepared>& first, const Call& call, Form form) {
    SecondStage& last_one = second_stages[static_cast<int>(form)];
    if (last_one.first != first || !std::ranges::equal(last_one.all_counts, call.all_counts)) {
      auto plan = std::make_shared<const Plan>(plan_of(call, first->choice, first->renumbered, {}));
      last_one = {first, {call.all_counts.begin(), call.all_counts.end()}, std::move(plan)};
    }
    return last_one.plan;
  }

  void forget_plans() {
    for (const auto& [key, prepared] : plans) retire(key, prepared);
    plans.clear();
    recent.fill({});
    last = nullptr;
  }

  /// What is under way may still be counted in it.
  void retire(const Key& key, const std::shared_ptr<Prepared>& prepared) {
    if (!counting) return;
    if (prepared.use_count() > 1) {
      retired.emplace_back(key, prepared);
    } else {
      count(key, *prepared, counted);
    }
  }

  using Counts = std::map<std::tuple<Operation, Form, int, std::size_t, std::string>, Ran>;
  static void count(const Key& key, const Prepared& prepared, Counts& into) {
    if (prepared.calls == 0) return;
    const std::size_t bytes = std::bit_floor(prepared.bytes);
    const int root = rooted(key.operation()) ? key.root() : 0;
    const Ran fresh{.operation = key.operation(),
                    .form = key.form(),
                    .root = root,
                    .bytes = bytes,
                    .algorithm = prepared.algorithm,
                    .fastest = prepared.fastest,
                    .advice = prepared.advice};
    Ran& ran = into.try_emplace({key.operation(), key.form(), root, bytes, prepared.algorithm}, fresh).first->second;
    ran.calls += prepared.calls;
    ran.volume += prepared.calls * prepared.own_bytes;
    ran.seconds += prepared.seconds;
    ran.fastest = std::min(ran.fastest, prepared.fastest);
  }

  TeamSetup setup;
  const bool& counting;  // the team's
  Reach reach;
  Question asked;                           // what is the same for all calls: where the ranks lie
  std::optional<Renumbering> renumbering;   // none where nothing is known of that
  std::unique_ptr<model::Advisor> advisor;  // made when first asked
  std::array<std::optional<Choice>, operation_count> forced;
  std::unordered_map<Key, std::shared_ptr<Prepared>, KeyHash> plans;
  struct Recent {
    Key key{};
    std::shared_ptr<Prepared>* prepared = nullptr;
  };
  std::array<Recent, 1 << recent_bits> recent{};  // in front of `plans`: one comparison for what runs again
  const std::shared_ptr<Prepared>* last = nullptr;
  /// The last of each form only: all counts take more room than a plan.
  struct SecondStage {
    std::shared_ptr<const Prepared> first;
    std::vector<std::size_t> all_counts;
    std::shared_ptr<const Plan> plan;
  };
  std::array<SecondStage, form_count> second_stages;
  std::vector<std::size_t> all_counts;  // of a blocking call
  Counts counted;                       // of plans that are gone
  std::vector<std::pair<Key, std::shared_ptr<Prepared>>> retired;
};

std::string_view name(Form form) {
  switch (form) {
    case Form::blocking: return "blocking";
    case Form::nonblocking: return "nonblocking";
    case Form::persistent: return "persistent";
  }
  return "";
}

Team::Team(TeamSetup setup) : waiting_(setup.waiting), state_(std::make_unique<State>(std::move(setup), counting_)) {}
Team::~Team() = default;

int Team::p() const { return state_->setup.p; }
int Team::rank() const { return state_->setup.rank; }
int Team::nodes() const { return state_->asked.nodes; }

int Team::run(const std::shared_ptr<Prepared>& prepared, const Call& call) {
  if (prepared->needs_all_counts) [[unlikely]]
    return run_in_stages(prepared, call);
  if (counting_) return run_counted(*prepared, bases_of(call), call.reduction);
  return lane_.run(prepared->plan, bases_of(call), call.reduction, waiting_);
}

int Team::run_counted(Prepared& prepared, Bases bases, const Reduction* reduction) {
  const auto start = std::chrono::steady_clock::now();
  const int result = lane_.run(prepared.plan, bases, reduction, waiting_);
  prepared.add(std::chrono::steady_clock::now() - start);
  return result;
}

int Team::run_in_stages(const std::shared_ptr<Prepared>& first, Call call) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::size_t>& all_counts = state_->all_counts;
  all_counts.resize(static_cast<std::size_t>(p()) * p());
  const Call exchange = exchange_of_counts(call, all_counts.data());
  int code = lane_.run(first->plan, bases_of(exchange), nullptr, waiting_);
  if (code == 0) {
    call.all_counts = all_counts;
    const auto plan = state_->second_stage(first, call, Form::blocking);
    code = lane_.run(*plan, bases_of(call), nullptr, waiting_);
    if (code == 0 && plan->truncates) code = Lane::truncated;
  }
  if (counting_) first->add(std::chrono::steady_clock::now() - start);
  return code;
}

const std::shared_ptr<Prepared>& Team::prepare(const Call& call, Form form) { return state_->prepared_for(call, form); }

std::shared_ptr<const Plan> Team::second_stage(const std::shared_ptr<const Prepared>& first, const Call& call,
                                               Form form) {
  return state_->second_stage(first, call, form);
}

void Team::force(Operation operation, std::optional<Choice> choice) {
  state_->forget_plans();
  state_->forced[static_cast<int>(operation)] = std::move(choice);
}

std::string Team::last_choice() const {
  return state_->last == nullptr ? std::string() : (*state_->last)->algorithm + " (" + (*state_->last)->why + ")";
}

std::vector<Ran> Team::statistics() const {
  State::Counts all = state_->counted;
  for (const auto& [key, prepared] : state_->retired) State::count(key, *prepared, all);
  for (const auto& [key, prepared] : state_->plans) State::count(key, *prepared, all);
  std::vector<Ran> result;
  for (auto& [key, ran] : all) result.push_back(ran);
  return result;
}

}  // namespace omnes::inline runtime
