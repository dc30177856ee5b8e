// Numbers that all ranks draw alike, and what a rank says when something is wrong.
#pragma once

#include <mpi.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string>

namespace random_programs {

/// splitmix64: a permutation of all 64-bit words that leaves no pattern.
inline std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

inline std::uint64_t hash(std::initializer_list<std::uint64_t> words) {
  std::uint64_t h = 0;
  for (const std::uint64_t word : words) h = mix(h ^ word);
  return h;
}

/// A sequence of numbers that depends only on what it was made from.
class Draw {
 public:
  explicit Draw(std::uint64_t start) : state_(start) {}
  std::uint64_t next() { return state_ = mix(state_); }
  int below(int n) { return static_cast<int>(next() % static_cast<unsigned>(n)); }
  bool one_in(int n) { return below(n) == 0; }

 private:
  std::uint64_t state_;
};

/// What the program is doing, for those who have to say where it went wrong.
struct Where {
  std::uint64_t seed = 0;
  std::string step;  ///< "12", or "12/1/3": step 3 of thread 1 of step 12
};
inline thread_local Where where;
inline MPI_Comm everybody = MPI_COMM_WORLD;  ///< all ranks of the job
inline char running[64] = "";                ///< seed and step, of the thread that is in main; for a signal's handler

/// One line on standard error, and the end of the job.
[[noreturn]] __attribute__((format(printf, 1, 2))) inline void fail(const char* format, ...) {
  char text[512];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  int rank = -1;
  MPI_Comm_rank(everybody, &rank);
  std::fprintf(stderr, "FAIL seed %llu step %s rank %d: %s\n", static_cast<unsigned long long>(where.seed),
               where.step.c_str(), rank, text);
  std::fflush(stderr);
  MPI_Abort(everybody, 1);
  _exit(1);
}

/// Every code of MPI is looked at.
inline void must(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  fail("%s says: %s", what, text);
}

}  // namespace random_programs
