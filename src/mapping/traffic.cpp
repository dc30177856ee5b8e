// Rows are sorted and summed one by one; nothing of a schedule outlives its row.
#include "mapping/traffic.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>

#include "algorithms/samples.hpp"
#include "base/assert.hpp"
#include "topology/file.hpp"
#include "topology/limits.hpp"

namespace omnes::mapping {

namespace {

// 12 bytes each here, and as much again for each direction in a graph: 2^28 pairs are 9 GiB in all.
constexpr std::size_t max_pairs = std::size_t{1} << 28;
/// Of what two ranks send each other, in bytes: beyond any program, and sums of these over many pairs still fit.
constexpr std::int64_t max_amount = std::int64_t{1} << 50;

void sort_and_sum(Row& row) {
  if (!std::ranges::is_sorted(row)) std::ranges::sort(row);
  std::size_t kept = 0;
  for (const auto& [peer, amount] : row) {
    if (kept > 0 && row[kept - 1].first == peer) {
      std::int64_t& sum = row[kept - 1].second;
      sum = amount > max_amount - sum ? max_amount : sum + amount;
    } else {
      row[kept++] = {peer, amount};
    }
  }
  row.resize(kept);
}

Problem seen_from(int rank, Problem problem) {
  problem.rank = rank;
  if (among_neighbors(problem.operation)) problem.neighbors = sample_neighbors(Topology::torus, problem.p, rank);
  return problem;
}

}  // namespace

Row row_of(const Schedule& schedule, const BlockSize& size) {
  const Problem& problem = schedule.problem;
  const auto amount_of = [&](const Op& op) -> std::int64_t {
    if (problem.operation == Operation::barrier) return 1;
    if (!size) return op.a.count;
    std::int64_t sum = 0;
    for (int i = 0; i < op.a.count; ++i) sum += size(schedule, op.a, i);
    return sum;
  };
  Row row;
  for (const Op& op : schedule.ops) {
    if (op.kind != OpKind::send) continue;
    const std::int64_t amount = amount_of(op);
    if (amount == 0) continue;
    if (op.published)
      for (int peer = 0; peer < problem.p; ++peer) row.emplace_back(peer, amount);
    for (const std::int32_t peer : schedule.peers_of(op)) row.emplace_back(peer, amount);
  }
  std::erase_if(row, [&](const auto& entry) { return entry.first == problem.rank; });
  sort_and_sum(row);
  return row;
}

Counted counted(const Algorithm& algorithm, const Problem& problem, int rank) {
  Tally tally;
  const int pieces = count_sent(algorithm, seen_from(rank, problem), tally);
  return {tally.take(), pieces};
}

Row row_of(std::span<const Sent> all) {
  Row row;
  row.reserve(all.size());
  for (const Sent& sent : all) row.emplace_back(sent.peer, sent.blocks);
  return row;
}

Traffic traffic_of(int p, const std::function<Row(int rank)>& row) {
  Traffic traffic{.p = p, .first = {0}, .peer = {}, .amount = {}};
  traffic.first.reserve(p + 1);
  for (int rank = 0; rank < p; ++rank) {
    const Row sent = row(rank);
    OMNES_ASSERT(std::ranges::is_sorted(sent));
    OMNES_ASSERT(std::ranges::none_of(sent, [&](const auto& entry) { return entry.first == rank; }));
    if (rank == 0) {  // regular patterns are the rule, so this is about what is needed
      traffic.peer.reserve(std::min(max_pairs, sent.size() * p));
      traffic.amount.reserve(std::min(max_pairs, sent.size() * p));
    }
    for (const auto& [peer, amount] : sent) {
      traffic.peer.push_back(peer);
      traffic.amount.push_back(amount);
    }
    if (traffic.peer.size() > max_pairs)
      throw std::invalid_argument("more than " + std::to_string(max_pairs) + " pairs of ranks talk to each other");
    traffic.first.push_back(static_cast<std::int64_t>(traffic.peer.size()));
  }
  return traffic;
}

Row row_of(const Algorithm& algorithm, const Problem& problem, int rank, const BlockSize& size) {
  if (!size) return row_of(counted(algorithm, problem, rank).sent);
  return row_of(build(algorithm, seen_from(rank, problem), Detail::ops), size);
}

Traffic traffic_of(const Algorithm& algorithm, const Problem& problem, const BlockSize& size) {
  return traffic_of(problem.p, [&](int rank) { return row_of(algorithm, problem, rank, size); });
}

int pieces_of(const Algorithm& algorithm, const Problem& problem) { return counted(algorithm, problem, 0).pieces; }

Traffic sum_of(int p, std::span<const Share> shares) {
  std::vector<Row> rows(p);
  for (const Share& share : shares) {
    const Traffic& traffic = *share.traffic;
    for (int rank = 0; rank < traffic.p; ++rank)
      for (std::int64_t e = traffic.first[rank]; e < traffic.first[rank + 1]; ++e)
        rows[share.members[rank]].emplace_back(
            share.members[traffic.peer[e]], std::llround(std::min(static_cast<double>(traffic.amount[e]) * share.scale,
                                                                  static_cast<double>(max_amount))));
  }
  for (Row& row : rows) sort_and_sum(row);
  return traffic_of(p, [&](int rank) { return rows[rank]; });
}

Traffic read_traffic(std::istream& in, int p) {
  std::vector<Row> rows(p);
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    std::istringstream words(line.substr(0, line.find('#')));
    if ((words >> std::ws).eof()) continue;
    std::int64_t from = -1, to = -1, amount = -1;
    std::string rest;
    constexpr std::int64_t max_ranks = 16 * std::int64_t{max_described};
    if (!(words >> from >> to >> amount) || (words >> rest) || std::min({from, to, amount}) < 0 ||
        std::max(from, to) >= max_ranks || amount > max_amount)
      throw std::invalid_argument("line " + std::to_string(number) + ": expected 'rank rank bytes', found '" +
                                  one_line(line) + "'");
    if (static_cast<std::size_t>(std::max(from, to)) >= rows.size()) rows.resize(std::max(from, to) + 1);
    if (from != to && amount > 0) rows[from].emplace_back(to, amount);
  }
  for (Row& row : rows) sort_and_sum(row);
  return traffic_of(static_cast<int>(rows.size()), [&](int rank) { return rows[rank]; });
}

}  // namespace omnes::mapping
