// A team's calls: find the plan (usually the one of last time), give it sizes, lend it the arena, run it, count it.
#include "runtime/team.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <iterator>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "model/advise.hpp"
#include "runtime/renumbering.hpp"
#include "schedule/hierarchy.hpp"

namespace omnes::inline runtime {

namespace {

/// Everything that a plan depends on but its sizes, in one word: it is made and compared in every call. Whether `send` is given (in place or not)
/// differs between ranks and drives no choice.
class Key {
 public:
  Key() = default;
  Key(const Call& call, Form form, bool commutative, Combining combining)
      : what_(static_cast<std::uint64_t>(call.operation) | static_cast<std::uint64_t>(call.in_place) << 8 |
              static_cast<std::uint64_t>(commutative) << 9 | static_cast<std::uint64_t>(combining.kernel) << 10 |
              static_cast<std::uint64_t>(form) << 11 | static_cast<std::uint64_t>(combining.direct) << 13 |
              static_cast<std::uint64_t>(call.root) << 32) {}

  Operation operation() const { return static_cast<Operation>(what_ & 0xFF); }
  bool commutative() const { return what_ >> 9 & 1; }
  Combining combining() const { return {static_cast<bool>(what_ >> 13 & 1), static_cast<bool>(what_ >> 10 & 1)}; }
  Form form() const { return static_cast<Form>(what_ >> 11 & 3); }
  int root() const { return static_cast<int>(what_ >> 32); }

  /// Its upper bits are the best mixed ones.
  std::uint64_t hash() const { return what_ * 0x9E3779B97F4A7C15u; }  // Fibonacci hashing: 2^64 / golden ratio
  bool operator==(const Key&) const = default;

 private:
  std::uint64_t what_ = ~std::uint64_t{0};  // of no call
};

struct KeyHash {
  std::size_t operator()(const Key& key) const { return key.hash() >> 16; }
};

/// Elements up to this size divide every fragment (56 bytes inline, slots, single-copy pieces), so kernels may take them one by one.
constexpr std::size_t largest_direct_element = 8;  // bytes
/// Ranges that are kept for one communicator; a program that needs more starts over.
constexpr std::size_t most_ranges = 4096;
constexpr int recent_bits = 4;  // log2 of how many recent kinds of calls are found by one comparison

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

  /// Sizes for which one answer holds, with what it came to: of blocking calls one plan, else one for each that was ever
  /// under way at once.
  struct Range {
    ByteRange sizes;
    std::vector<std::shared_ptr<Prepared>> prepared;
  };
  /// The ranges of calls that are alike but for their sizes, by size.
  struct Ranges {
    std::vector<Range> sorted;
    std::size_t last = 0;
  };

  /// Builds and binds what has been chosen. The bytes of a part may tell how many segments there are: `sizes` keeps those
  /// that tell so many.
  Plan plan_of(const Call& call, const Choice& choice, const Renumbered& renumbered, Combining combining,
               ByteRange& sizes) const {
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
    const auto natural =
        static_cast<std::size_t>(choice.algorithm->hierarchical ? std::max(choice.radix, 1) : schedule.pieces);
    const std::size_t bytes = common_bytes(call), unit = bytes / natural;
    problem.segments = segments_for(choice, setup.p, unit);
    sizes.narrow(same_segments(choice, setup.p, unit, natural), bytes);
    if (problem.segments > 1) schedule = build(*choice.algorithm, problem, renumbered);
    return bind(schedule, reach, combining);
  }

  static Layout layout_of(const Call& call, bool in_rows) {
    const auto parts = [&](std::span<const std::size_t> counts, std::span<const std::size_t> starts) {
      return Parts{call.count, counts, in_rows ? std::span<const std::size_t>() : starts};
    };
    return {parts(call.send_counts, call.send_starts), parts(call.recv_counts, call.recv_starts), call.element,
            call.all_counts};
  }

  std::shared_ptr<Prepared> make(const Call& call, const Key& key, ByteRange& sizes) {
    Question question = asked;
    question.operation = call.operation;
    question.blocking = key.form() == Form::blocking;
    question.bytes = common_bytes(call);
    question.commutative = key.commutative();
    question.kernel = !reduces(call.operation) || key.combining().direct;
    const Answer answer = setup.selector->choose(question, forced[static_cast<int>(call.operation)],
                                                 [this](const Question& asked_now) { return advise(asked_now); });
    sizes = answer.sizes;

    auto prepared = std::make_shared<Prepared>();
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
      resize(prepared->plan, layout_of(first, true));
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

  /// Whether ranks are renumbered may depend on sizes: then it is the same for all of a class, by its smallest.
  Renumbered renumber(const Choice& choice, const Call& call, const Key& key, ByteRange& sizes) {
    if (!renumbering) return {};
    std::optional<std::size_t> bytes = known_bytes(call);
    if (bytes && renumbering->depends_on_sizes()) {
      const ByteRange size_class = model::size_class(*bytes);
      sizes.narrow(size_class, *bytes);
      bytes = size_class.from;
    }
    return renumbering->find(choice, call.operation, call.root, bytes, key.commutative());
  }

  /// Gives what runs the sizes of this call.
  void size(Prepared& prepared, const Call& call) {
    if (prepared.choice.host) return;
    const bool equal = call.send_counts.empty() && call.recv_counts.empty();
    const bool same = equal && prepared.count == call.count && prepared.element == call.element;
    if (same && prepared.plan.sizing != 0 && !counting) return;
    if (!prepared.needs_all_counts) resize(prepared.plan, layout_of(call, prepared.in_rows));
    ++prepared.plan.sizing;
    prepared.count = call.count;
    prepared.element = call.element;
    if (!counting) return;
    prepared.bytes = common_bytes(call);
    prepared.own_bytes = own_bytes(call);
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

  const std::shared_ptr<Prepared>& prepared_for(const Call& call, Form form) {
    const Reduction* reduction = call.reduction;
    const bool kernel = reduction != nullptr && reduction->context == nullptr;
    const Key key(call, form, reduction == nullptr || reduction->commutative,
                  {kernel && call.element <= largest_direct_element, kernel});
    Recent* at = &recent[key.hash() >> (64 - recent_bits)];
    if (at->ranges == nullptr || !(at->key == key)) [[unlikely]] {
      if (ranges_kept >= most_ranges) forget_plans();
      *at = {key, &kinds[key]};
    }
    Range& range = range_of(*at->ranges, key, call);
    const std::shared_ptr<Prepared>& prepared = form == Form::blocking ? range.prepared.front() : idle_one(range);
    size(*prepared, call);
    last = prepared.get();
    return prepared;
  }

  Range& range_of(Ranges& ranges, const Key& key, const Call& call) {
    const std::size_t bytes = common_bytes(call);
    std::vector<Range>& sorted = ranges.sorted;
    if (ranges.last < sorted.size() && sorted[ranges.last].sizes.contains(bytes)) [[likely]]
      return sorted[ranges.last];
    auto above = std::ranges::upper_bound(sorted, bytes, {}, [](const Range& range) { return range.sizes.from; });
    if (above == sorted.begin() || !std::prev(above)->sizes.contains(bytes)) {
      Range made;
      made.prepared.push_back(make(call, key, made.sizes));
      ++ranges_kept;
      above = std::next(sorted.insert(above, std::move(made)));
    }
    ranges.last = static_cast<std::size_t>(std::prev(above) - sorted.begin());
    return sorted[ranges.last];
  }

  /// One that no operation holds: its sizes may change.
  static const std::shared_ptr<Prepared>& idle_one(Range& range) {
    for (const std::shared_ptr<Prepared>& one : range.prepared) {
      if (one.use_count() > 1) continue;
      std::atomic_thread_fence(std::memory_order_acquire);  // after whoever has let go of it
      return one;
    }
    auto another = std::make_shared<Prepared>(*range.prepared.front());
    another->counted.clear();
    return range.prepared.emplace_back(std::move(another));
  }

  void forget_plans() {
    for (const auto& [key, ranges] : kinds)
      for (const Range& range : ranges.sorted)
        for (const std::shared_ptr<Prepared>& prepared : range.prepared) retire(key, prepared);
    kinds.clear();
    ranges_kept = 0;
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
    const int root = rooted(key.operation()) ? key.root() : 0;
    for (const Prepared::Counted& more : prepared.counted) {
      const Ran fresh{.operation = key.operation(),
                      .form = key.form(),
                      .root = root,
                      .bytes = more.bytes,
                      .algorithm = prepared.algorithm,
                      .fastest = more.fastest,
                      .advice = prepared.advice};
      Ran& ran =
          into.try_emplace({key.operation(), key.form(), root, more.bytes, prepared.algorithm}, fresh).first->second;
      ran.calls += more.calls;
      ran.volume += more.volume;
      ran.seconds += more.seconds;
      ran.fastest = std::min(ran.fastest, more.fastest);
    }
  }

  TeamSetup setup;
  const bool& counting;  // the team's
  Reach reach;
  Question asked;                           // what is the same for all calls: where the ranks lie
  std::optional<Renumbering> renumbering;   // none where nothing is known of that
  std::unique_ptr<model::Advisor> advisor;  // made when first asked
  std::array<std::optional<Choice>, operation_count> forced;
  std::unordered_map<Key, Ranges, KeyHash> kinds;
  std::size_t ranges_kept = 0;
  struct Recent {
    Key key{};
    Ranges* ranges = nullptr;
  };
  std::array<Recent, 1 << recent_bits> recent{};  // in front of `kinds`: one comparison for what comes again
  const Prepared* last = nullptr;
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

void Prepared::add(std::chrono::duration<double> time) {
  const std::size_t rounded = std::bit_floor(bytes);
  auto at = std::ranges::find(counted, rounded, &Counted::bytes);
  if (at == counted.end()) at = counted.insert(at, {.bytes = rounded});
  ++at->calls;
  at->volume += own_bytes;
  at->seconds += time.count();
  at->fastest = std::min(at->fastest, time.count());
}

Team::Team(TeamSetup setup) : waiting_(setup.waiting), state_(std::make_unique<State>(std::move(setup), counting_)) {}
Team::~Team() = default;

int Team::p() const { return state_->setup.p; }
int Team::rank() const { return state_->setup.rank; }
int Team::nodes() const { return state_->asked.nodes; }

int Team::run(const std::shared_ptr<Prepared>& prepared, const Call& call) {
  if (prepared->needs_all_counts) [[unlikely]]
    return run_in_stages(*prepared, call);
  if (counting_) return run_counted(*prepared, bases_of(call), call.reduction);
  return lane_.run(prepared->plan, bases_of(call), call.reduction, waiting_);
}

int Team::run_counted(Prepared& prepared, Bases bases, const Reduction* reduction) {
  const auto start = std::chrono::steady_clock::now();
  const int result = lane_.run(prepared.plan, bases, reduction, waiting_);
  prepared.add(std::chrono::steady_clock::now() - start);
  return result;
}

int Team::run_in_stages(Prepared& first, Call call) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::size_t>& all_counts = state_->all_counts;
  all_counts.resize(static_cast<std::size_t>(p()) * p());
  const Call exchange = exchange_of_counts(call, all_counts.data());
  int code = lane_.run(first.plan, bases_of(exchange), nullptr, waiting_);
  if (code == 0) {
    call.all_counts = all_counts;
    resize(first.second, State::layout_of(call, first.in_rows));
    code = lane_.run(first.second, bases_of(call), nullptr, waiting_);
    if (code == 0 && first.second.truncates) code = Lane::truncated;
  }
  if (counting_) first.add(std::chrono::steady_clock::now() - start);
  return code;
}

const std::shared_ptr<Prepared>& Team::prepare(const Call& call, Form form) { return state_->prepared_for(call, form); }

std::shared_ptr<const Plan> Team::second_stage(const std::shared_ptr<Prepared>& first, const Call& call) {
  resize(first->second, State::layout_of(call, first->in_rows));
  return {first, &first->second};
}

void Team::force(Operation operation, std::optional<Choice> choice) {
  state_->forget_plans();
  state_->forced[static_cast<int>(operation)] = std::move(choice);
}

std::string Team::last_choice() const {
  return state_->last == nullptr ? std::string() : state_->last->algorithm + " (" + state_->last->why + ")";
}

std::vector<Ran> Team::statistics() const {
  State::Counts all = state_->counted;
  for (const auto& [key, prepared] : state_->retired) State::count(key, *prepared, all);
  for (const auto& [key, ranges] : state_->kinds)
    for (const State::Range& range : ranges.sorted)
      for (const std::shared_ptr<Prepared>& prepared : range.prepared) State::count(key, *prepared, all);
  std::vector<Ran> result;
  for (auto& [key, ran] : all) result.push_back(ran);
  return result;
}

}  // namespace omnes::inline runtime
