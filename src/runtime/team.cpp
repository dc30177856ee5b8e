// A team's calls: find the plan (usually the one of last time), lend it the arena, run it, count it.
#include "runtime/team.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <map>
#include <new>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "runtime/executor.hpp"

namespace omnes {

namespace {

/// Everything that a plan depends on, in three words: it is made and compared in every call. Whether `send` is given (in place or not) differs
/// between ranks and drives no choice.
class Key {
 public:
  Key() = default;
  Key(const Call& call, bool commutative, bool direct, std::size_t count)
      : what_(static_cast<std::uint64_t>(call.operation) | static_cast<std::uint64_t>(call.in_place) << 8 |
              static_cast<std::uint64_t>(commutative) << 9 | static_cast<std::uint64_t>(direct) << 10 |
              static_cast<std::uint64_t>(call.root) << 32),
        count_(count),
        element_(call.element) {}

  Operation operation() const { return static_cast<Operation>(what_ & 0xFF); }
  bool in_place() const { return what_ >> 8 & 1; }
  bool commutative() const { return what_ >> 9 & 1; }
  bool direct() const { return what_ >> 10 & 1; }
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

constexpr std::size_t arena_alignment = 64;

struct Arena {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  ~Arena() { std::free(data); }
  void grow(std::size_t wanted) {
    std::free(data);
    bytes = (wanted + arena_alignment - 1) / arena_alignment * arena_alignment;
    data = static_cast<std::byte*>(std::aligned_alloc(arena_alignment, bytes));
    if (data != nullptr) return;
    bytes = 0;
    throw std::bad_alloc();
  }
};

struct Cached {
  Plan plan;
  std::size_t bytes = 0;  // of a part; of unequal ones their average, where it is known
  std::size_t count = 0;  // with unequal parts: what the digest stands for
  std::vector<std::size_t> send_counts, recv_counts;
  std::string algorithm;
  std::string why;
  std::uint64_t calls = 0;
  double seconds = 0;
};

}  // namespace

struct Team::State {
  explicit State(TeamSetup given) : setup(std::move(given)), executor(setup.shm.get(), setup.port) {
    placement.local.assign(setup.p, setup.shm ? 0 : -1);
    std::int32_t next = 0;
    for (int rank = 0; rank < setup.p && setup.shm; ++rank) {
      const bool here = setup.node.empty() || setup.node[rank] == setup.node[setup.rank];
      placement.local[rank] = here ? next++ : -1;
    }
    one_node = setup.shm != nullptr && next == setup.p;
    if (setup.shm && setup.waiting.oversubscribed && !setup.waiting.yields_reach) setup.shm->fence_wakes();
  }

  /// Bytes of a part that all ranks know alike: the average of unequal parts that everybody knows, 0 where nobody knows all.
  static std::size_t common_bytes(const Call& call) {
    switch (call.operation) {
      case Operation::allgatherv: return sum(call.recv_counts) / call.recv_counts.size() * call.element;
      case Operation::reduce_scatter: return sum(call.send_counts) / call.send_counts.size() * call.element;
      default: return unequal(call.operation) ? 0 : call.count * call.element;
    }
  }
  static std::size_t sum(std::span<const std::size_t> counts) {
    return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  }

  Cached make(const Call& call, const Key& key) const {
    Question question;
    question.operation = call.operation;
    question.p = setup.p;
    question.bytes = common_bytes(call);
    question.elements = call.element > 0 ? question.bytes / call.element : 0;
    question.commutative = key.commutative();
    question.one_node = one_node;
    const Answer answer = setup.selector->choose(question);

    Problem problem;
    problem.operation = call.operation;
    problem.p = setup.p;
    problem.rank = setup.rank;
    problem.root = call.root;
    problem.in_place = call.in_place;
    problem.radix = answer.choice.radix;
    if (call.neighbors) problem.neighbors = *call.neighbors;
    Schedule schedule = build(*answer.choice.algorithm, problem);
    // What the algorithm cuts a part into by nature tells what a segment is cut from.
    const std::size_t unit = question.bytes / static_cast<std::size_t>(schedule.pieces);
    problem.segments = segments_for(answer.choice, unit);
    if (problem.segments > 1) schedule = build(*answer.choice.algorithm, problem);

    const auto parts = [&](std::span<const std::size_t> counts) {
      return counts.empty() ? Parts{call.count, {}} : unequal_parts(counts);
    };
    const Layout layout{parts(call.send_counts), parts(call.recv_counts), call.element, schedule.pieces};
    Cached cached;
    cached.plan = bind(schedule, layout, placement, key.direct());
    cached.bytes = question.bytes;
    cached.count = call.count;
    cached.send_counts.assign(call.send_counts.begin(), call.send_counts.end());
    cached.recv_counts.assign(call.recv_counts.begin(), call.recv_counts.end());
    cached.algorithm = to_string(answer.choice);
    cached.why = answer.why;
    return cached;
  }

  static bool same_counts(const Cached& cached, const Call& call) {
    return cached.count == call.count && std::ranges::equal(cached.send_counts, call.send_counts) &&
           std::ranges::equal(cached.recv_counts, call.recv_counts);
  }

  Cached& plan_for(const Call& call, const Key& key) {
    Recent& at = recent[key.hash() >> (64 - recent_bits)];
    if (at.cached == nullptr || !(at.key == key)) [[unlikely]] {
      auto found = plans.find(key);
      if (found == plans.end()) {
        if (plans.size() >= most_plans) forget_plans();
        found = plans.emplace(key, make(call, key)).first;
      }
      at = {key, &found->second};
    }
    if (has_counts(call) && !same_counts(*at.cached, call)) [[unlikely]] {  // two calls with the same digest
      count(key, *at.cached, retired);
      *at.cached = make(call, key);
    }
    last = at.cached;
    return *last;
  }

  void forget_plans() {
    for (const auto& [key, cached] : plans) count(key, cached, retired);
    plans.clear();
    recent.fill({});
    last = nullptr;
  }

  using Counts = std::map<std::tuple<Operation, std::size_t, std::string>, Ran>;
  static void count(const Key& key, const Cached& cached, Counts& into) {
    if (cached.calls == 0) return;
    const std::size_t bytes = std::bit_floor(cached.bytes);
    Ran& ran =
        into.try_emplace({key.operation(), bytes, cached.algorithm}, Ran{key.operation(), bytes, cached.algorithm})
            .first->second;
    ran.calls += cached.calls;
    ran.seconds += cached.seconds;
  }

  TeamSetup setup;
  Placement placement;
  bool one_node = false;
  bool counting = false;
  Executor executor;
  Arena arena;
  std::unordered_map<Key, Cached, KeyHash> plans;
  struct Recent {
    Key key{};
    Cached* cached = nullptr;
  };
  std::array<Recent, 1 << recent_bits> recent{};  // in front of `plans`: one comparison for what runs again
  Cached* last = nullptr;
  Counts retired;
};

Team::Team(TeamSetup setup) : state_(std::make_unique<State>(std::move(setup))) {}
Team::~Team() = default;

int Team::p() const { return state_->setup.p; }
int Team::rank() const { return state_->setup.rank; }

int Team::run(const Call& call) {
  State& state = *state_;
  const Reduction* reduction = call.reduction;
  const Key key(call, reduction == nullptr || reduction->commutative,
                reduction != nullptr && reduction->context == nullptr && call.element <= largest_direct_element,
                has_counts(call) ? digest(call) : call.count);
  Cached& cached = state.plan_for(call, key);
  if (state.arena.bytes < cached.plan.arena_bytes) [[unlikely]]
    state.arena.grow(cached.plan.arena_bytes);
  // Schedules are proved never to write `send`.
  const Bases bases{
      {static_cast<std::byte*>(const_cast<void*>(call.send)), static_cast<std::byte*>(call.recv), state.arena.data}};
  if (!state.counting) [[likely]]
    return finish(state.executor.run(cached.plan, bases, call.reduction, state.setup.waiting));
  const auto start = std::chrono::steady_clock::now();
  const int result = state.executor.run(cached.plan, bases, call.reduction, state.setup.waiting);
  cached.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  ++cached.calls;
  return finish(result);
}

int Team::finish(int result) const {
  if (result == 0 && state_->setup.shm && state_->setup.shm->mismatch()) [[unlikely]]
    return truncated;
  return result;
}

std::string Team::last_choice() const {
  return state_->last == nullptr ? std::string() : state_->last->algorithm + " (" + state_->last->why + ")";
}

void Team::keep_statistics() { state_->counting = true; }

std::vector<Ran> Team::statistics() const {
  State::Counts all = state_->retired;
  for (const auto& [key, cached] : state_->plans) State::count(key, cached, all);
  std::vector<Ran> result;
  for (auto& [key, ran] : all) result.push_back(ran);
  return result;
}

}  // namespace omnes
