// What a process tells at MPI_Finalize when OMNES_STATS asks for it: which algorithms ran, and what went to the host
// and why.
#pragma once

#include "interpose/communicator/state.hpp"

namespace omnes::interpose {

/// Arranges for the report to be written in MPI_Finalize. Returns the host's error code.
int prepare_report();
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
void count_passed(Operation operation, Form form, const char* reason, double seconds);

}  // namespace omnes::interpose
