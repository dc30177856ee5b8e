// Random programs: sequences of everything that programs do with MPI, alike on all ranks, each made from a seed.
//
// Overview. A step is drawn from its seed and its number alone, so that it stays what it is when others are left out; what it
// works on (communicators, requests) stays in numbered places. What arrives is computed from what was sent, or by
// combining in the order of the ranks; every byte of every buffer is compared, also those that nobody may write.
//
// Usage: random FIRST[..LAST] [--steps N] [--only STEP,STEP...] [--say] [--single] [--without-init] [--limit SECONDS]
//   FIRST..LAST  seeds, run one after the other; --only runs these steps alone, 12/1/3 being step 3 of thread 1 of step 12;
//   --say        rank 0 tells what it does; --single: MPI_THREAD_SINGLE, threads' steps then run one after the other;
//   --without-init: nobody calls MPI_Init: all communicators are made out of one of a session;
//   --spawned    a program that runs has started this one: it goes on with that step's own steps, on a communicator of both.
#include <csignal>
#include <set>
#include <thread>

#include "beside.hpp"
#include "communicators.hpp"

namespace random_programs {
namespace {

struct Options {
  std::uint64_t first = 1, last = 1;
  int steps = 40, limit = 60;
  bool say = false, single = false, threads = false, reproducible = false, alone = false;
  const char* program = nullptr;
  std::string spawned, list;
  std::set<std::string> only;

  /// A thread's step also runs where only some of its own steps are named.
  bool wants(const std::string& step) const {
    if (only.empty() || only.count(step)) return true;
    const auto below = only.lower_bound(step + "/");
    if (below != only.end() && below->compare(0, step.size() + 1, step + "/") == 0) return true;
    const auto slash = step.find('/');
    return slash != std::string::npos && only.count(step.substr(0, slash));
  }
} options;

class Runner {
 public:
  /// `mixed`: its ranks are of several MPI_COMM_WORLDs.
  Runner(std::uint64_t seed, MPI_Comm world, std::string prefix, bool mixed = false)
      : seed_(seed), prefix_(std::move(prefix)), mixed_(mixed) {
    places_[0] = {known(world, "world"), std::make_shared<bool>(false)};
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      where.step = prefix_ + std::to_string(i);
      if (!options.wants(where.step)) continue;
      if (prefix_.empty())
        std::snprintf(running, sizeof running, " seed %llu step %d\n", static_cast<unsigned long long>(seed_), i);
      step(i);
    }
    where.step = prefix_ + "end";
    if (prefix_.empty())
      std::snprintf(running, sizeof running, " seed %llu step end\n", static_cast<unsigned long long>(seed_));
    end();
  }

 private:
  struct Place {
    Communicator comm;
    std::shared_ptr<bool> freed;
  };
  static constexpr int places = 6, steps_between_completions = 25;

  std::uint64_t seed_;
  std::string prefix_;
  bool mixed_;
  std::array<Place, places> places_;
  std::deque<Outstanding> outstanding_;
  std::vector<std::shared_ptr<Call>> kept_;  ///< buffers that a freed request may still use

  void say(const std::string& text) const {
    int rank = 0;
    MPI_Comm_rank(everybody, &rank);
    if (options.say && rank == 0) std::printf("%s: %s\n", where.step.c_str(), text.c_str()), std::fflush(stdout);
  }

  void step(int i) {
    Draw draw(hash({seed_, 1, hash_of(prefix_), static_cast<std::uint64_t>(i)}));
    const int kind = draw.below(100), at = draw.below(places);
    const std::uint64_t shape = hash({seed_, 2, draw.one_in(2) ? 1000u + draw.below(4) : draw.next()});
    if (draw.one_in(5)) come_late(draw.below(8), draw.below(3));
    if (i % steps_between_completions == 0) complete_all(draw);
    const int tag = i % 1000 * 4;
    Place& place = places_[at];
    if (kind < 10 && at != 0) return make(at, draw, tag);
    if (kind < 14 && at != 0) return free_place(place, draw);
    if (kind < 26) return complete_some(draw);
    if (kind < 29 && prefix_.empty()) return in_threads(i, draw);
    if (kind == 29 && prefix_.empty() && may_spawn && !options.alone) return with_spawned(i, draw);
    if (kind == 30 && prefix_.empty()) return with_sessions(i, draw);
    if (kind < 34) return start_again(draw);
    const Communicator& comm = place.comm;
    if (comm.handle == MPI_COMM_NULL) return;
    if (comm.kind == Communicator::Kind::between) return say("on 2 groups: " + between(comm, draw));
    const detail::Shape sized{shape, std::array{300, 300, 5000, 40000, 300000}[draw.below(draw.one_in(3) ? 5 : 3)]};
    if (kind < 42) return say(on(comm) + messages(comm, sized, draw, tag, place.freed, kept_, outstanding_));
    if (kind < 44) return windows_work() ? say(on(comm) + window(comm, draw)) : void();
    if (kind < 47) return say(on(comm) + same_bits(comm, draw, options.reproducible));
    collective(place, sized, draw);
  }

  static std::uint64_t hash_of(const std::string& text) {
    std::uint64_t h = 0;
    for (const char c : text) h = mix(h ^ static_cast<unsigned char>(c));
    return h;
  }
  /// Not all MPIs have them among processes that were started apart. Open MPI crashes by itself where threads make some at once,
  /// each on a communicator of its own (5.0.11, in two of three runs of 4 ranks).
  bool windows_work() const {
#ifdef OPEN_MPI
    if (!prefix_.empty()) return false;
#endif
    return !mixed_;
  }
  static std::string on(const Communicator& comm) {
    return "on " + comm.name + " of " + std::to_string(comm.size) + ": ";
  }

  void come_late(int who, int how) const {
    if (places_[0].comm.rank != who % places_[0].comm.size) return;
    if (how == 0) {
      const double until = MPI_Wtime() + 1e-3;
      while (MPI_Wtime() < until) {
      }
    } else {
      usleep(how == 1 ? 300 : 4000);
    }
  }

  void collective(Place& place, const detail::Shape& shape, Draw draw) {
    const Communicator& comm = place.comm;
    Draw drawn(shape.seed);
    drawn.next();
    const int which = drawn.below(10);
    const int f = draw.below(6);
    const Form form = f < 3 ? Form::blocking : f < 5 || !has_persistent ? Form::nonblocking : Form::persistent;
    const bool large = MPI_VERSION >= 4 && draw.one_in(6);
    const std::shared_ptr<Call> call = which == 0  ? barrier(comm)
                                       : which < 5 ? reducing(comm, shape, draw, large)
                                                   : moving(comm, shape, draw, large);
    say(on(comm) + text(form) + " " + call->text);
    const bool early = draw.one_in(2);
    if (form == Form::blocking) {
      for (int repeats = 1 + draw.below(3); repeats > 0; --repeats) {
        call->fill(draw.next());
        must(call->go(form, nullptr), call->text.c_str());
        call->check();
      }
      return;
    }
    Outstanding one{MPI_REQUEST_NULL, form == Form::persistent, form != Form::persistent, place.freed, call,
                    where.step,       place.comm.of_session};
    if (form == Form::nonblocking) call->fill(draw.next());
    must(call->go(form, &one.request), call->text.c_str());
    if (early) call->release();
    if (one.persistent && draw.one_in(2)) start(one, draw);
    outstanding_.push_back(std::move(one));
  }

  static void start(Outstanding& one, Draw draw) {
    one.call->fill(draw.next());
    must(MPI_Start(&one.request), "MPI_Start");
    one.active = true;
  }

  /// Whether something is done with this one: alike on all ranks, of which some do not have others.
  static bool chosen(const Outstanding& one, std::uint64_t key, int of) {
    return Draw(hash({key, hash_of(one.step)})).one_in(of);
  }

  /// Those that are persistent and not active, in an order that need not be that of other ranks.
  void start_again(Draw draw) {
    std::vector<Outstanding*> which;
    const std::uint64_t key = draw.next();
    const int of = 1 + draw.below(2);
    for (Outstanding& one : outstanding_)
      if (one.persistent && !one.active && !*one.freed && one.call->go && chosen(one, key, of)) which.push_back(&one);
    for (Outstanding* one : which) one->call->fill(hash({key, hash_of(one->step)}));
    if (draw.one_in(2) && !which.empty())
      std::rotate(which.begin(), which.begin() + places_[0].comm.rank % which.size(), which.end());
    const auto of_session = [](const Outstanding* one) { return one->of_session; };
    const bool together =
        draw.one_in(2) && (std::ranges::all_of(which, of_session) || std::ranges::none_of(which, of_session));
    std::vector<MPI_Request> requests;
    for (Outstanding* one : which) {
      one->active = true;
      if (!together) must(MPI_Start(&one->request), "MPI_Start");
      requests.push_back(one->request);
    }
    say("starts " + std::to_string(which.size()) + " persistent ones");
    if (together && !which.empty()) {
      must(MPI_Startall(static_cast<int>(requests.size()), requests.data()), "MPI_Startall");
      for (std::size_t k = 0; k < which.size(); ++k) which[k]->request = requests[k];
    }
  }

  Draw own_draw(Draw draw) const {
    return Draw(hash({draw.next(), draw.one_in(2) ? static_cast<std::uint64_t>(places_[0].comm.rank) : 0}));
  }

  void complete_some(Draw draw) { complete_chosen(draw, std::array{1, 2, 4}[draw.below(3)]); }
  void complete_all(Draw draw) { complete_chosen(draw, 1); }
  void complete_chosen(Draw draw, int of) {
    std::vector<Outstanding*> which;
    const std::uint64_t key = draw.next();
    for (Outstanding& one : outstanding_)
      if (one.active && chosen(one, key, of)) which.push_back(&one);
    if (!which.empty()) say("completes " + std::to_string(which.size()) + " of " + std::to_string(outstanding_.size()));
    complete(which, own_draw(draw));
    tidy(draw.next());
  }

  /// Forgets what is over; some persistent ones are freed.
  void tidy(std::uint64_t key) {
    for (auto one = outstanding_.begin(); one != outstanding_.end();) {
      const bool goes = !one->active && (!one->persistent || *one->freed || chosen(*one, key, 3));
      if (goes) free_request(*one);
      one = goes ? outstanding_.erase(one) : std::next(one);
    }
  }
  static void free_request(Outstanding& one) {
    if (one.persistent) must(MPI_Request_free(&one.request), "MPI_Request_free");
  }

  void make(int at, Draw draw, int tag) {
    const int from = draw.below(places);
    Place& place = places_[at];
    if (from != at && draw.one_in(2)) free_place(place, draw);
    const Communicator of = places_[from].comm;
    Communicator made = of.handle == MPI_COMM_NULL ? Communicator() : make_communicator(of, draw, tag);
    made.of_session |= of.of_session;
    if (made.handle != MPI_COMM_NULL) say("place " + std::to_string(at) + ": " + made.name + " out of " + of.name);
    free_place(place, draw);
    place = {std::move(made), std::make_shared<bool>(false)};
  }

  /// Operations of it that are under way go on.
  void free_place(Place& place, Draw draw) {
    const bool member = place.comm.handle != MPI_COMM_NULL;
    if (member) say("frees " + place.comm.name), *place.freed = true;
    tidy(draw.next());
    if (!member) return;
    must(MPI_Comm_free(&place.comm.handle), "MPI_Comm_free");
    place.comm = {};
  }

  /// Each on a communicator of its own.
  void in_threads(int i, Draw draw) {
    const int count = 2 + draw.below(2), steps = 4 + draw.below(8);
    const std::string prefix = prefix_ + std::to_string(i) + "/";
    std::vector<MPI_Comm> comms(count);
    for (MPI_Comm& comm : comms) must(MPI_Comm_dup(places_[0].comm.handle, &comm), "MPI_Comm_dup");
    say(std::to_string(count) + " threads, " + std::to_string(steps) + " steps each");
    std::vector<std::thread> threads;
    const Where here = where;
    for (int t = 0; t < count; ++t) {
      const auto work = [&, t] {
        where = here;
        Runner(seed_, comms[t], prefix + std::to_string(t) + "/").run(steps);
      };
      if (options.threads)
        threads.emplace_back(work);
      else
        work();
    }
    for (std::thread& thread : threads) thread.join();
    where = here;
    for (MPI_Comm& comm : comms) must(MPI_Comm_free(&comm), "MPI_Comm_free");
  }

  /// Each on a communicator of its own; all are there at once.
  void with_sessions([[maybe_unused]] int i, [[maybe_unused]] Draw draw) {
#ifdef HAS_SESSIONS
    const int count = 1 + draw.below(3), steps = 4 + draw.below(8), first_to_end = draw.below(count);
    const std::string prefix = prefix_ + std::to_string(i) + "/";
    std::vector<std::pair<MPI_Session, MPI_Comm>> all(count);
    say(std::to_string(count) + " sessions, " + std::to_string(steps) + " steps each");
    for (int s = 0; s < count; ++s) {
      auto& [begun, comm] = all[s];
      begun = begin_session();
      std::vector<int> ranks(places_[0].comm.size);
      std::iota(ranks.begin(), ranks.end(), 0);
      std::rotate(ranks.begin(), ranks.begin() + draw.below(places_[0].comm.size), ranks.end());
      if (ranks.size() > 1 && draw.one_in(3)) ranks.pop_back();
      comm = of_session(begun, ranks, "random " + prefix + std::to_string(s));
    }
    const Where here = where;
    for (int s = 0; s < count; ++s)
      if (all[s].second != MPI_COMM_NULL)
        Runner(seed_, all[s].second, prefix + std::to_string(s) + "/", true).run(steps);
    where = here;
    for (int s = 0; s < count; ++s) {
      auto& [begun, comm] = all[(s + first_to_end) % count];
      if (comm != MPI_COMM_NULL) must(MPI_Comm_free(&comm), "MPI_Comm_free");
      must(MPI_Session_finalize(&begun), "MPI_Session_finalize");
    }
#endif
  }

  /// Together with processes that are started for it.
  void with_spawned(int i, Draw draw) {
    const int count = 1 + draw.below(2);
    const std::string prefix = prefix_ + std::to_string(i) + "/";
    std::vector<std::string> words{std::to_string(seed_), "--spawned", prefix, "--limit",
                                   std::to_string(options.limit)};
    if (options.single) words.push_back("--single");
    if (!options.list.empty()) words.insert(words.end(), {"--only", options.list});
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    say("starts " + std::to_string(count));
    MPI_Comm inter;
    must(MPI_Comm_spawn(options.program, arguments.data(), count, MPI_INFO_NULL, 0, places_[0].comm.handle, &inter,
                        MPI_ERRCODES_IGNORE),
         "MPI_Comm_spawn");
    const Where here = where;
    together(seed_, inter, false, prefix);
    where = here;
  }

 public:
  static constexpr int steps_with_spawned = 15;
  static void together(std::uint64_t seed, MPI_Comm inter, bool later, const std::string& prefix) {
    MPI_Comm merged;
    must(MPI_Intercomm_merge(inter, later, &merged), "MPI_Intercomm_merge");
    must(MPI_Comm_set_errhandler(merged, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    Runner(seed, merged, prefix, true).run(steps_with_spawned);
    must(MPI_Comm_free(&merged), "MPI_Comm_free");
    must(MPI_Comm_disconnect(&inter), "MPI_Comm_disconnect");
  }

 private:
  // Open MPI 4 and MPICH before 4.1 do not manage that everywhere, by themselves.
#if (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION < 5) || (defined MPICH_NUMVERSION && MPICH_NUMVERSION < 40100000)
  static constexpr bool may_spawn = false;
#else
  static constexpr bool may_spawn = true;
#endif

  void end() {
    Draw draw(hash({seed_, 3}));
    if (draw.one_in(2))
      for (int at = 1; at < places; ++at) free_place(places_[at], draw);
    complete_all(draw);
    for (Outstanding& one : outstanding_) free_request(one);
    outstanding_.clear();
    for (int at = 1; at < places; ++at) free_place(places_[at], draw);
    must(MPI_Barrier(places_[0].comm.handle), "MPI_Barrier");
  }
};

/// Handlers of signals: they call only functions that a signal may interrupt.
void tell(const char (&what)[5]) {
  if (write(2, what, 4) < 0 || write(2, running, std::strlen(running)) < 0) _exit(4);
}
void out_of_time(int) {
  tell("HANG");
  _exit(3);
}
void crashed(int signal) {
  tell("FAIL");
  std::signal(signal, SIG_DFL);
  raise(signal);
}

[[noreturn]] void usage() {
  std::fputs(
      "usage: random FIRST[..LAST] [--steps N] [--only STEP,...] [--say] [--single] [--without-init] [--limit "
      "SECONDS]\n",
      stderr);
  std::exit(2);
}

Options read(int argc, char** argv) {
  Options read;
  if (argc < 2) usage();
  char* end = nullptr;
  read.first = read.last = std::strtoull(argv[1], &end, 10);
  if (std::strncmp(end, "..", 2) == 0) read.last = std::strtoull(end + 2, &end, 10);
  if (*end || end == argv[1]) usage();
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&] { return i + 1 < argc ? argv[++i] : (usage(), nullptr); };
    if (word == "--say") {
      read.say = true;
    } else if (word == "--single") {
      read.single = true;
#ifdef HAS_SESSIONS
    } else if (word == "--without-init") {
      read.alone = true;
#endif
    } else if (word == "--spawned") {
      read.spawned = value();
    } else if (word == "--steps") {
      read.steps = std::atoi(value());
    } else if (word == "--limit") {
      read.limit = std::atoi(value());
    } else if (word == "--only") {
      const std::string& list = read.list = value();
      for (std::size_t from = 0; from <= list.size();) {
        const std::size_t to = std::min(list.find(',', from), list.size());
        read.only.insert(list.substr(from, to - from));
        from = to + 1;
      }
    } else {
      usage();
    }
  }
  return read;
}

}  // namespace
}  // namespace random_programs

int main(int argc, char** argv) {
  using namespace random_programs;
  options = read(argc, argv);
  int provided = 0, rank = 0;
#ifdef HAS_SESSIONS
  if (options.alone) session = begin_session(), everybody = of_session(session, {}, "random");
#endif
  if (!options.alone)
    MPI_Init_thread(&argc, &argv, options.single ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE, &provided);
  options.threads = provided == MPI_THREAD_MULTIPLE;
  const char* const reproducible = std::getenv("OMNES_REPRODUCIBLE");
  options.reproducible = reproducible && *reproducible == '1';
  MPI_Comm_set_errhandler(everybody, MPI_ERRORS_RETURN);
  MPI_Comm_rank(everybody, &rank);
  options.program = argv[0];
  std::signal(SIGALRM, out_of_time);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT})
    std::signal(signal, crashed);  // not the MPI's own handlers
  if (!options.spawned.empty()) {
    MPI_Comm parents;
    MPI_Comm_get_parent(&parents);
    where.seed = options.first;
    alarm(options.limit);
    Runner::together(options.first, parents, true, options.spawned);
    MPI_Finalize();
    return 0;
  }
#ifdef HAS_SESSIONS
  if (!options.alone) session = begin_session();
#endif
  for (std::uint64_t seed = options.first; seed <= options.last; ++seed) {
    where.seed = seed;
    alarm(options.limit);
    Runner(seed, everybody, "").run(options.steps);
  }
  alarm(0);
#ifdef HAS_SESSIONS
  if (options.alone) must(MPI_Comm_free(&everybody), "MPI_Comm_free");
  must(MPI_Session_finalize(&session), "MPI_Session_finalize");
#endif
  if (!options.alone) MPI_Finalize();
  if (rank == 0) std::puts("OK");
  return 0;
}
