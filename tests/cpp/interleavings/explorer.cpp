// The explorer: ranks, their decisions, memory, and what the compiler has each access call.
#include "explorer.hpp"

#include <ucontext.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <stdexcept>

namespace explorer {

namespace {

constexpr std::size_t max_ranks = 4;   // and one that sets up
constexpr std::size_t cell_bytes = 4;  // plain accesses are looked at so finely
constexpr std::size_t max_values = 4;  // of a location, among which a load has the choice
constexpr int idle_rounds = 600;  // in which ranks look in vain, before one's time-out ends its sleep, or all are stuck
constexpr std::size_t max_steps = 100'000;  // of a run
constexpr std::size_t stack_bytes = 256 << 10;
constexpr std::size_t steps_shown = 40;

/// What a rank knows of: of each location the oldest store that it may still see, of each rank up to when.
struct Knowledge {
  std::vector<std::uint32_t> stores;
  std::array<std::uint32_t, max_ranks + 1> times{};

  std::uint32_t& store(std::size_t location) {
    if (location >= stores.size()) stores.resize(location + 1);
    return stores[location];
  }
  void join(const Knowledge& other) {
    if (other.stores.size() > stores.size()) stores.resize(other.stores.size());
    for (std::size_t i = 0; i < other.stores.size(); ++i) stores[i] = std::max(stores[i], other.stores[i]);
    for (std::size_t i = 0; i < times.size(); ++i) times[i] = std::max(times[i], other.times[i]);
  }
};

struct Store {
  std::uint64_t value;
  Knowledge handed_on;  ///< to who acquires it
};

using Location = std::vector<Store>;  ///< in the order in which they take effect

/// Of a few bytes: who has written and read them last.
struct Cell {
  std::uint32_t writer = 0, written = 0;
  std::array<std::uint32_t, max_ranks + 1> read{};
};

struct Region {
  std::byte* begin;
  std::byte* end;
  std::vector<Cell> cells;
  std::vector<int> locations;  // by cell; -1: none
};

struct Rank {
  ucontext_t context;
  std::unique_ptr<std::byte[]> stack;
  std::function<void()> work;
  Knowledge knows, before_fence, to_be_acquired;
  bool done = false;
  bool pausing = false;
  bool saw_old = false;               // since its last pause
  std::uint64_t stores_at_pause = 0;  // of all ranks
  const void* asleep_on = nullptr;
};

enum class Kind { switching, seeing };
struct Decision {
  Kind kind;
  int taken, of;
};

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct World {
  const Scenario* scenario;
  /// Decisions in a run that cost something.
  int allowed(Kind kind) const { return kind == Kind::switching ? scenario->max_switches : scenario->max_old; }
  std::vector<Decision> decisions;
  std::size_t next = 0;
  int switches = 0, old = 0;
  bool random = false;
  std::mt19937_64 draw;

  std::deque<Region> regions;
  std::vector<Location> locations;
  std::vector<std::unique_ptr<Rank>> ranks;  // 0: who sets up
  std::size_t current = 0;
  std::uint64_t stores = 0;
  int idle = 0;
  std::size_t steps = 0;
  Knowledge fences;  // sequentially consistent ones
  bool tracing = false;
  std::deque<std::string> trace;
  std::string failure;
  ucontext_t scheduler;
};
World* world = nullptr;

Rank& self() { return *world->ranks[world->current]; }

void say(const char* format, ...) __attribute__((format(printf, 1, 2)));
void say(const char* format, ...) {
  if (!world->tracing) return;
  char line[200];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  const std::size_t current = world->current;
  world->trace.push_back((current == 0 ? "set-up" : "rank " + std::to_string(current - 1)) + ": " + line);
  if (world->trace.size() > steps_shown) world->trace.pop_front();
}

void note_failure(const std::string& what) {
  std::string& failure = world->failure;
  failure = world->scenario->name + ": " + what + "\n";
  for (const std::string& step : world->trace) failure += "  " + step + "\n";
}

/// Ends the run, from within a rank or from setting up. Ranks have no frames that need to be unwound: what they hold is lost with them.
[[noreturn]] void fail(const std::string& what) {
  note_failure(what);
  if (world->current == 0) throw Failure(world->failure);
  setcontext(&world->scheduler);
  __builtin_unreachable();
}

/// One of so many; 0 costs nothing.
int decide(Kind kind, int of) {
  World& w = *world;
  int& used = kind == Kind::switching ? w.switches : w.old;
  if (of < 2 || w.idle > 0) return 0;
  if (w.random) return w.draw() % 4 == 0 ? static_cast<int>(w.draw() % static_cast<unsigned>(of)) : 0;
  if (used >= w.allowed(kind)) return 0;
  if (w.next < w.decisions.size()) {
    const Decision& made = w.decisions[w.next++];
    if (made.kind != kind || made.of != of) throw std::logic_error("a run is not the same when repeated");
    used += made.taken != 0;
    return made.taken;
  }
  w.decisions.push_back({kind, 0, of});
  ++w.next;
  return 0;
}

// ---- ranks

bool may_go_on(const Rank& rank) {
  if (rank.done || rank.asleep_on) return false;
  return !rank.pausing || world->stores != rank.stores_at_pause || rank.saw_old;
}

/// Who may, after the one that has run last, so that those that only look do not go on for ever.
std::vector<std::size_t> all_that_may_go_on() {
  const World& w = *world;
  std::vector<std::size_t> able;
  for (std::size_t i = 1; i < w.ranks.size(); ++i) {
    const std::size_t r = 1 + (w.current + i - 1) % (w.ranks.size() - 1);
    if (may_go_on(*w.ranks[r])) able.push_back(r);
  }
  return able;
}

/// From here, which is `from`, to that rank.
void go_on(ucontext_t& from, std::size_t rank) {
  world->current = rank;
  self().pausing = self().saw_old = false;
  swapcontext(&from, &self().context);
}

void leave() { swapcontext(&self().context, &world->scheduler); }

void run_ranks() {
  World& w = *world;
  for (;;) {
    std::vector<std::size_t> able = all_that_may_go_on();
    if (able.empty()) {
      bool all_done = true;
      std::size_t sleeper = 0;
      for (std::size_t r = 1; r < w.ranks.size(); ++r) {
        Rank& rank = *w.ranks[r];
        all_done = all_done && rank.done;
        if (rank.done) continue;
        if (rank.asleep_on) {
          sleeper = r;
        } else {
          able.push_back(r);
        }
      }
      if (all_done) return;
      if (able.empty() || w.idle >= idle_rounds * static_cast<int>(able.size())) {
        w.current = sleeper != 0 ? sleeper : able[0];
        if (sleeper == 0) return note_failure("all ranks are stuck");
        if (!w.scenario->may_time_out) return note_failure("nobody wakes a rank that sleeps");
        w.ranks[sleeper]->asleep_on = nullptr;
        w.idle = 0;
        able = {sleeper};
      } else {
        able = {able[static_cast<std::size_t>(w.idle) % able.size()]};
        ++w.idle;
      }
    }
    go_on(w.scheduler, able[static_cast<std::size_t>(decide(Kind::switching, static_cast<int>(able.size())))]);
    if (!w.failure.empty()) return;
  }
}

void begin_rank() {
  self().work();
  self().done = true;
  leave();
}

/// Before an atomic operation another rank may go on.
void may_switch() {
  World& w = *world;
  if (w.current == 0) return;
  if (++w.steps > max_steps) fail("it does not end");
  const std::vector<std::size_t> able = all_that_may_go_on();  // this one as the last
  const int taken = decide(Kind::switching, static_cast<int>(able.size()));
  if (taken > 0) go_on(self().context, able[static_cast<std::size_t>(taken - 1)]);
}

// ---- memory

Region* region_of(const volatile void* address) {
  if (!world) return nullptr;
  const auto* const at = static_cast<const std::byte*>(const_cast<const void*>(address));
  for (Region& region : world->regions)
    if (at >= region.begin && at < region.end) return &region;
  return nullptr;
}

std::size_t cell_of(const Region& region, const volatile void* address) {
  return static_cast<std::size_t>(static_cast<const std::byte*>(const_cast<const void*>(address)) - region.begin) /
         cell_bytes;
}

void plain(const volatile void* address, std::size_t bytes, bool writes) {
  Region* const region = bytes > 0 ? region_of(address) : nullptr;
  if (!region) return;
  Rank& rank = self();
  const std::size_t me = world->current;
  const std::size_t first = cell_of(*region, address);
  const std::size_t last = cell_of(*region, static_cast<const volatile std::byte*>(address) + bytes - 1);
  for (std::size_t c = first; c <= last && c < region->cells.size(); ++c) {
    Cell& cell = region->cells[c];
    const auto race = [&](std::size_t with, const char* what) {
      say("%s byte %zu", writes ? "writes" : "reads", c * cell_bytes);
      fail("data race at byte " + std::to_string(c * cell_bytes) + ": rank " + std::to_string(with - 1) + " " + what);
    };
    if (cell.written > rank.knows.times[cell.writer]) race(cell.writer, "has written it");
    if (writes) {
      for (std::size_t r = 0; r < cell.read.size(); ++r)
        if (cell.read[r] > rank.knows.times[r]) race(r, "has read it");
      cell.writer = static_cast<std::uint32_t>(me);
      cell.written = rank.knows.times[me];
    } else {
      cell.read[me] = rank.knows.times[me];
    }
  }
}

template <class T>
std::uint64_t bits(T value) {
  std::uint64_t all = 0;
  std::memcpy(&all, &value, sizeof value);
  return all;
}
template <class T>
T from_bits(std::uint64_t all) {
  T value;
  std::memcpy(&value, &all, sizeof value);
  return value;
}

template <class T>
std::size_t location_of(Region& region, const volatile T* address) {
  int& index = region.locations[cell_of(region, address)];
  if (index < 0) {
    index = static_cast<int>(world->locations.size());
    world->locations.push_back({{bits(*address), {}}});
  }
  return static_cast<std::size_t>(index);
}

bool acquires(int order) { return order == __ATOMIC_ACQUIRE || order == __ATOMIC_CONSUME || order >= __ATOMIC_ACQ_REL; }
bool releases(int order) { return order == __ATOMIC_RELEASE || order >= __ATOMIC_ACQ_REL; }
static_assert(__ATOMIC_ACQ_REL < __ATOMIC_SEQ_CST && __ATOMIC_RELEASE < __ATOMIC_ACQ_REL);

void fence(int order) {
  Rank& rank = self();
  if (acquires(order)) rank.knows.join(rank.to_be_acquired);
  if (order == __ATOMIC_SEQ_CST) {
    rank.knows.join(world->fences);
    world->fences.join(rank.knows);
  }
  if (releases(order)) {
    rank.before_fence = rank.knows;
    ++rank.knows.times[world->current];
  }
}

void see(const Store& store, std::size_t location, std::uint32_t index, int order) {
  Rank& rank = self();
  rank.knows.store(location) = std::max(rank.knows.store(location), index);
  rank.to_be_acquired.join(store.handed_on);
  if (acquires(order)) rank.knows.join(store.handed_on);
}

template <class T>
T load(const volatile T* address, int order) {
  Region* const region = region_of(address);
  if (!region) return __atomic_load_n(address, __ATOMIC_SEQ_CST);
  may_switch();
  if (order == __ATOMIC_SEQ_CST) fence(order);
  const std::size_t location = location_of(*region, address);
  const auto newest = static_cast<std::uint32_t>(world->locations[location].size() - 1);
  const std::uint32_t oldest = self().knows.store(location);
  const int older = decide(Kind::seeing, static_cast<int>(std::min<std::size_t>(newest - oldest + 1, max_values)));
  self().saw_old = self().saw_old || older > 0;
  const std::uint32_t index = newest - static_cast<std::uint32_t>(older);
  const Store& store = world->locations[location][index];
  see(store, location, index, order);
  say("loads %llu of byte %zu%s", static_cast<unsigned long long>(store.value), cell_of(*region, address) * cell_bytes,
      older > 0 ? ", an old value" : "");
  return from_bits<T>(store.value);
}

void put(std::size_t location, std::uint64_t value, int order, const Knowledge* continued = nullptr) {
  Rank& rank = self();
  Location& stores = world->locations[location];
  rank.knows.store(location) = static_cast<std::uint32_t>(stores.size());
  Knowledge handed_on = releases(order) ? rank.knows : rank.before_fence;
  if (continued) handed_on.join(*continued);
  handed_on.store(location) = static_cast<std::uint32_t>(stores.size());
  stores.push_back({value, std::move(handed_on)});
  if (releases(order)) ++rank.knows.times[world->current];
  if (order == __ATOMIC_SEQ_CST) fence(order);
  ++world->stores;
  world->idle = 0;
}

template <class T>
void store(volatile T* address, T value, int order) {
  Region* const region = region_of(address);
  if (!region) return __atomic_store_n(address, value, __ATOMIC_SEQ_CST);
  may_switch();
  const std::size_t location = location_of(*region, address);
  put(location, bits(value), order);
  *address = value;
  say("stores %llu to byte %zu", static_cast<unsigned long long>(bits(value)), cell_of(*region, address) * cell_bytes);
}

/// A read-modify-write: change(old, new) says whether it writes.
template <class T, class Change>
T modify(volatile T* address, int order, int order_in_vain, Change change) {
  Region* const region = region_of(address);
  T value{};
  if (!region) {
    const T old = *address;
    if (change(old, value)) *address = value;
    return old;
  }
  may_switch();
  const std::size_t location = location_of(*region, address);
  const auto newest = static_cast<std::uint32_t>(world->locations[location].size() - 1);
  const Store read = world->locations[location][newest];
  const T old = from_bits<T>(read.value);
  const bool writes = change(old, value);
  see(read, location, newest, writes ? order : order_in_vain);
  if (writes) {
    put(location, bits(value), order, &read.handed_on);
    *address = value;
  }
  say("exchanges %llu at byte %zu%s", static_cast<unsigned long long>(bits(old)),
      cell_of(*region, address) * cell_bytes, writes ? "" : " in vain");
  return old;
}

}  // namespace

// ---- for scenarios

void share(void* memory, std::size_t bytes) {
  auto* const begin = static_cast<std::byte*>(memory);
  const std::size_t cells = (bytes + cell_bytes - 1) / cell_bytes;
  world->regions.push_back({begin, begin + bytes, std::vector<Cell>(cells), std::vector<int>(cells, -1)});
}

void pause() {
  self().pausing = true;
  self().stores_at_pause = world->stores;
  say("pauses");
  leave();
}

void sleep(const void* word, std::uint32_t expected) {
  may_switch();
  if (__atomic_load_n(static_cast<const std::uint32_t*>(word), __ATOMIC_SEQ_CST) != expected) return;
  say("sleeps");
  self().asleep_on = word;
  leave();
}

void wake(const void* word) {
  say("wakes");
  for (const auto& rank : world->ranks)
    if (rank->asleep_on == word) rank->asleep_on = nullptr;
}

void check(bool condition, const char* what) {
  if (!condition) fail(what);
}

void copy(void* to, const void* from, std::size_t bytes) {
  plain(from, bytes, false);
  plain(to, bytes, true);
  std::memmove(to, from, bytes);
}

void copy_shared(void* to, const void* from, std::size_t bytes) {
  check(region_of(to) && region_of(from), "a copy of memory that is not shared");
  copy(to, from, bytes);
}

// ---- runs

namespace {

/// On a stack of an earlier run, if there is one.
void add_rank(std::function<void()> work, std::vector<std::unique_ptr<Rank>>& earlier) {
  World& w = *world;
  const std::size_t r = w.ranks.size();
  auto rank = std::make_unique<Rank>();
  rank->stack = r < earlier.size() ? std::move(earlier[r]->stack) : std::make_unique<std::byte[]>(stack_bytes);
  rank->work = std::move(work);
  rank->knows = self().knows;
  rank->knows.times[r] = 1;
  getcontext(&rank->context);
  rank->context.uc_stack.ss_sp = rank->stack.get();
  rank->context.uc_stack.ss_size = stack_bytes;
  rank->context.uc_link = nullptr;
  makecontext(&rank->context, begin_rank, 0);
  w.ranks.push_back(std::move(rank));
}

void run(World& w) {
  world = &w;
  w.next = 0;
  w.switches = w.old = w.idle = 0;
  w.current = 0;
  w.stores = w.steps = 0;
  w.regions.clear();
  w.locations.clear();
  w.trace.clear();
  w.fences = {};
  auto earlier = std::move(w.ranks);
  w.ranks.clear();
  w.ranks.push_back(std::make_unique<Rank>());
  self().knows.times[0] = 1;
  Run run = w.scenario->set_up();
  fence(__ATOMIC_SEQ_CST);
  for (std::function<void()>& work : run) add_rank(std::move(work), earlier);
  run_ranks();
  world = nullptr;
}

/// The next way to decide; false: there is none.
bool next_way(World& w) {
  std::array<int, 2> used{};
  for (const Decision& d : w.decisions) used[static_cast<std::size_t>(d.kind)] += d.taken != 0;
  while (!w.decisions.empty()) {
    Decision& last = w.decisions.back();
    int& used_so = used[static_cast<std::size_t>(last.kind)];
    used_so -= last.taken != 0;
    if (last.taken + 1 < last.of && used_so < w.allowed(last.kind)) {
      ++last.taken;
      return true;
    }
    w.decisions.pop_back();
  }
  return false;
}

}  // namespace

Outcome explore(const Scenario& scenario, const Limits& limits) {
  Outcome outcome;
  World w;
  w.scenario = &scenario;
  // Once more, alike, when it has failed: to see its steps.
  const auto passes = [&](std::uint64_t seed) {
    for (const bool tracing : {false, true}) {
      w.tracing = tracing;
      w.draw.seed(seed);
      w.failure.clear();
      try {
        run(w);
      } catch (const Failure&) {  // in setting up
        world = nullptr;
      }
      if (w.failure.empty()) return true;
    }
    outcome.failure = w.failure;
    return false;
  };
  do {
    ++outcome.tried;
    if (!passes(0)) return outcome;
    outcome.cut = limits.max_runs > 0 && outcome.tried >= limits.max_runs;
  } while (!outcome.cut && next_way(w));
  w.random = true;
  while (outcome.random < limits.random_runs)
    if (!passes(limits.seed + outcome.random++)) return outcome;
  return outcome;
}

}  // namespace explorer

// ---- what code compiled with -fsanitize=thread calls

using namespace explorer;

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_read_range(void* at, unsigned long bytes) { plain(at, bytes, false); }
void __tsan_write_range(void* at, unsigned long bytes) { plain(at, bytes, true); }

#define PLAIN(bytes)                                                                \
  void __tsan_read##bytes(void* at) { plain(at, bytes, false); }                    \
  void __tsan_write##bytes(void* at) { plain(at, bytes, true); }                    \
  void __tsan_unaligned_read##bytes(void* at) { plain(at, bytes, false); }          \
  void __tsan_unaligned_write##bytes(void* at) { plain(at, bytes, true); }          \
  void __tsan_volatile_read##bytes(void* at) { plain(at, bytes, false); }           \
  void __tsan_volatile_write##bytes(void* at) { plain(at, bytes, true); }           \
  void __tsan_unaligned_volatile_read##bytes(void* at) { plain(at, bytes, false); } \
  void __tsan_unaligned_volatile_write##bytes(void* at) { plain(at, bytes, true); }
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

#define ATOMIC(width, T)                                                                                             \
  T __tsan_atomic##width##_load(const volatile T* at, int order) { return load(at, order); }                         \
  void __tsan_atomic##width##_store(volatile T* at, T value, int order) { store(at, value, order); }                 \
  T __tsan_atomic##width##_exchange(volatile T* at, T value, int order) {                                            \
    return modify(at, order, order, [&](T, T& to) { return to = value, true; });                                     \
  }                                                                                                                  \
  T __tsan_atomic##width##_fetch_add(volatile T* at, T by, int order) {                                              \
    return modify(at, order, order, [&](T old, T& to) { return to = static_cast<T>(old + by), true; });              \
  }                                                                                                                  \
  T __tsan_atomic##width##_fetch_sub(volatile T* at, T by, int order) {                                              \
    return modify(at, order, order, [&](T old, T& to) { return to = static_cast<T>(old - by), true; });              \
  }                                                                                                                  \
  int __tsan_atomic##width##_compare_exchange_strong(volatile T* at, T* expected, T value, int order,                \
                                                     int order_in_vain) {                                            \
    bool done = false;                                                                                               \
    const T old = modify(at, order, order_in_vain, [&](T is, T& to) { return to = value, done = is == *expected; }); \
    if (!done) *expected = old;                                                                                      \
    return done;                                                                                                     \
  }                                                                                                                  \
  int __tsan_atomic##width##_compare_exchange_weak(volatile T* at, T* expected, T value, int order,                  \
                                                   int order_in_vain) {                                              \
    return __tsan_atomic##width##_compare_exchange_strong(at, expected, value, order, order_in_vain);                \
  }                                                                                                                  \
  T __tsan_atomic##width##_compare_exchange_val(volatile T* at, T expected, T value, int order, int order_in_vain) { \
    __tsan_atomic##width##_compare_exchange_strong(at, &expected, value, order, order_in_vain);                      \
    return expected;                                                                                                 \
  }
ATOMIC(8, std::uint8_t)
ATOMIC(16, std::uint16_t)
ATOMIC(32, std::uint32_t)
ATOMIC(64, std::uint64_t)

void __tsan_atomic_thread_fence(int order) {
  if (!world) return __atomic_thread_fence(__ATOMIC_SEQ_CST);
  may_switch();
  fence(order);
}
void __tsan_atomic_signal_fence(int) {}

// Of code that is explored only: see CMakeLists.txt. Clang calls the first one, GCC the second.
void* __tsan_memcpy(void* to, const void* from, std::size_t bytes) {
  copy(to, from, bytes);
  return to;
}
void* __wrap_memcpy(void* to, const void* from, std::size_t bytes) { return __tsan_memcpy(to, from, bytes); }
void* __tsan_memset(void* at, int value, std::size_t bytes) {
  plain(at, bytes, true);
  return std::memset(at, value, bytes);
}
}
