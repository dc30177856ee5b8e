// The engine's list of lanes that have something to do, and what happens when an operation ends.
#include "interpose/progress/engine.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "interpose/check/check.hpp"
#include "interpose/communicator/record.hpp"
#include "interpose/communicator/report.hpp"
#include "interpose/host/failure.hpp"
#include "interpose/process/process.hpp"
#include "interpose/process/world.hpp"
#include "interpose/progress/background.hpp"
#include "interpose/progress/failures.hpp"
#include "interpose/progress/formation.hpp"
#include "interpose/progress/placeholder.hpp"

namespace omnes::interpose {

namespace engine {

namespace {

void count_under_way(int more) {
  under_way.fetch_add(more, std::memory_order_relaxed);
  detours.fetch_add(more, std::memory_order_relaxed);
}

constexpr double max_seconds_to_seal = 10;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Entered by trying. Also by a thread that is in it already, from inside the host: it fails then.
class Gate {
 public:
  bool try_enter() { return !busy_.test_and_set(std::memory_order_acquire); }
  void enter() {
    while (!try_enter()) sched_yield();
  }
  void leave() { busy_.clear(std::memory_order_release); }
  bool is_entered() const { return busy_.test(std::memory_order_relaxed); }

 private:
  std::atomic_flag busy_;
} gate;

/// Of a component: the host, called from inside, calls its own collectives (MPI_Comm_idup does), and with them us.
OMNES_FAST_THREAD_LOCAL bool within = false;
void take_off_late();

class Inside {
 public:
  Inside() : again_(component && within) {
    if (again_) return;
    gate.enter();
    if constexpr (component) within = true;
  }
  explicit Inside(std::adopt_lock_t) : again_(false) {
    if constexpr (component) within = true;
  }
  ~Inside() {
    if (again_) return;
    if constexpr (component) {
      take_off_late();
      within = false;
    }
    gate.leave();
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

  bool again() const { return again_; }

 private:
  const bool again_;
};

struct Active {
  State* state;  // kept by the operations in the lane
  Lane* lane;
};

// Behind the gate. Never destroyed: MPI may be finalised by a destructor.
auto& lanes = *new std::vector<Active>;
auto& forming = *new std::vector<std::shared_ptr<State>>;
std::atomic<int> moving_count{0};           // of lanes
auto& late = *new std::vector<Pending*>;    // started from inside: they take off when the thread leaves
auto& landed = *new std::vector<Pending*>;  // has ended, except for what the calling thread must do
std::atomic<int> landed_count{0};
std::atomic<unsigned> visit_count{0};  // written behind the gate

std::uint64_t key(MPI_Request request) { return static_cast<std::uint64_t>((Wide)request) + 1; }

std::uint64_t hash(MPI_Request request, int bits) {
  constexpr std::uint64_t golden = 0x9E3779B97F4A7C15u;  // 2^64 / golden ratio (Fibonacci hashing)
  return key(request) * golden >> (64 - bits);
}

/// Operations by their requests: the first one of those that share an entry. Changed behind the gate.
class Known {
 public:
  /// Returns whether there is an entry for it. `pending`: null where the host completes the request.
  bool add(MPI_Request request, Pending* pending) {
    Entry& entry = at(request);
    if (entry.key.load(std::memory_order_relaxed) != 0) return false;
    entry.pending.store(pending, std::memory_order_relaxed);
    entry.key.store(key(request), std::memory_order_release);
    detours.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  void remove(MPI_Request request) {
    Entry& entry = at(request);
    if (entry.key.load(std::memory_order_relaxed) != key(request)) return;
    entry.key.store(0, std::memory_order_release);
    detours.fetch_sub(1, std::memory_order_relaxed);
  }
  /// From now on the host completes it.
  void tell(MPI_Request request) { at(request).pending.store(nullptr, std::memory_order_relaxed); }
  bool has(MPI_Request request) { return at(request).key.load(std::memory_order_acquire) == key(request); }
  Pending* find(MPI_Request request) {
    return has(request) ? at(request).pending.load(std::memory_order_relaxed) : nullptr;
  }

 private:
  struct Entry {
    std::atomic<std::uint64_t> key = 0;
    std::atomic<Pending*> pending = nullptr;
  };
  static constexpr int bits = 10;  // log2 of the entries
  Entry& at(MPI_Request request) { return entries_[hash(request, bits)]; }
  Entry entries_[1 << bits];
};
auto& known = *new Known;

/// Persistent operations by their requests. Who looks for one may use it: programs do nothing else with the request
/// meanwhile.
class Persistent {
 public:
  void add(std::unique_ptr<Pending> pending) {
    const std::lock_guard lock(mutex_);
    Entry& entry = at(pending->request);
    if (!entry.pending) {
      entry.pending = pending.get();
      entry.key.store(key(pending->request), std::memory_order_release);
    }
    all_.emplace(pending->request, std::move(pending));
    ++count_;
    detours.fetch_add(1, std::memory_order_relaxed);
  }
  Pending* find(MPI_Request request) {
    if (count_.load(std::memory_order_relaxed) == 0) return nullptr;
    Entry& entry = at(request);
    if (entry.key.load(std::memory_order_acquire) == key(request)) return entry.pending;
    const std::lock_guard lock(mutex_);
    const auto found = all_.find(request);
    return found == all_.end() ? nullptr : found->second.get();
  }
  std::unique_ptr<Pending> remove(MPI_Request request) {
    if (count_.load(std::memory_order_relaxed) == 0) return nullptr;
    const std::lock_guard lock(mutex_);
    const auto found = all_.find(request);
    if (found == all_.end()) return nullptr;
    std::unique_ptr<Pending> pending = std::move(found->second);
    all_.erase(found);
    --count_;
    detours.fetch_sub(1, std::memory_order_relaxed);
    Entry& entry = at(request);
    if (entry.pending == pending.get()) {
      entry.key.store(0, std::memory_order_relaxed);
      entry.pending = nullptr;
    }
    return pending;
  }

 private:
  struct Entry {  // of the first of those that share it
    std::atomic<std::uint64_t> key = 0;
    Pending* pending = nullptr;
  };
  static constexpr int bits = 6;  // log2 of the entries
  Entry& at(MPI_Request request) { return entries_[hash(request, bits)]; }
  Entry entries_[1 << bits];
  std::mutex mutex_;
  std::unordered_map<MPI_Request, std::unique_ptr<Pending>> all_;
  std::atomic<int> count_ = 0;
};
auto& persistent = *new Persistent;

void ended(void* context, int code) {
  auto* pending = static_cast<Pending*>(context);
  pending->code = code;
  if (code != 0 && code != Lane::truncated) pending->state->broken = code;
  if (pending->lane->sends_left())
    for (Staging& room : pending->rooms) room.leave();
  landed.push_back(pending);
  landed_count.store(static_cast<int>(landed.size()), std::memory_order_relaxed);
}

/// Behind the gate.
void count_moving() { moving_count.store(static_cast<int>(lanes.size() + forming.size()), std::memory_order_relaxed); }

/// Behind the gate. What cannot end, as a member has died or the communicator is revoked, fails. While the host brings its ranks
/// together, the host says so.
void fail_what_cannot_end() {
  static failures::Pace pace;
  if (!pace.is_time()) return;
  for (const Active& active : lanes) {
    State& state = *active.state;
    if (state.broken != 0 || (!state.formed && forms_by_host(state))) continue;
    state.broken = failures::code_for(state, static_cast<Pending*>(active.lane->front()->context)->comm);
  }
}

/// Behind the gate. Formations go on here, too.
bool advance_inside(Unattended allowed = Unattended::everything) {
  OMNES_ASSERT(gate.is_entered());
  bool moved = false;
  const bool may_call_program = allowed == Unattended::everything;
  const bool may_call_host = may_call_program || allowed == Unattended::host_calls;
  if (may_be_revoked.load(std::memory_order_relaxed) && may_call_program) [[unlikely]]
    fail_what_cannot_end();
  for (std::size_t i = 0; i < forming.size();) {
    const std::shared_ptr<State> state = forming[i];
    if (allowed == Unattended::shared_memory && forms_by_host(*state)) {
      ++i;
      continue;
    }
    bool over = true;
    try {
      over = try_formation(*state);
    } catch (const Failure&) {  // those who wait for it hear of it
    }
    if (over) {
      forming.erase(forming.begin() + static_cast<std::ptrdiff_t>(i));
      count_under_way(-1);
    } else {
      ++i;
    }
  }
  for (std::size_t i = 0; i < lanes.size();) {
    const Active active = lanes[i];
    try {
      if (const int code = active.state->broken) throw Failure{code};
      if (!active.lane->is_open() && active.state->formed) open_nonblocking(*active.state, *active.lane);
      if (active.lane->is_open()) moved |= active.lane->advance(may_call_host, may_call_program);
    } catch (const Failure& failure) {
      active.lane->fail(failure.code);
    } catch (const std::bad_alloc&) {
      active.lane->fail(MPI_ERR_NO_MEM);
    }
    if (active.lane->front()) {
      ++i;
    } else {
      lanes[i] = lanes.back();
      lanes.pop_back();
    }
  }
  count_moving();
  return moved;
}

/// Brings the result to where the program wants it.
void land(Pending& pending) {
  if (pending.code == 0 && !pending.job.nothing) {
    try {
      pending.job.land(*pending.prepared);
    } catch (const Failure& failure) {
      pending.code = failure.code;
    } catch (const std::bad_alloc&) {
      pending.code = MPI_ERR_NO_MEM;
    }
  }
  if (pending.code == Lane::truncated) pending.code = MPI_ERR_TRUNCATE;
}

/// Behind the gate.
void count_end(Pending& pending) {
  OMNES_ASSERT(gate.is_entered());
  try {
    if (reporting() && pending.prepared) pending.prepared->add(std::chrono::duration<double>(now() - pending.started));
  } catch (const std::bad_alloc&) {  // it is not counted
  }
  pending.under_way = false;
  count_under_way(-1);
}

void settle(Pending& pending) {
  land(pending);
  if (pending.code != 0) pending.state->unclean = true;
  if (pending.code != 0 && !component) raise(pending.state->detached ? handles.comm_self : pending.comm, pending.code);
  std::unique_ptr<Pending> last_use;
  const Inside inside;
  count_end(pending);
  if (pending.freed || (!pending.own && pending.told)) last_use.reset(&pending);
  if (pending.told) {
    known.remove(pending.request);
    complete_placeholder(pending);
  } else {
    pending.over.store(true, std::memory_order_release);
  }
}

bool settle_all() {
  if (landed_count.load(std::memory_order_relaxed) == 0) return false;
  seal_segments();  // what has ended is likely to have needed everybody
  while (landed_count.load(std::memory_order_relaxed) > 0) {
    Pending* pending = nullptr;
    {
      if (!gate.try_enter()) return true;
      const Inside inside(std::adopt_lock);
      if (landed.empty()) return true;
      pending = landed.front();
      landed.erase(landed.begin());
      landed_count.store(static_cast<int>(landed.size()), std::memory_order_relaxed);
    }
    settle(*pending);
  }
  return true;
}

/// Whether the thread had better do it from the start: what copies for long keeps the program from computing, and this
/// needs no call of the host.
bool for_the_thread(const Pending& pending) {
  constexpr std::size_t long_step = 32 * 1024;  // bytes, 3 us or more; the thread comes within 10 us
  return process().settings.async && !pending.flight.calls_host && pending.flight.plan->longest >= long_step;
}

// Behind the gate, each of the following.

/// For one more: the end of what is under way has to find room.
void have_room() {
  const std::size_t most = static_cast<std::size_t>(under_way.load(std::memory_order_relaxed)) + 1;
  if (landed.capacity() < most) landed.reserve(2 * most);
  const std::size_t used = lanes.size() + late.size();
  if (lanes.capacity() <= used) lanes.reserve(2 * used + 1);
}

void enqueue(Pending& pending) {
  if (pending.lane->front() == nullptr) lanes.push_back({pending.state.get(), pending.lane});
  pending.lane->enqueue(pending.flight);
}

void depart(Pending& pending) {
  if (for_the_thread(pending)) {
    count_moving();
  } else {
    advance_inside();
  }
}

void take_off_late() {
  while (!late.empty()) {
    Pending* const first = late.front();
    late.erase(late.begin());
    enqueue(*first);
    depart(*first);
  }
}

/// Puts a loaded job on its way, unless there is no memory for it.
void take_off(Pending& pending, const Inside& inside) {
  OMNES_ASSERT(gate.is_entered());
  have_room();
  const Call& call = pending.job.call;
  pending.flight.bases = bases_of(pending.flight.go_on ? exchange_of_counts(call, pending.all_counts.data()) : call);
  pending.flight.scattered = call.scattered;
  pending.code = 0;
  if (reporting()) pending.started = now();
  counts::count(counts::not_blocking, pending.operation);
  const bool moves = !pending.job.nothing, later = moves && inside.again();
  if (later) late.push_back(&pending);
  if (moves && !later) enqueue(pending);
  pending.under_way = true;
  count_under_way(1);
  if (!moves) {
    ended(&pending, 0);
  } else if (!later) {
    depart(pending);
  }
}

/// Whether it has ended, and nobody else sees to it from now on; behind the gate.
bool take_back(const Pending& pending) {
  OMNES_ASSERT(gate.is_entered());
  if (landed.empty() || landed.back() != &pending) return false;
  landed.pop_back();
  landed_count.store(static_cast<int>(landed.size()), std::memory_order_relaxed);
  return true;
}

void set_plan(Pending& pending, std::shared_ptr<const Plan> plan) {
  const Reduction* const reduction = pending.job.call.reduction;
  pending.flight.calls_program = reduction && pending.job.op.is_programs;
  pending.flight.calls_host = plan->messages || (reduction && reduction->context);
  pending.flight.plan = std::move(plan);
}

/// All counts are there: what is left is the operation itself.
void set_second_stage(Pending& pending, std::span<const std::size_t> all_counts) {
  Call call = pending.job.call;
  call.all_counts = all_counts;
  set_plan(pending, Team::second_stage(pending.prepared, call));
}

/// Behind the gate.
void go_on(void* context) {
  OMNES_ASSERT(gate.is_entered());
  auto& pending = *static_cast<Pending*>(context);
  pending.flight.bases = bases_of(pending.job.call);
  set_second_stage(pending, pending.all_counts);
}

/// What all runs of an operation have in common.
void get_ready(Pending& pending, Form form, Lane& lane) {
  pending.lane = &lane;
  if (pending.job.nothing) return;
  pending.prepared = pending.state->team->prepare(pending.job.call, form);
  if (checking()) check::ran(pending.prepared->algorithm);
  set_plan(pending, {pending.prepared, &pending.prepared->plan});
  pending.flight.reduction = pending.job.call.reduction;
  pending.flight.context = &pending;
  pending.flight.ended = ended;
  if (!pending.prepared->needs_all_counts) return;
  const std::size_t p = pending.state->p;
  std::vector<std::size_t> all_counts(p * p);
  if (form == Form::nonblocking) {
    pending.all_counts = std::move(all_counts);
    pending.flight.go_on = go_on;
  } else {  // they stay the same for all starts
    const Call exchange = exchange_of_counts(pending.job.call, all_counts.data());
    gather_from_all(*pending.state, exchange.send, exchange.recv, exchange.count * exchange.element, pending.comm);
    set_second_stage(pending, all_counts);
  }
}

}  // namespace

Pending::~Pending() {
  if (own) own->released = true;
  forget_placeholder(*this);
}

void launch(std::unique_ptr<Pending> pending, MPI_Request& request) {
  State& state = *pending->state;
  // The host may not even hand on what has nothing to do: it does not count.
  get_ready(*pending, Form::nonblocking,
            pending->job.nothing ? state.nonblocking[0] : nonblocking_lane(state, pending->job.call));
  if (!pending->job.nothing) pending->job.load(*pending->prepared);
  start_background();
  bool over = false;
  {
    const Inside inside;
    take_off(*pending, inside);
    over = !recording() && !checking() && take_back(*pending);  // else its request has to be known by its handle
    if (!over) {
      Pending& started = *pending.release();  // also without a request it goes on
      started.told = true;
      take_placeholder(started);
      request = started.request;
      started.told = component || !known.add(request, &started);
    }
  }
  if (over) {
    seal_segments();
    land(*pending);
    {
      const Inside inside;
      count_end(*pending);
    }
    request = handles.request_null;
    pending->state->taking_part = false;  // it has ended, in this way or that
    check_own(pending->code);
    pending->state->taking_part = true;
    request = completed_request();
  } else {
    wake_background();
    settle_all();
  }
}

void prepare(std::unique_ptr<Pending> pending, MPI_Request& request) {
  start_background();
  pending->own = &take_lane(*pending->state, pending->comm);
  get_ready(*pending, Form::persistent, pending->own->lane);
  make_persistent_placeholder(*pending);
  request = pending->request;
  persistent.add(std::move(pending));
}

bool start(MPI_Request request) {
  Pending* const pending = persistent.find(request);
  if (!pending) return false;
  if (pending->started_by_program && !pending->told) throw Failure{MPI_ERR_REQUEST};
  check_own(pending->state->broken);
  bool over = false;
  try {
    if (!pending->job.nothing) pending->job.load(*pending->prepared);
    pending->started_by_program = true;
    pending->told = component;
    pending->over.store(false, std::memory_order_relaxed);
    if constexpr (component) start_placeholder(*pending);
    const Inside inside;
    take_off(*pending, inside);
    over = take_back(*pending);
  } catch (...) {  // the others have started it
    pending->started_by_program = false;
    pending->state->broken = MPI_ERR_OTHER;
    throw;
  }
  if (over) {
    seal_segments();
    settle(*pending);
  } else {
    wake_background();
    settle_all();
  }
  return true;
}

Pending* deferred(MPI_Request request) {
  Pending* const pending = persistent.find(request);
  if (pending) return pending->started_by_program && !pending->told ? pending : nullptr;
  return known.find(request);
}

void tell(Pending& pending) {
  std::unique_ptr<Pending> last_use;
  const Inside inside;
  pending.told = true;
  if (pending.own) start_placeholder(pending);
  if (pending.over.load(std::memory_order_relaxed)) {
    if (!pending.own) {
      known.remove(pending.request);
      last_use.reset(&pending);
    }
    complete_placeholder(pending);
  } else if (pending.own) {
    known.add(pending.request, nullptr);
  } else {
    known.tell(pending.request);
  }
}

int complete(Pending& pending, MPI_Request& request) {
  pending.started_by_program = false;
  if (pending.own) return pending.code;
  const std::unique_ptr<Pending> last_use(&pending);
  const Inside inside;
  known.remove(request);
  return_placeholder(pending);
  request = handles.request_null;
  return pending.code;
}

void forget(MPI_Request request) {
  if (Pending* const nonblocking = known.find(request)) tell(*nonblocking);
  std::unique_ptr<Pending> pending = persistent.remove(request);
  if (!pending) return;
  const Inside inside;
  if (!pending->under_way) return;
  pending->freed = true;  // its end frees it
  pending.release();
}

bool advance(Unattended allowed, bool visit) {
  if (!busy() || !gate.try_enter()) return false;
  const Inside inside(std::adopt_lock);
  if (visit) visit_count.store(visits() + 1, std::memory_order_relaxed);
  return advance_inside(allowed);
}

unsigned visits() { return visit_count.load(std::memory_order_relaxed); }

shm::SleepWord* sleep_word() {
  const Inside inside;
  if (lanes.empty() || !forming.empty()) return nullptr;
  const auto wakes = [](const auto& one) {
    return one.lane->is_open() && one.lane->endpoint() && !one.state->messages && one.state->world->own_sleep_word();
  };
  return std::ranges::all_of(lanes, wakes) ? lanes[0].state->world->own_sleep_word() : nullptr;
}

bool progress() {
  advance();
  return settle_all();
}

bool pending(MPI_Request request) { return known.has(request); }

bool is_ours(MPI_Request request) { return known.has(request) || persistent.find(request); }

template <class Condition>
static void progress_while(Condition condition) {
  shm::WaitPolicy policy = waiting();
  if (policy.oversubscribed) {
    if (sleep_word()) world()->let_sleep(policy);
  } else if (process().settings.async) {
    policy.oversubscribed = true;  // the thread that this one waits for may be on the same CPU
  }
  shm::Waiter waiter(policy);
  while (condition()) {
    if (progress()) {
      waiter.reset();
    } else {
      waiter.pause();
    }
  }
}

void wait(MPI_Request request) {
  if (known.has(request)) progress_while([&] { return known.has(request); });
}

void wait(const Pending& pending) {
  const auto under_way = [&] { return !pending.over.load(std::memory_order_acquire); };
  if (under_way()) progress_while(under_way);
}

void forms(const std::shared_ptr<State>& state) {
  const Inside inside;
  forming.push_back(state);
  count_under_way(1);
}

void abandon(State& state) {
  const Inside inside;
  if (std::erase_if(forming, [&](const auto& one) { return one.get() == &state; }) > 0) count_under_way(-1);
  state.broken = MPI_ERR_OTHER;
  state.formation.release();  // the host may still write to it
}

bool moving() { return moving_count.load(std::memory_order_relaxed) > 0; }

bool form(State& state) {
  const Inside inside;
  return try_formation(state);  // the engine's list forgets it at the next advance()
}

static std::atomic<bool> drained = false;

bool is_drained() { return drained.load(std::memory_order_relaxed); }

void drain() {
  stop_background();
  shm::Waiter waiter(waiting());
  const double since = now();
  const auto operations = [] {
    const Inside inside;
    return under_way.load(std::memory_order_relaxed) > static_cast<int>(forming.size());
  };
  // What never comes, others may have lost; they will not look for our segments, or form with us, either.
  while (operations() ||
         ((busy() || !seal_segments()) && now() - since < max_seconds_to_seal && !failures::are_known())) {
    if (progress()) waiter.reset();
    poke(nullptr);
    waiter.pause();
  }
  const Inside inside;
  end_idle_placeholders();
  drained.store(true, std::memory_order_relaxed);
}

const shm::WaitPolicy& waiting() {
  static const shm::WaitPolicy policy = [] {
    shm::WaitPolicy all_here = world()->waiting();
    all_here.poke = poke;
    return all_here;
  }();
  return policy;
}

}  // namespace engine

static OMNES_FAST_THREAD_LOCAL bool inside_poke = false;

bool poking() { return inside_poke; }

void poke(void* /*context*/) {
  const bool before = std::exchange(inside_poke, true);
  engine::advance();
  seal_segments();
  MPI_Request idle = process().idle;
  int flag = 0;
  host.Test(&idle, &flag, MPI_STATUS_IGNORE);
  inside_poke = before;
  if (checking()) check::look_again();
  failures::look_for_watched();
}

}  // namespace omnes::interpose
