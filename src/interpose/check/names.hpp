// The functions and reductions that a rank tells others of, as numbers that mean the same in all processes.
#pragma once

#include <cstdint>
#include <string>

#include "interpose/host/host.hpp"
#include "runtime/call.hpp"

// Functions beside the collectives: those that wait, and those that all members of a communicator call.
// clang-format off
#define OMNES_CHECKED_FUNCTIONS(X)                                                                        \
  X(Wait) X(Waitall) X(Waitany) X(Waitsome) X(Test) X(Testall) X(Testany) X(Testsome) X(Start)            \
  X(Send) X(Ssend) X(Rsend) X(Recv) X(Mrecv) X(Sendrecv) X(Sendrecv_replace) X(Probe) X(Mprobe)           \
  X(Comm_dup) X(Comm_dup_with_info) X(Comm_split) X(Comm_split_type) X(Comm_create) X(Cart_create)        \
  X(Cart_sub) X(Graph_create) X(Dist_graph_create) X(Dist_graph_create_adjacent) X(Comm_idup)             \
  X(Comm_idup_with_info) X(Comm_create_group) X(Intercomm_create) X(Intercomm_merge) X(Finalize)
// clang-format on

namespace omnes::interpose::check {

enum class Function : std::uint8_t {
#define OMNES_NUMBERED(name) name,
  OMNES_CHECKED_FUNCTIONS(OMNES_NUMBERED)
#undef OMNES_NUMBERED
};
/// Without "MPI_".
constexpr const char* name(Function function) {
#define OMNES_NAMED(name) #name,
  constexpr const char* names[] = {OMNES_CHECKED_FUNCTIONS(OMNES_NAMED)};
#undef OMNES_NAMED
  return names[static_cast<int>(function)];
}

/// What a notice says: 0 is none.
constexpr std::uint8_t number_of(Operation operation, Form form) {
  return static_cast<std::uint8_t>(1 + static_cast<int>(operation) * form_count + static_cast<int>(form));
}
inline constexpr int first_function = 1 + operation_count * form_count;
constexpr std::uint8_t number_of(Function function) {
  return static_cast<std::uint8_t>(first_function + static_cast<int>(function));
}
constexpr bool is_collective(std::uint8_t number) { return number > 0 && number < first_function; }
constexpr Operation operation_of(std::uint8_t number) { return static_cast<Operation>((number - 1) / form_count); }
/// "MPI_Iallreduce"
std::string function_name(std::uint8_t number);

/// 0: none.
std::uint8_t number_of(MPI_Op op);
/// "MPI_SUM", or that it is the program's own.
std::string reduction_name(std::uint8_t number);

}  // namespace omnes::interpose::check
