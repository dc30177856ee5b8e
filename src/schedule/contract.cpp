// Each operation's rows of the contract.
#include "schedule/contract.hpp"

namespace omnes {

int contributed_blocks(Operation operation, int p, int pieces) {
  switch (operation) {
    case Operation::barrier: return 0;
    case Operation::scatter:
    case Operation::alltoall: return p * pieces;
    default: return pieces;
  }
}

std::optional<Origin> initial(const Problem& problem, int pieces, Buffer buffer, int block) {
  const Origin own{problem.rank, block};
  if (buffer == Buffer::temp) return std::nullopt;
  if (buffer == Buffer::send) return own;
  switch (problem.operation) {
    case Operation::bcast:
      if (problem.rank == problem.root) return own;
      return std::nullopt;
    case Operation::reduce:
    case Operation::allreduce:
    case Operation::alltoall:
      if (problem.in_place) return own;
      return std::nullopt;
    case Operation::gather:
    case Operation::allgather:
      if (problem.in_place && block / pieces == problem.rank) return Origin{problem.rank, block % pieces};
      return std::nullopt;
    case Operation::barrier:
    case Operation::scatter: return std::nullopt;
  }
  return std::nullopt;
}

Promise promised(const Problem& problem, int pieces, int block) {
  const int part = block / pieces, piece = block % pieces;
  switch (problem.operation) {
    case Operation::bcast: return {problem.root, block};
    case Operation::gather:
    case Operation::allgather: return {part, piece};
    case Operation::scatter: return {problem.root, problem.rank * pieces + piece};
    case Operation::alltoall: return {part, problem.rank * pieces + piece};
    case Operation::barrier:  // has no blocks
    case Operation::reduce:
    case Operation::allreduce: return {Promise::everyone, block};
  }
  return {};
}

bool writable(const Problem& problem, Buffer buffer) {
  if (buffer == Buffer::recv) return problem.operation != Operation::bcast || problem.rank != problem.root;
  return buffer == Buffer::temp;
}

int size_class(const Schedule& schedule, Blocks run, int i) {
  const int block = run.first + i;
  return (run.buffer == Buffer::temp ? schedule.temp[block] : block) % schedule.pieces;
}

}  // namespace omnes
