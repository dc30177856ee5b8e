// Allgather, Swing: ceil(log2(p)) rounds for even p; partners as in Bine's butterfly, but the far ones come first, so
// that most data moves over the shortest distance. This is the second half of the Swing allreduce.
//
// How. What a rank holds before a step follows from the steps before it: its own part and all that its partners there
// held. Each sends what its partner lacks. Those parts are not neighbours in the buffer, except by chance: every run of
// consecutive parts is a message of its own.
// Why it is correct. With the near ones first, a rank holds the parts of consecutive ranks (bine.cpp), in the end of
// all p, and so of all of either parity. A part's way is an alternating sum of distances. Turning the order of the steps
// around negates the sums of even length, which are the ranks of the same parity, and leaves the others: still all.
#include <algorithm>
#include <iterator>
#include <vector>

#include "algorithms/alternating.hpp"
#include "algorithms/registry.hpp"

namespace omnes {
namespace {

/// Whose parts a rank holds when steps last..step+1 are done, in ascending order.
std::vector<int> held(int rank, int step, int last, int p) {
  if (step == last) return {rank};
  const std::vector<int> mine = held(rank, step + 1, last, p);
  const std::vector<int> theirs = held(alternating_partner(rank, step + 1, p), step + 1, last, p);
  std::vector<int> both;
  std::set_union(mine.begin(), mine.end(), theirs.begin(), theirs.end(), std::back_inserter(both));
  return both;
}

/// Calls visit(first, count) for the runs of those parts of `from` that `to` lacks.
void each_lacking(const std::vector<int>& from, const std::vector<int>& to, auto&& visit) {
  std::vector<int> lacking;
  std::set_difference(from.begin(), from.end(), to.begin(), to.end(), std::back_inserter(lacking));
  for (std::size_t i = 0, end; i < lacking.size(); i = end) {
    for (end = i + 1; end < lacking.size() && lacking[end] == lacking[end - 1] + 1;) ++end;
    visit(lacking[i], static_cast<int>(end - i));
  }
}

void build(Builder& b) {
  const int p = b.p(), rank = b.rank();
  int last = -1;  // step
  while (1 << (last + 1) < p) ++last;
  for (int step = last; step >= 0; --step) {
    const int peer = alternating_partner(rank, step, p);
    const std::vector<int> mine = held(rank, step, last, p), theirs = held(peer, step, last, p);
    each_lacking(mine, theirs,
                 [&](int first, int n) { b.send(peer, step == last ? b.own() : b.part(Buffer::recv, first, n)); });
    if (step == last) b.copy(b.own(), b.part(Buffer::recv, rank));
    each_lacking(theirs, mine, [&](int first, int n) { b.recv(peer, b.part(Buffer::recv, first, n)); });
  }
  if (p == 1) b.copy(b.own(), b.part(Buffer::recv, 0));
}

const Algorithm algorithm{
    .operation = Operation::allgather,
    .name = "swing",
    .summary = "alternating partners, the far ones first",
    .source = "De Sensi et al. 2024",
    .build = build,
    .even = true,
    .unequal = true,
};
const Register registered{algorithm};

}  // namespace
}  // namespace omnes
