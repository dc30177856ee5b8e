// Names and shapes of schedules: which operation has how many blocks where.
#include "schedule/schedule.hpp"

#include <algorithm>
#include <array>

namespace omnes {

namespace {

struct Traits {
  std::string_view name;
  Operation regular;
  bool reduces, rooted, in_place;
};
using enum Operation;
constexpr std::array<Traits, operation_count> operations = {{
    {"barrier", barrier, false, false, false},
    {"bcast", bcast, false, true, false},
    {"reduce", reduce, true, true, true},
    {"allreduce", allreduce, true, false, true},
    {"gather", gather, false, true, true},
    {"gatherv", gather, false, true, true},
    {"scatter", scatter, false, true, true},
    {"scatterv", scatter, false, true, true},
    {"allgather", allgather, false, false, true},
    {"allgatherv", allgather, false, false, true},
    {"alltoall", alltoall, false, false, true},
    {"alltoallv", alltoall, false, false, true},
    {"alltoallw", alltoall, false, false, true},
    {"reduce_scatter_block", reduce_scatter_block, true, false, false},
    {"reduce_scatter", reduce_scatter_block, true, false, false},
    {"scan", scan, true, false, true},
    {"exscan", exscan, true, false, true},
    {"neighbor_allgather", neighbor_allgather, false, false, false},
    {"neighbor_allgatherv", neighbor_allgather, false, false, false},
    {"neighbor_alltoall", neighbor_alltoall, false, false, false},
    {"neighbor_alltoallv", neighbor_alltoall, false, false, false},
    {"neighbor_alltoallw", neighbor_alltoall, false, false, false},
}};
constexpr const Traits& traits(Operation operation) { return operations[static_cast<std::size_t>(operation)]; }
constexpr std::array<std::string_view, 5> kind_names = {"send", "recv", "recv_reduce", "copy", "reduce"};
constexpr std::array<std::string_view, 3> buffer_names = {"send", "recv", "temp"};

template <class Enum, std::size_t n>
std::string_view name_in(const std::array<std::string_view, n>& names, Enum value) {
  return names[static_cast<std::size_t>(value)];
}

}  // namespace

std::string_view name(Operation operation) { return traits(operation).name; }
std::string_view name(OpKind kind) { return name_in(kind_names, kind); }
std::string_view name(Buffer buffer) { return name_in(buffer_names, buffer); }

std::optional<Operation> operation_named(std::string_view wanted) {
  for (int i = 0; i < operation_count; ++i)
    if (operations[i].name == wanted) return static_cast<Operation>(i);
  return std::nullopt;
}

Operation regular(Operation operation) { return traits(operation).regular; }
bool reduces(Operation operation) { return traits(operation).reduces; }
bool rooted(Operation operation) { return traits(operation).rooted; }
bool has_in_place(Operation operation) { return traits(operation).in_place; }
bool sized_by_pairs(Operation operation) { return unequal(operation) && regular(operation) == alltoall; }
bool among_neighbors(Operation operation) {
  return regular(operation) == neighbor_allgather || regular(operation) == neighbor_alltoall;
}

Range group_of(int rank, int p, int first_group) {
  return rank < first_group ? Range{0, first_group} : Range{first_group, p - first_group};
}

Range other_group(int rank, int p, int first_group) {
  if (first_group == 0) return {0, p};
  return rank < first_group ? Range{first_group, p - first_group} : Range{0, first_group};
}

int blocks_in(const Problem& problem, int pieces, Buffer buffer) {
  const bool at_root = problem.rank == problem.root;
  const bool sends = buffer == Buffer::send;
  const int one = pieces, all = static_cast<int>(std::int64_t{problem.p} * pieces);
  const int own = problem.in_place ? 0 : one;  // one part in `send`, unless in place
  switch (regular(problem.operation)) {
    case bcast: return sends ? 0 : one;
    case reduce: return sends ? own : at_root ? one : 0;
    case allreduce:
    case scan: return sends ? own : one;
    case exscan: return sends ? own : problem.rank > 0 || problem.in_place ? one : 0;
    case gather: return sends ? own : at_root ? all : 0;
    case scatter:
      if (sends) return at_root ? all : 0;
      return own;
    case allgather: return sends ? own : all;
    case alltoall: return sends && problem.in_place ? 0 : all;
    case reduce_scatter_block: return sends ? all : one;
    case neighbor_allgather: return sends ? one : static_cast<int>(problem.neighbors.sources.size()) * pieces;
    case neighbor_alltoall:
      return static_cast<int>(sends ? problem.neighbors.destinations.size() : problem.neighbors.sources.size()) *
             pieces;
    default: return 0;
  }
}

int data_blocks(const Problem& problem, int pieces) {
  switch (regular(problem.operation)) {
    case barrier: return 0;
    case bcast:
    case reduce:
    case allreduce:
    case scan:
    case exscan: return pieces;
    case neighbor_allgather:
    case neighbor_alltoall: return static_cast<int>(problem.neighbors.sources.size()) * pieces;
    default: return problem.p * pieces;
  }
}

Buffer buffer_of_all(Operation operation) {
  const Operation kind = regular(operation);
  return kind == scatter || kind == reduce_scatter_block ? Buffer::send : Buffer::recv;
}

bool needs_all_counts(const Schedule& schedule) {
  return std::ranges::any_of(schedule.temp, [&](const Like& like) { return like.rank != schedule.problem.rank; });
}

}  // namespace omnes
