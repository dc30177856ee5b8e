// Each operation's rows of the contract.
#include "schedule/contract.hpp"

#include <algorithm>

namespace omnes {

namespace {

using enum Operation;

/// Parts in a rank's contribution, for the sizes of unequal parts between pairs of ranks.
int outgoing_parts(const Problem& problem) {
  return regular(problem.operation) == neighbor_alltoall ? static_cast<int>(problem.neighbors.destinations.size())
                                                         : problem.p;
}

// A class of unequal parts, packed: whose contribution, which of its parts, which piece.
constexpr int rank_shift = 42, part_shift = 21;
SizeClass packed(std::int64_t rank, std::int64_t part, std::int64_t piece) {
  return rank << rank_shift | part << part_shift | piece;
}

}  // namespace

int contributed_blocks(const Problem& problem, int pieces) {
  switch (regular(problem.operation)) {
    case barrier: return 0;
    case scatter:
    case alltoall:
    case reduce_scatter_block:
    case neighbor_alltoall: return outgoing_parts(problem) * pieces;
    default: return pieces;
  }
}

std::optional<Origin> initial(const Problem& problem, int pieces, Buffer buffer, int block) {
  const Origin own{problem.rank, block};
  if (buffer == Buffer::temp) return std::nullopt;
  if (buffer == Buffer::send) return own;
  const Operation kind = regular(problem.operation);
  if (kind == bcast && problem.rank == problem.root) return own;
  if (!problem.in_place || kind == scatter) return std::nullopt;
  if (kind != gather && kind != allgather) return own;
  if (block / pieces == problem.rank) return Origin{problem.rank, block % pieces};
  return std::nullopt;
}

Promise promised(const Problem& problem, int pieces, int block) {
  const int part = block / pieces, piece = block % pieces;
  switch (regular(problem.operation)) {
    case bcast:
      return {.rank = problem.root,
              .block = block,
              .nothing = problem.rank != problem.root && !contributors_to(problem.rank, problem).has(problem.root)};
    case gather:
    case allgather: return {part, piece};
    case scatter: return {problem.root, problem.rank * pieces + piece};
    case alltoall: return {part, problem.rank * pieces + piece};
    case reduce_scatter_block: return {.block = problem.rank * pieces + piece, .combined = problem.p};
    case scan: return {.block = block, .combined = problem.rank + 1};
    case exscan: return {.block = block, .combined = problem.rank, .nothing = problem.rank == 0};
    case neighbor_allgather: return {problem.neighbors.sources[part], piece};
    case neighbor_alltoall: return {problem.neighbors.sources[part], problem.neighbors.ports[part] * pieces + piece};
    default: {
      const Range all = contributors_to(problem.rank, problem);
      return {.rank = all.first, .block = block, .combined = all.count};
    }
  }
}

bool writable(const Problem& problem, Buffer buffer) {
  if (buffer != Buffer::recv) return buffer == Buffer::temp;
  if (problem.operation == bcast) return problem.rank != problem.root;
  return problem.operation != exscan || problem.rank > 0;
}

SizeClass size_class(const Schedule& schedule, Blocks run, int i) {
  const Problem& problem = schedule.problem;
  const Operation operation = problem.operation;
  int block = run.first + i, rank = problem.rank;
  Buffer buffer = run.buffer;
  if (buffer == Buffer::temp) {
    rank = schedule.temp[block].rank;
    block = schedule.temp[block].block;
    buffer = buffer_of_all(operation);
  }
  const int part = block / schedule.pieces, piece = block % schedule.pieces;
  if (!unequal(operation)) return piece;
  switch (regular(operation)) {
    case alltoall:
      // In place, MPI asks two ranks to send each other the same amount.
      if (problem.in_place) return packed(std::min(rank, part), std::max(rank, part), piece);
      return buffer == Buffer::send ? packed(rank, part, piece) : packed(part, rank, piece);
    case neighbor_alltoall:
      if (buffer == Buffer::send) return packed(problem.rank, part, piece);
      return packed(problem.neighbors.sources[part], problem.neighbors.ports[part], piece);
    case neighbor_allgather:
      return packed(buffer == Buffer::send ? problem.rank : problem.neighbors.sources[part], 0, piece);
    default:  // the part of a rank, the same wherever it lies
      return packed(buffer == buffer_of_all(operation) ? part : problem.rank, 0, piece);
  }
}

std::string to_text(const Schedule& schedule, SizeClass size) {
  if (!unequal(schedule.problem.operation)) return "piece " + std::to_string(size);
  const SizeClass mask = (SizeClass{1} << part_shift) - 1;
  return "piece " + std::to_string(size & mask) + " of part " + std::to_string(size >> part_shift & mask) +
         " of rank " + std::to_string(size >> rank_shift);
}

}  // namespace omnes
