// Names and shapes of schedules: which operation has how many blocks where.
#include "schedule/schedule.hpp"

#include <array>

namespace omnes {

namespace {

constexpr std::array<std::string_view, operation_count> operation_names = {
    "barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall"};
constexpr std::array<std::string_view, 5> kind_names = {"send", "recv", "recv_reduce", "copy", "reduce"};
constexpr std::array<std::string_view, 3> buffer_names = {"send", "recv", "temp"};

template <class Enum, std::size_t n>
std::string_view name_in(const std::array<std::string_view, n>& names, Enum value) {
  return names[static_cast<std::size_t>(value)];
}

}  // namespace

std::string_view name(Operation operation) { return name_in(operation_names, operation); }
std::string_view name(OpKind kind) { return name_in(kind_names, kind); }
std::string_view name(Buffer buffer) { return name_in(buffer_names, buffer); }

std::optional<Operation> operation_named(std::string_view wanted) {
  for (int i = 0; i < operation_count; ++i)
    if (operation_names[i] == wanted) return static_cast<Operation>(i);
  return std::nullopt;
}

bool reduces(Operation operation) { return operation == Operation::reduce || operation == Operation::allreduce; }

bool rooted(Operation operation) {
  switch (operation) {
    case Operation::bcast:
    case Operation::reduce:
    case Operation::gather:
    case Operation::scatter: return true;
    default: return false;
  }
}

int parts(Operation operation, int p) {
  switch (operation) {
    case Operation::barrier: return 0;
    case Operation::bcast:
    case Operation::reduce:
    case Operation::allreduce: return 1;
    default: return p;
  }
}

int blocks_in(const Problem& problem, int pieces, Buffer buffer) {
  const bool at_root = problem.rank == problem.root;
  const bool sends = buffer == Buffer::send;
  const int one = pieces, all = problem.p * pieces;
  switch (problem.operation) {
    case Operation::barrier: return 0;
    case Operation::bcast: return sends ? 0 : one;
    case Operation::reduce:
      if (sends) return problem.in_place ? 0 : one;
      return at_root ? one : 0;
    case Operation::allreduce: return sends && problem.in_place ? 0 : one;
    case Operation::gather:
      if (sends) return problem.in_place ? 0 : one;
      return at_root ? all : 0;
    case Operation::scatter:
      if (sends) return at_root ? all : 0;
      return problem.in_place ? 0 : one;
    case Operation::allgather:
      if (sends) return problem.in_place ? 0 : one;
      return all;
    case Operation::alltoall: return sends && problem.in_place ? 0 : all;
  }
  return 0;
}

}  // namespace omnes
