// Allreduce, recursive multiplying: about log_k(p) rounds in which groups of up to k ranks send each other all they
// have, and each combines it. For k = 2 it is recursive doubling; larger k have fewer rounds of more messages.
//
// How: ranks are numbered in mixed radix, and in the round of a digit those that differ only in it are a group, the
// lowest digit first. So a round combines neighbouring ranges, in rank order on all sides: the order holds and all
// ranks get the same bits. A rank that is folded onto another gives its contribution first and gets the result last.
#include "algorithms/mixed_radix.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

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
  const int rank = b.rank();
  const MixedRadix digits(b.p(), b.problem().radix);
  const Folding& fold = digits.fold;
  const int partner = fold.partner(rank), member = fold.member(rank);
  const Blocks result = recv_blocks(0);
  if (only_follows(b, fold, b.own(), result)) return;
  // Partial results alternate between `recv` and a temporary, so that the last lands in `recv` and nothing is
  // overwritten while it is being sent.
  const bool odd = digits.radices.size() % 2 != 0;
  const Blocks spare = b.temp(digits.radices.empty() ? 0 : 1);
  Blocks here = odd ? spare : result, next = odd ? result : spare;
  Blocks sum = b.own();
  if (partner >= 0) {
    b.recv_reduce(partner, sum, here);
    sum = here;
  } else if (sum == next) {  // in place, an odd number of rounds
    b.copy(sum, here);
    sum = here;
  }
  int weight = 1;
  for (const int radix : digits.radices) {
    const int lowest = member - member / weight % radix * weight;
    std::vector<std::int32_t> group, others;
    for (int digit = 0; digit < radix; ++digit) {
      group.push_back(fold.leader(lowest + digit * weight));
      if (group.back() != rank) others.push_back(group.back());
    }
    b.send(others, sum);
    combine_group(b, group, sum, next);
    sum = next;
    std::swap(here, next);
    weight *= radix;
  }
  b.copy(sum, result);
  if (partner >= 0) b.send(partner, result);
}

const Register registered{{
    .operation = Operation::allreduce,
    .name = "recursive_multiplying",
    .summary = "k ranks at distance 1, k, k^2, ... exchange and combine",
    .source = "Ruefenacht, Bull, Booth 2017 (recursive multiplying)",
    .build = build,
    .default_radix = 4,
    .ordered = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
