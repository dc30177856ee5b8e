// A team's calls: find the plan (usually the one of last time), give it sizes, lend it the arena, run it, count it.
#include "runtime/team.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <tuple>
#include <utility>

#include "runtime/sizes.hpp"

namespace omnes::inline runtime {

namespace {

/// Elements up to this size divide every fragment (56 bytes inline, slots, single-copy pieces), so kernels may take them one by one.
constexpr std::size_t largest_direct_element = 8;  // bytes

// Longer calls are all timed, each by two readings of the clock, which take 1 % of them at most. Of quick ones that are timed, those that take
// longer stand for no others: most of them have been kept from their CPU.
constexpr std::int64_t quick_call = 5000;  // ns

}  // namespace

struct Team::State {
  State(TeamSetup setup, const bool& counts) : counting(counts), chooser(std::move(setup)) {}

  /// Gives what runs the sizes of this call.
  void size(Prepared& prepared, const Call& call) {
    if (prepared.choice.host) return;
    const bool equal = call.send_counts.empty() && call.recv_counts.empty();
    const bool same = equal && prepared.count == call.count && prepared.element == call.element;
    if (same && prepared.plan.sizing != 0 && !counting) return;
    if (!prepared.needs_all_counts) resize(prepared.plan, sizes_of(call, prepared.in_rows));
    ++prepared.plan.sizing;
    prepared.count = call.count;
    prepared.element = call.element;
    if (!counting) return;
    prepared.settle_quick();
    prepared.bytes = common_bytes(call);
    prepared.own_bytes = own_bytes(call);
  }

  const std::shared_ptr<Prepared>& prepared_for(const Call& call, Form form) {
    const Reduction* reduction = call.reduction;
    const bool kernel = reduction != nullptr && reduction->context == nullptr;
    const Key key(call, form, reduction == nullptr || reduction->commutative,
                  {kernel && call.element <= largest_direct_element, kernel});
    PlanCache::Range& range = plans.find(key, common_bytes(call), [&](ByteRange& sizes) {
      std::shared_ptr<Prepared> made = chooser.make(call, key, sizes);
      const std::lock_guard lock(mutex);
      chosen.push_back({call.operation, sizes, made->algorithm});
      return made;
    });
    const std::shared_ptr<Prepared>& prepared =
        form == Form::blocking ? range.prepared.front() : PlanCache::idle_one(range);
    size(*prepared, call);
    last = prepared.get();
    return prepared;
  }

  /// Runs what is prepared on the lane, counts that, times it unless calls of its kind are quick, and keeps when it was if its turn has come.
  template <class Run>
  int counted_run(Prepared& prepared, const Reduction* reduction, Run run) {
    prepared.settle_quick();
    Prepared::Counted& of = prepared.count_one();
    if (of.sample == nullptr) [[unlikely]]
      of.sample = &samples.of(prepared.operation, of.bytes);
    const bool kept = of.sample->takes();
    if (kept || of.usual == 0 || samples.has_come()) return clocked_run(prepared, of, kept, reduction, run);
    ++of.untimed;
    of.sample->lend(prepared.quick);
    const int result = run();
    of.waited += std::exchange(prepared.plan.waited, 0);
    return result;
  }
  template <class Run>
  int clocked_run(Prepared& prepared, Prepared::Counted& of, bool kept, const Reduction* reduction, Run run) {
    const std::int64_t begin = samples.begin();
    const int result = run();
    const std::int64_t end = monotonic_ns();
    of.time(static_cast<double>(end - begin) * 1e-9);
    // Who waits for messages of the host, or runs the program's function, does not tell for how long.
    const std::int64_t usual = end - begin - std::exchange(prepared.plan.waited, 0);
    const bool quick = usual < quick_call && !prepared.plan.messages && !prepared.needs_all_counts &&
                       (reduction == nullptr || reduction->context == nullptr);
    of.usual = quick ? usual : 0;
    if (kept) of.sample->add(begin, end, prepared.root, call_site != nullptr ? call_site() : 0);
    if (quick) of.sample->lend(prepared.quick);
    return result;
  }

  /// What is under way may still be counted in it.
  void retire(const Key& key, const std::shared_ptr<Prepared>& prepared) {
    last = nullptr;
    {
      const std::lock_guard lock(mutex);
      chosen.clear();
    }
    if (!counting) return;
    prepared->settle_quick();
    if (prepared.use_count() > 1) {
      retired.emplace_back(key, prepared);
    } else {
      counted.add(key, *prepared);
    }
  }

  const bool& counting;  // the team's
  Chooser chooser;
  PlanCache plans{[this](const Key& key, const std::shared_ptr<Prepared>& prepared) { retire(key, prepared); }};
  const Prepared* last = nullptr;
  std::vector<std::size_t> all_counts;  // of a blocking call
  Statistics counted;                   // of plans that are gone
  Samples samples;
  std::vector<std::pair<Key, std::shared_ptr<Prepared>>> retired;

  // For other threads.
  struct Chosen {
    Operation operation;
    ByteRange sizes;
    std::string algorithm;
  };
  mutable std::mutex mutex;    // guards what follows
  std::vector<Chosen> chosen;  // since plans were forgotten
  std::array<std::string, operation_count> forced;
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

int Team::p() const { return state_->chooser.p(); }
int Team::rank() const { return state_->chooser.rank(); }
int Team::nodes() const { return state_->chooser.nodes(); }

int Team::run(const std::shared_ptr<Prepared>& prepared, const Call& call) {
  if (prepared->needs_all_counts) [[unlikely]]
    return run_in_stages(*prepared, call);
  if (call.scattered.any()) [[unlikely]]
    return run_scattered(*prepared, call);
  if (counting_) {
    lane_.have_room(prepared->plan);
    return run_counted(*prepared, bases_of(call), call.reduction);
  }
  return lane_.run(prepared->plan, bases_of(call), call.reduction, waiting_);
}

int Team::run_scattered(Prepared& prepared, const Call& call) {
  const auto run = [&] { return lane_.run_scattered(prepared.plan, bases_of(call), call.scattered, waiting_); };
  return counting_ ? state_->counted_run(prepared, nullptr, run) : run();
}

void Team::keep_statistics(std::size_t max_timed) {
  counting_ = true;
  lane_.time_waits();
  state_->samples.most = max_timed;
}

Samples& Team::samples() const { return state_->samples; }

int Team::run_counted(Prepared& prepared, Bases bases, const Reduction* reduction) {
  return state_->counted_run(prepared, reduction,
                             [&] { return lane_.run_again(prepared.plan, bases, reduction, waiting_); });
}

int Team::run_in_stages(Prepared& first, Call call) {
  if (counting_) return state_->counted_run(first, call.reduction, [&] { return run_two_stages(first, call); });
  return run_two_stages(first, call);
}

int Team::run_two_stages(Prepared& first, Call call) {
  std::vector<std::size_t>& all_counts = state_->all_counts;
  all_counts.resize(static_cast<std::size_t>(p()) * p());
  const Call exchange = exchange_of_counts(call, all_counts.data());
  int code = lane_.run(first.plan, bases_of(exchange), nullptr, waiting_);
  if (code == 0) {
    call.all_counts = all_counts;
    resize(first.second, sizes_of(call, first.in_rows));
    code = lane_.run(first.second, bases_of(call), nullptr, waiting_);
    if (code == 0 && first.second.truncates) code = Lane::truncated;
  }
  return code;
}

const std::shared_ptr<Prepared>& Team::prepare(const Call& call, Form form) { return state_->prepared_for(call, form); }

std::shared_ptr<const Plan> Team::second_stage(const std::shared_ptr<Prepared>& first, const Call& call) {
  resize(first->second, sizes_of(call, first->in_rows));
  return {first, &first->second};
}

void Team::force(Operation operation, std::optional<Choice> choice) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->forced[static_cast<int>(operation)] = choice ? to_string(*choice) : std::string();
  }
  state_->plans.forget();
  state_->chooser.force(operation, std::move(choice));
}

std::string Team::last_choice() const {
  return state_->last == nullptr ? std::string() : state_->last->algorithm + " (" + state_->last->why + ")";
}

std::string Team::forced(Operation operation) const {
  const std::lock_guard lock(state_->mutex);
  return state_->forced[static_cast<int>(operation)];
}

std::string Team::chosen(Operation operation) const {
  std::vector<State::Chosen> all;
  {
    const std::lock_guard lock(state_->mutex);
    std::ranges::copy_if(state_->chosen, std::back_inserter(all),
                         [&](const auto& one) { return one.operation == operation; });
  }
  std::ranges::sort(all, {}, [](const auto& one) { return std::tie(one.sizes.from, one.algorithm); });
  std::vector<State::Chosen> joined;
  for (State::Chosen& one : all) {
    if (joined.empty() || joined.back().algorithm != one.algorithm)
      joined.push_back(std::move(one));
    else
      joined.back().sizes.to = std::max(joined.back().sizes.to, one.sizes.to);
  }
  std::string text;
  for (const auto& [_, sizes, algorithm] : joined) {
    text += (text.empty() ? "" : "; ") + algorithm;
    if (joined.size() == 1) break;
    text += " " + bytes_text(sizes.from) + "-" + (sizes.to == SIZE_MAX ? "" : bytes_text(sizes.to));
  }
  return text;
}

std::vector<Ran> Team::statistics() const {
  Statistics all = state_->counted;
  const auto add = [&](const Key& key, const std::shared_ptr<Prepared>& prepared) {
    prepared->settle_quick();
    all.add(key, *prepared);
  };
  for (const auto& [key, prepared] : state_->retired) add(key, prepared);
  state_->plans.for_each(add);
  return all.all();
}

}  // namespace omnes::inline runtime
