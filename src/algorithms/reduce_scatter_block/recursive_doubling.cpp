// Reduce_scatter, recursive doubling: log2(p) rounds in which ranks at distance 1, 2, 4, ... exchange all that the
// other may still need: its own part, and the parts of ranks beyond both groups, for it to pass on. Combines
// neighbouring ranges, so keeps the rank order; nothing is copied, but parts travel in several messages: for short
// ones.
//
// How. Before the round at distance d, a rank holds the sum of its group, d neighbouring members, for its own part and
// for the parts of ranks outside the group. Ranks beyond a power of two are folded: one of a pair goes for both.
#include "algorithms/folding.hpp"
#include "algorithms/patterns.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

/// Calls run(first part, parts) for what `member` needs in the round at `distance`; neighbouring runs are one.
void needed(const Folding& fold, int p, int member, int distance, const std::function<void(int first, int n)>& run) {
  const auto first_rank = [&](int m) { return m == fold.members ? p : fold.leader(m); };
  const int group = member & -(2 * distance);
  int first = 0, end = first_rank(group);
  const auto append = [&](int next_first, int next_end) {
    if (next_first > end) {
      if (end > first) run(first, end - first);
      first = next_first;
    }
    end = next_end;
  };
  append(first_rank(member), first_rank(member + 1));
  append(first_rank(group + 2 * distance), p);
  if (end > first) run(first, end - first);
}

void build(Builder& b) {
  const int p = b.p(), rank = b.rank();
  const Folding fold(p);
  const int partner = fold.partner(rank), member = fold.member(rank);
  const Blocks contribution = b.part(Buffer::send, 0, p), result = recv_blocks(0);
  if (only_follows(b, fold, contribution, result)) return;
  if (p == 1) b.copy(contribution, result);
  Blocks sum = contribution, next = b.temp(fold.members > 2 || partner >= 0 ? p : 0);
  Blocks spare = b.temp(fold.members > 4 || partner >= 0 ? p : 0);
  if (partner >= 0) {
    b.recv_reduce(partner, sum, next);
    sum = next;
    std::swap(next, spare);
  }
  for (int distance = 1; distance < fold.members; distance *= 2) {
    const int other = member ^ distance, peer = fold.leader(other);
    const bool last = 2 * distance == fold.members && partner < 0;
    needed(fold, p, other, distance, [&](int first, int n) { b.send(peer, sub(sum, first, n)); });
    needed(fold, p, member, distance, [&](int first, int n) {
      recv_reduce_in_order(b, peer, sub(sum, first, n), last ? result : sub(next, first, n));
    });
    sum = next;
    std::swap(next, spare);
  }
  if (partner < 0) return;
  b.send(partner, sub(sum, partner));
  b.copy(sub(sum, rank), result);
}

const Register registered{{
    .operation = Operation::reduce_scatter_block,
    .name = "recursive_doubling",
    .summary = "pairs at doubling distance exchange all that is still needed, in rank order",
    .source = "Thakur, Rabenseifner, Gropp 2005",
    .build = build,
    .ordered = true,
    .unequal = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
