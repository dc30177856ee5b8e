// A team's calls: find the plan (usually the one of last time), lend it the arena, run it, count it.
#include "runtime/team.hpp"

#include <array>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <unordered_map>

#include "runtime/executor.hpp"

namespace omnes {

namespace {

/// Everything that a plan depends on. Whether `send` is given (in place or not) differs between ranks and drives no choice.
struct Key {
  Operation operation;
  bool in_place;
  bool commutative;
  bool direct;
  std::int32_t root;
  std::size_t count;
  std::size_t element;
  bool operator==(const Key&) const = default;
};

struct KeyHash {
  std::size_t operator()(const Key& key) const {
    std::uint64_t h = static_cast<std::uint64_t>(key.operation) | key.in_place << 8 | key.commutative << 9 |
                      key.direct << 10 | static_cast<std::uint64_t>(key.root) << 16;
    for (const std::uint64_t part : {static_cast<std::uint64_t>(key.count), static_cast<std::uint64_t>(key.element)})
      h = (h ^ part) * 0x9E3779B97F4A7C15u;  // Fibonacci hashing: 2^64 / golden ratio
    return h ^ h >> 32;
  }
};

/// Elements up to this size divide every fragment (56 bytes inline, slots, single-copy pieces), so kernels may take them one by one.
constexpr std::size_t largest_direct_element = 8;  // bytes
/// Plans kept for one communicator; a program with more distinct calls than this starts over.
constexpr std::size_t most_plans = 512;
constexpr std::size_t recent_plans = 16;
constexpr std::size_t arena_alignment = 64;

struct Arena {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  ~Arena() { std::free(data); }
  bool grow(std::size_t wanted) {
    if (wanted <= bytes) return true;
    std::free(data);
    bytes = (wanted + arena_alignment - 1) / arena_alignment * arena_alignment;
    data = static_cast<std::byte*>(std::aligned_alloc(arena_alignment, bytes));
    if (data == nullptr) bytes = 0;
    return data != nullptr;
  }
};

struct Cached {
  Plan plan;
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
  }

  Cached make(const Key& key) const {
    Question question;
    question.operation = key.operation;
    question.p = setup.p;
    question.bytes = key.count * key.element;
    question.elements = key.count;
    question.commutative = key.commutative;
    question.one_node = one_node;
    const Answer answer = setup.selector->choose(question);

    Problem problem;
    problem.operation = key.operation;
    problem.p = setup.p;
    problem.rank = setup.rank;
    problem.root = key.root;
    problem.in_place = key.in_place;
    problem.radix = answer.choice.radix;
    Schedule schedule = build(*answer.choice.algorithm, problem);
    // What the algorithm cuts a part into by nature tells what a segment is cut from.
    const std::size_t unit = question.bytes / static_cast<std::size_t>(schedule.pieces);
    problem.segments = segments_for(answer.choice, unit);
    if (problem.segments > 1) schedule = build(*answer.choice.algorithm, problem);

    Cached cached;
    cached.plan = bind(schedule, Layout{key.count, key.element, schedule.pieces}, placement, key.direct);
    cached.algorithm = to_string(answer.choice);
    cached.why = answer.why;
    return cached;
  }

  Cached& plan_for(const Key& key) {
    Recent& at = recent[KeyHash{}(key) % recent_plans];
    if (at.cached == nullptr || at.key != key) [[unlikely]] {
      auto found = plans.find(key);
      if (found == plans.end()) {
        if (plans.size() >= most_plans) forget_plans();
        found = plans.emplace(key, make(key)).first;
      }
      at = {key, &found->second};
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
    const std::size_t bytes = std::bit_floor(key.count * key.element);
    Ran& ran = into.try_emplace({key.operation, bytes, cached.algorithm}, Ran{key.operation, bytes, cached.algorithm})
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
  std::array<Recent, recent_plans> recent{};  // in front of `plans`: one comparison for what runs again
  Cached* last = nullptr;
  Counts retired;
};

Team::Team(TeamSetup setup) : state_(std::make_unique<State>(std::move(setup))) {}
Team::~Team() = default;

int Team::p() const { return state_->setup.p; }
int Team::rank() const { return state_->setup.rank; }

int Team::run(const Call& call) {
  State& state = *state_;
  const Key key{call.operation,
                call.in_place,
                call.reduction == nullptr || call.reduction->commutative,
                call.reduction != nullptr && call.reduction->context == nullptr && call.element <= largest_direct_element,
                call.root,
                call.count,
                call.element};
  Cached& cached = state.plan_for(key);
  if (!state.arena.grow(cached.plan.arena_bytes)) throw std::bad_alloc();
  // Schedules are proved never to write `send`.
  const Bases bases{{static_cast<std::byte*>(const_cast<void*>(call.send)), static_cast<std::byte*>(call.recv),
                     state.arena.data}};
  if (!state.counting) [[likely]]
    return finish(state.executor.run(cached.plan, bases, call.reduction, state.setup.waiting));
  const auto start = std::chrono::steady_clock::now();
  const int result = state.executor.run(cached.plan, bases, call.reduction, state.setup.waiting);
  cached.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  ++cached.calls;
  return finish(result);
}

int Team::finish(int result) const {
  if (result == 0 && state_->setup.shm && state_->setup.shm->mismatch()) [[unlikely]] return truncated;
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
