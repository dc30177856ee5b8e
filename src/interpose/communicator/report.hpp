// What a process tells at MPI_Finalize when OMNES_STATS asks for it: which algorithms ran, what went to the host and why,
// when sampled calls came and went (runtime/sample.hpp), and how long the program was in MPI's other functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "interpose/communicator/state.hpp"

namespace omnes::interpose {

/// Arranges for the report to be written in MPI_Finalize, if one is wanted or calls are recorded. Returns the host's error
/// code.
int prepare_report();
/// MPI_Init is over: from here on the time counts.
void begin_report();
/// The program's MPI is of another family, so that nothing is served: a report that says so, also where only OMNES_NOTICES
/// asks for that. Before the host's MPI_Finalize.
void report_wrong_family(Family theirs);
/// True once MPI_Finalize has begun.
bool finalizing();

bool reporting();
/// A new team's statistics belong to the report.
void enlist(State& state);
/// The state is about to go: its statistics are kept.
void retire(State& state);
/// The communicator is freed, or its handle names another one.
void retire(MPI_Comm comm);

/// A call that goes to the host; made before it, ended after it. `bytes`: of a part, 0 where they are not known.
class PassedCall {
 public:
  PassedCall(MPI_Comm comm, State* state, Operation operation, Form form, const char* reason, int root,
             std::size_t bytes);
  void end(int code);

 private:
  MPI_Comm comm_;
  State* state_;
  Operation operation_;
  Form form_;
  const char* reason_;
  int root_;
  std::size_t bytes_;
  struct Passed* kind_ = nullptr;
  bool kept_ = false;  // when it was
  std::int64_t begin_ = 0;
};

/// One of MPI's functions that are no collectives, while the program is in it. `name`: a literal.
class InMpi {
 public:
  explicit InMpi(const char* name) {
    if (!straight() && reporting()) [[unlikely]]
      enter(name);
  }
  ~InMpi() {
    if (function_) leave();
  }
  InMpi(const InMpi&) = delete;
  InMpi& operator=(const InMpi&) = delete;

 private:
  void enter(const char* name);
  void leave();
  struct Function* function_ = nullptr;
  std::int64_t begin_ = 0;
};

}  // namespace omnes::interpose
