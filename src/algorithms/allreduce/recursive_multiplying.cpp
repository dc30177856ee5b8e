// Allreduce, recursive multiplying: log_k(p) rounds in which k ranks at distance 1, k, k^2, ... send each other all
// they have, and each combines it. For k = 2 it is recursive doubling; larger k have fewer rounds of more messages.
//
// How: there are as many members as the largest power of k allows, each standing for a range of up to k ranks, of which
// the first leads: it combines the others' contributions before, and sends them the result afterwards. A round combines
// k neighbouring ranges in rank order on all sides, so the order holds and all ranks get the same bits.
#include "algorithms/registry.hpp"

namespace omnes {
namespace {

/// into <- the sums of `group`, which holds this rank and is in ascending order, from the left. `into` is not `own`.
void combine_group(Builder& b, const std::vector<std::int32_t>& group, Blocks own, Blocks into) {
  if (group.front() == b.rank()) {
    b.recv_reduce(group[1], own, into);
  } else if (group[1] == b.rank()) {
    b.recv_reduce_first(group[0], own, into);
  } else {
    b.recv(group[0], into);
    b.recv_reduce(group[1], into, into);
  }
  for (std::size_t i = 2; i < group.size(); ++i)
    if (group[i] == b.rank())
      b.reduce(into, own, into);
    else
      b.recv_reduce(group[i], into, into);
}

void build(Builder& b) {
  const int p = b.p(), rank = b.rank(), k = b.problem().radix;
  int members = 1, rounds = 0;
  for (; members <= p / k; members *= k) ++rounds;
  const auto leader = [&](long long member) { return static_cast<std::int32_t>(member * p / members); };
  const int member = static_cast<int>(((rank + 1LL) * members - 1) / p);
  const Blocks result = recv_blocks(0);
  if (leader(member) != rank) {
    b.send(leader(member), b.own());
    b.recv(leader(member), result);
    return;
  }

  std::vector<std::int32_t> followers;
  for (int follower = rank + 1; follower < leader(member + 1); ++follower) followers.push_back(follower);
  // Partial results alternate between `recv` and a temporary, so that the last lands in `recv` and nothing is
  // overwritten while it is being sent.
  const Blocks spare = b.temp(rounds > 0 ? 1 : 0);
  Blocks here = rounds % 2 == 0 ? result : spare, next = rounds % 2 == 0 ? spare : result;
  Blocks sum = b.own();
  for (const int follower : followers) {
    b.recv_reduce(follower, sum, here);
    sum = here;
  }
  if (rounds > 0 && sum == next) {  // in place, an odd number of rounds
    b.copy(sum, here);
    sum = here;
  }
  for (int distance = 1; distance < members; distance *= k) {
    const int first = member - member / distance % k * distance;
    std::vector<std::int32_t> group, others;
    for (int i = 0; i < k; ++i) {
      group.push_back(leader(first + i * distance));
      if (group.back() != rank) others.push_back(group.back());
    }
    b.send(others, sum);
    combine_group(b, group, sum, next);
    sum = next;
    std::swap(here, next);
  }
  b.copy(sum, result);
  b.send(followers, result);
}

const Algorithm algorithm{
    .operation = Operation::allreduce,
    .name = "recursive_multiplying",
    .summary = "k ranks at distance 1, k, k^2, ... exchange and combine",
    .source = "Ruefenacht, Bull, Booth 2017 (recursive multiplying)",
    .build = build,
    .default_radix = 4,
    .ordered = true,
};
const Register registered{algorithm};

}  // namespace
}  // namespace omnes
