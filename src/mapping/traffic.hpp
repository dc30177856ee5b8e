// Traffic: how much every rank sends to every other one, found from the schedules themselves or from a file.
//
// Rows in CSR form: memory is that of the pairs that do talk. What a rank sends is counted instead of building its
// schedule.
#pragma once

#include <cstdint>
#include <functional>
#include <istream>
#include <span>
#include <utility>
#include <vector>

#include "algorithms/registry.hpp"

namespace omnes::mapping {

/// Amounts are blocks of a schedule, or bytes where sizes are known; the methods need no unit.
struct Traffic {
  int p = 0;
  std::vector<std::int64_t> first;   ///< row i is first[i] .. first[i + 1]
  std::vector<std::int32_t> peer;    ///< ascending in each row; never the rank itself
  std::vector<std::int64_t> amount;  ///< from the rank to that peer
  bool operator==(const Traffic&) const = default;
};

/// What one rank sends: (peer, amount), ascending by peer.
using Row = std::vector<std::pair<std::int32_t, std::int64_t>>;
/// The size of block i of a run of a schedule; see size_class() of schedule/contract.hpp for what blocks are alike.
using BlockSize = std::function<std::int64_t(const Schedule&, Blocks run, int i)>;

/// Row of a schedule, each block counted as 1 unless sizes are given. In a barrier, which moves no data, a message counts as 1.
Row row_of(const Schedule& schedule, const BlockSize& size = {});

/// Traffic of ranks whose rows are asked for one by one, in ascending order.
Traffic traffic_of(int p, const std::function<Row(int rank)>& row);
/// Traffic of an algorithm; `problem` without rank and neighbors (those are the sample torus). Throws std::invalid_argument where
/// the algorithm cannot do it, or where more pairs talk than memory should be spent on.
Traffic traffic_of(const Algorithm& algorithm, const Problem& problem, const BlockSize& size = {});
/// One rank's row of that.
Row row_of(const Algorithm& algorithm, const Problem& problem, int rank, const BlockSize& size = {});
/// What it sends, counted without a schedule, and the blocks of a part.
struct Counted {
  std::vector<Sent> sent;
  int pieces = 1;
};
Counted counted(const Algorithm& algorithm, const Problem& problem, int rank);
Row row_of(std::span<const Sent> all);
/// Blocks per part in its schedules.
int pieces_of(const Algorithm& algorithm, const Problem& problem);

/// Of a group of ranks, whose rank i is members[i] among all; amounts count `scale` times, rounded.
struct Share {
  const Traffic* traffic;
  std::vector<std::int32_t> members;
  double scale = 1;
};
/// What all of them send, among p ranks.
Traffic sum_of(int p, std::span<const Share> shares);

/// Lines of `from to amount`, `#` comments; p is the largest rank plus 1, or `p` where that is more. Amounts of equal pairs add up.
/// Throws std::invalid_argument: the line's number, what was found and what was expected.
Traffic read_traffic(std::istream& in, int p = 0);

}  // namespace omnes::mapping
