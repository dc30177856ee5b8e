// Jobs of MPI programs on the fake host, with failures on demand: what tests say.
//
// Overview: the interposer, all of it but the search for a host (host_loaded.cpp), is linked into the test with a host of
// some 2000 lines (the other .cpp of this folder). A job forks a process for each rank; the ranks' messages and
// contributions to the host's collectives lie in memory that all have mapped at one address.
// Why processes: the interposer keeps its world, settings and caches once per process, and copies from process to process.
// So nothing of it is changed, and each rank has all that it has in a program: descriptors, a heap, threads of its own. The
// sanitizers look at every rank, LeakSanitizer at its end; ThreadSanitizer sees the threads of a rank.
// Cost: between ranks it sees nothing. What lies in shared memory is tested by threads, in test_shm and test_lane.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace fake {

/// What fails: the number-th time, from 1, that the rank comes there. 0: nothing.
struct Fault {
  /// A function of the host ("Comm_create"); of the system ("mmap"); "operator new".
  std::string what;
  long number = 0;
  int rank = 0;
  bool from_then_on = false;  ///< all later ones, too
};

struct Job {
  int ranks = 2;
  std::map<std::string, std::string> variables = {};  ///< of the environment
  Fault fault = {};
  unsigned late = 0;  ///< messages come so many looks late at most, each one for itself; those of one sender in order
  std::size_t eager = 4096;       ///< bytes; to send more waits for the receiver
  bool hook = true;               ///< the host has MPIX_Async_start
  bool looks_at_requests = true;  ///< and MPIX_Request_is_complete
  bool revokes = false;           ///< and MPIX_Comm_is_revoked
  int seconds = 60;               ///< until it is taken to hang
  int after_error = 100;          ///< ms: what goes on after one, for so long
};

struct Result {
  std::string wrong;    ///< one line; empty: all ranks went to the end, or one said that it had an error
  bool error = false;   ///< one did
  std::string what;     ///< which call returned it
  bool struck = false;  ///< the fault has
  std::vector<std::map<std::string, long>>
      calls;  ///< by rank: how often it came to each place where something can fail
};

/// Runs `program` on all ranks between MPI_Init_thread and MPI_Finalize.
Result run(const Job& job, const std::function<void()>& program);

// For programs. They allocate nothing while a fault is due.

/// While there is one, this thread is in the interposer: what can fail does.
struct InMpi {
  explicit InMpi(const char* call = "a callback");
  ~InMpi();

 private:
  const int before_;
};
/// An error has to have reached an error handler. Then the rank tells, and ends.
void expect(int code, const char* call);
/// Likewise, but it goes on. Returns whether there is none.
bool went_well(int code, const char* call);
/// A call of MPI by the program.
#define MPI(call)                        \
  do {                                   \
    int code;                            \
    {                                    \
      const ::fake::InMpi inside(#call); \
      code = MPI_##call;                 \
    }                                    \
    ::fake::expect(code, #call);         \
  } while (false)
/// In MPI_COMM_WORLD, also before MPI_Init.
int own_rank();
/// How often the interposer has allocated by new on this rank.
long allocations();
/// All ranks that ask from now on see that it is.
void revoke(int comm);
/// What may not be.
[[noreturn]] void fail(const char* format, ...) __attribute__((format(printf, 1, 2)));
}  // namespace fake
