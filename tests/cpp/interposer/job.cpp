// Forks the ranks, watches over them, and decides what fails.
#include "job.hpp"

#include <errno.h>
#include <execinfo.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "inside.hpp"

namespace fake {

Shared* shared = nullptr;
Job job;
int own = 0;
std::atomic<long> errors_handled{0};

namespace {

constexpr std::size_t shared_bytes = std::size_t{1} << 30;  // of address space; of memory what is used

// Names of places: the same in all ranks, as each is asked for before the first job, or by a host's table.
const char* names[max_places];
int known_places = 0;

thread_local int safe = 0;  // 0 in the interposer and its threads
thread_local const char* last_call = "a thread";
int due = -1;  // the place that fails in this rank

void tell(const char* format, va_list arguments) {
  Shared::Rank& rank = shared->ranks[own];
  if (!rank.failed.exchange(true)) vsnprintf(rank.line, sizeof rank.line, format, arguments);
}

[[noreturn]] void run_rank(const std::function<void()>& program) {
  for (const auto& [name, value] : job.variables) setenv(name.c_str(), value.c_str(), 1);
  safe = 1;
  std::set_terminate([] {
    void* frames[40];
    backtrace_symbols_fd(frames, backtrace(frames, 40), 2);
    fail("%s: terminated", last_call);
  });
  due = job.fault.number > 0 && job.fault.rank == own ? place(job.fault.what.c_str()) : -1;
  try {
    program();
  } catch (const std::exception& exception) {
    fail("%s has thrown %s", last_call, exception.what());
  } catch (...) {
    fail("%s has thrown a failure", last_call);
  }
  exit(0);
}

}  // namespace

Shared::Shared(void* memory, std::size_t bytes, const Job& of)
    : raw(memory, bytes, std::pmr::null_memory_resource()),
      boxes(static_cast<std::size_t>(of.ranks), &pool),
      gatherings(&pool),
      contexts(&pool),
      ranks(static_cast<std::size_t>(of.ranks), &pool) {}

int place(const char* what) {
  for (int i = 0; i < known_places; ++i)
    if (std::strcmp(names[i], what) == 0) return i;
  names[known_places] = what;
  return known_places++;
}

bool strikes(int place) {
  if (safe > 0 || !shared) return false;
  const long number = ++shared->ranks[own].comes[place];
  const bool now =
      place == due && (number == job.fault.number || (job.fault.from_then_on && number > job.fault.number));
  if (now) shared->ranks[own].struck = true;
  return now;
}

Safe::Safe() { ++safe; }
Safe::~Safe() { --safe; }
InMpi::InMpi(const char* call) : before_(safe) {
  safe = 0;
  last_call = call;
}
InMpi::~InMpi() { safe = before_; }

#ifdef OMNES_COVERAGE
extern "C" void __gcov_dump();
#endif
void leave(int code) {
#ifdef OMNES_COVERAGE
  __gcov_dump();
#endif
  _exit(code);
}

void fail(const char* format, ...) {
  const Safe here;
  va_list arguments;
  va_start(arguments, format);
  tell(format, arguments);
  va_end(arguments);
  leave(1);
}

void misuse(const char* format, ...) {
  const Safe here;
  va_list arguments;
  va_start(arguments, format);
  tell(format, arguments);
  va_end(arguments);
  abort();
}

int own_rank() { return own; }

bool went_well(int code, const char* call) {
  if (code == MPI_SUCCESS) return true;
  const Safe here;
  if (errors_handled.load() == 0) fail("%s returned %d, and no error handler was called", call, code);
  Shared::Rank& rank = shared->ranks[own];
  if (!rank.error.exchange(true) && !rank.failed)
    snprintf(rank.line, sizeof rank.line, "%s returned %d %s", call, code, process().said.c_str());
  return false;
}

void expect(int code, const char* call) {
  if (!went_well(code, call)) exit(0);  // with a look at leaks; the others end with it
}

namespace {

/// Of who looks every now and then: a machine that was stopped, or does other things, takes little of it.
class Patience {
 public:
  explicit Patience(std::chrono::nanoseconds all) : left_(all) {}
  bool is_over() {
    const auto now = std::chrono::steady_clock::now();
    left_ -= std::min<std::chrono::nanoseconds>(now - std::exchange(last_, now), std::chrono::milliseconds(10));
    return left_.count() < 0;
  }

 private:
  std::chrono::nanoseconds left_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace

Result run(const Job& wanted, const std::function<void()>& program) {
  void* const memory =
      mmap(nullptr, shared_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return {.wrong = "no memory to share", .what = {}, .calls = {}};
  job = wanted;
  shared = new (memory) Shared(static_cast<std::byte*>(memory) + sizeof(Shared), shared_bytes - sizeof(Shared), job);
  std::vector<pid_t> processes;
  fflush(nullptr);
  for (int r = 0; r < job.ranks; ++r) {
    const pid_t made = fork();
    if (made == 0) {
      own = r;
      run_rank(program);
    }
    processes.push_back(made);
  }

  Result result;
  Patience patience{std::chrono::seconds(job.seconds)};
  const auto said = [&](int r) { return std::string(shared->ranks[r].line); };
  int left = job.ranks;
  bool ending = false, error = false;
  const auto end_all = [&] {
    if (!std::exchange(ending, true))
      for (const pid_t process : processes)
        if (process > 0) kill(process, SIGKILL);
  };
  while (left > 0) {
    bool any = false;
    for (int r = 0; r < job.ranks; ++r) {
      int status = 0;
      if (processes[r] <= 0 || waitpid(processes[r], &status, WNOHANG) == 0) continue;
      processes[r] = 0;
      --left;
      any = true;
      if (ending && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) continue;
      const std::string who = "rank " + std::to_string(r) + ": ";
      if (shared->ranks[r].failed) {
        if (result.wrong.empty()) result.wrong = who + said(r);
      } else if (WIFSIGNALED(status)) {
        if (result.wrong.empty()) result.wrong = who + strsignal(WTERMSIG(status));
      } else if (WEXITSTATUS(status) != 0) {
        if (result.wrong.empty()) result.wrong = who + "exit code " + std::to_string(WEXITSTATUS(status));
      }
      result.error |= shared->ranks[r].error;
      if (result.error || !result.wrong.empty()) end_all();
    }
    if (any) continue;
    const bool had_error =
        std::exchange(error, std::ranges::any_of(shared->ranks, [](auto& r) { return r.error.load(); }));
    if (error && !had_error) patience = Patience{std::chrono::milliseconds(job.after_error)};
    if (patience.is_over() && !ending) {
      if (!error) result.wrong = "hangs";  // else the others may wait for who had it
      end_all();
    }
    usleep(200);
  }
  for (int r = 0; r < job.ranks; ++r) {
    Shared::Rank& rank = shared->ranks[r];
    result.struck |= rank.struck;
    result.error |= rank.error;
    if (rank.error && result.what.empty()) result.what = "rank " + std::to_string(r) + ": " + said(r);
    auto& calls = result.calls.emplace_back();
    for (int i = 0; i < known_places; ++i)
      if (const long count = rank.comes[i]) calls[names[i]] = count;
  }
  munmap(memory, shared_bytes);
  shared = nullptr;
  return result;
}

namespace {
const int of_new = place("operator new");
}

long allocations() { return shared->ranks[own].comes[of_new]; }

}  // namespace fake

// All that the test and the interposer allocate by new.
void* operator new(std::size_t bytes) {
  if (fake::strikes(fake::of_new)) throw std::bad_alloc();
  if (void* const made = malloc(bytes ? bytes : 1)) return made;
  throw std::bad_alloc();
}
void* operator new[](std::size_t bytes) { return operator new(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return fake::strikes(fake::of_new) ? nullptr : malloc(bytes ? bytes : 1);
}
void* operator new[](std::size_t bytes, const std::nothrow_t& nothrow) noexcept { return operator new(bytes, nothrow); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  if (fake::strikes(fake::of_new)) throw std::bad_alloc();
  const auto to = static_cast<std::size_t>(alignment);
  if (void* const made = aligned_alloc(to, (bytes + to - 1) / to * to)) return made;
  throw std::bad_alloc();
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) { return operator new(bytes, alignment); }
void operator delete(void* made) noexcept { free(made); }
void operator delete[](void* made) noexcept { free(made); }
void operator delete(void* made, std::size_t) noexcept { free(made); }
void operator delete[](void* made, std::size_t) noexcept { free(made); }
void operator delete(void* made, std::align_val_t) noexcept { free(made); }
void operator delete[](void* made, std::align_val_t) noexcept { free(made); }
void operator delete(void* made, std::size_t, std::align_val_t) noexcept { free(made); }
void operator delete[](void* made, std::size_t, std::align_val_t) noexcept { free(made); }

// What the interposer asks of the system (linked with --wrap).
#define FAKE_SYSTEM(result, name, parameters, arguments, error, otherwise) \
  static const int place_of_##name = fake::place(#name);                   \
  extern "C" result __real_##name parameters;                              \
  extern "C" result __wrap_##name parameters {                             \
    if (fake::strikes(place_of_##name)) {                                  \
      errno = error;                                                       \
      return otherwise;                                                    \
    }                                                                      \
    return __real_##name arguments;                                        \
  }
FAKE_SYSTEM(void*, mmap, (void* at, std::size_t bytes, int access, int flags, int file, off_t from),
            (at, bytes, access, flags, file, from), ENOMEM, MAP_FAILED)
FAKE_SYSTEM(int, memfd_create, (const char* name, unsigned flags), (name, flags), EMFILE, -1)
FAKE_SYSTEM(int, ftruncate, (int file, off_t bytes), (file, bytes), ENOSPC, -1)
FAKE_SYSTEM(ssize_t, process_vm_readv,
            (pid_t process, const iovec* to, unsigned long tos, const iovec* from, unsigned long froms,
             unsigned long flags),
            (process, to, tos, from, froms, flags), EPERM, -1)
FAKE_SYSTEM(ssize_t, process_vm_writev,
            (pid_t process, const iovec* to, unsigned long tos, const iovec* from, unsigned long froms,
             unsigned long flags),
            (process, to, tos, from, froms, flags), EPERM, -1)
FAKE_SYSTEM(int, pthread_create,
            (pthread_t * thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument),
            (thread, attributes, start, argument), EAGAIN, EAGAIN)
FAKE_SYSTEM(void*, aligned_alloc, (std::size_t alignment, std::size_t bytes), (alignment, bytes), ENOMEM, nullptr)
