// Reduce_scatter, Bine butterfly: Swing's distances from the longest to the shortest. What a rank still answers for is
// a range of neighbours around it (modulo p), so nothing is copied: a message is one run of parts, or two where it
// wraps.
//
// Why it is correct. With n rounds to go, an even member answers for itself, for the odd-numbered powers of two below
// 2^n to its left and for the even-numbered ones to its right: a range of 2^n members, as any number is written with
// powers of -2 in one way. Odd members mirror it. The ranges of a member and its peer in a round are disjoint, and make
// up the member's range before the round. So each contribution to a part takes one way.
// Needs a commutative operation.
#include "algorithms/alternating.hpp"
#include "algorithms/folding.hpp"
#include "algorithms/patterns.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

/// First of the 2^n members, modulo `members`, that a member answers for with n rounds to go.
int first_answered(int member, int n) {
  int left = 0;
  for (int i = member % 2 == 0 ? 1 : 0; i < n; i += 2) left += 1 << i;
  return member - left;
}

void build(Builder& b) {
  const int p = b.p(), rank = b.rank();
  const Folding fold(p);
  const int partner = fold.partner(rank);
  const Blocks contribution = b.part(Buffer::send, 0, p), result = recv_blocks(0);
  if (only_follows(b, fold, contribution, result)) return;
  if (p == 1) b.copy(contribution, result);
  const Blocks sums = b.temp(p > 1 ? p : 0);
  Blocks sum = contribution;
  if (partner >= 0) {
    b.recv_reduce(partner, contribution, sums);
    sum = sums;
  }

  // Calls run(first part, parts) for the runs of parts of the 2^n members that `member` answers for.
  const auto answered = [&](int member, int n, const std::function<void(int first, int count)>& run) {
    const int first = first_answered(member, n) & (fold.members - 1);
    cyclic_runs(first, 1 << n, fold.members, [&](int from, int count) {
      const int end = from + count == fold.members ? p : fold.leader(from + count);
      run(fold.leader(from), end - fold.leader(from));
    });
  };
  const int member = fold.member(rank), rounds = std::countr_zero(static_cast<unsigned>(fold.members));
  for (int n = rounds - 1; n >= 0; --n) {
    const int other = alternating_partner(member, n, fold.members), peer = fold.leader(other);
    const bool last = n == 0 && partner < 0;
    answered(other, n, [&](int first, int count) { b.send(peer, sub(sum, first, count)); });
    answered(member, n, [&](int first, int count) {
      b.recv_reduce(peer, sub(sum, first, count), last ? result : sub(sums, first, count));
    });
    sum = sums;
  }
  if (partner < 0) return;
  b.send(partner, sub(sums, partner));
  b.copy(sub(sums, rank), result);
}

const Register registered{{
    .operation = Operation::reduce_scatter_block,
    .name = "bine",
    .summary = "pairs exchange halves at distance ..., 11, 5, 3, 1, 1: halves are ranges around each rank",
    .source = "De Sensi et al. 2025 (Bine trees)",
    .build = build,
    .unequal = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
