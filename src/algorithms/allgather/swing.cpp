// Allgather, Swing: ceil(log2(p)) rounds for even p; partners as in Bine's butterfly, but the far ones come first, so
// that most data moves over the shortest distance. This is the second half of the Swing allreduce.
//
// How. What a rank holds before a step follows from the steps before it: its own part and all that its partners there
// held, at the same distances from all even ranks, and the opposite from odd ones. Each sends what its partner lacks.
// Those parts are not neighbours in the buffer, except by chance: every run of consecutive parts is a message of its
// own.
// Why it is correct. With the near ones first, a rank holds the parts of consecutive ranks (bine.cpp), in the end of
// all p, and so of all of either parity. A part's way is an alternating sum of distances. Turning the order of the
// steps around negates the sums of even length, which are the ranks of the same parity, and leaves the others: still
// all.
#include <utility>
#include <vector>

#include "algorithms/alternating.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

/// The parts that a rank holds: at which distances from its own, backwards for odd ranks.
class Held {
 public:
  explicit Held(int p) : p_(p), at_(p, 0) { at_[0] = 1; }

  bool has(int rank, int part) const {
    const int distance = rank % 2 == 0 ? part - rank : rank - part;
    return at_[distance < 0 ? distance + p_ : distance] != 0;
  }
  /// And those that the partner holds, who sees the same distances from the other side.
  void join_partner(int step) {
    const int partner = alternating_partner(0, step, p_);
    std::vector<char> both = at_;
    for (int d = 0; d < p_; ++d)
      if (at_[d] != 0) both[(partner - d + p_) % p_] = 1;
    at_ = std::move(both);
  }

 private:
  int p_;
  std::vector<char> at_;
};

/// Calls visit(first, count) for the runs of those parts of `from` that `to` lacks.
void each_lacking(const Held& held, int from, int to, int p, auto&& visit) {
  for (int first = 0, end; first < p; first = end + 1) {
    for (end = first; end < p && held.has(from, end) && !held.has(to, end);) ++end;
    if (end > first) visit(first, end - first);
  }
}

void build(Builder& b) {
  const int p = b.p(), rank = b.rank();
  int last = -1;  // step
  while (1 << (last + 1) < p) ++last;
  Held held(p);
  for (int step = last; step >= 0; --step) {
    const int peer = alternating_partner(rank, step, p);
    each_lacking(held, rank, peer, p,
                 [&](int first, int n) { b.send(peer, step == last ? b.own() : b.part(Buffer::recv, first, n)); });
    if (step == last) b.copy(b.own(), b.part(Buffer::recv, rank));
    each_lacking(held, peer, rank, p, [&](int first, int n) { b.recv(peer, b.part(Buffer::recv, first, n)); });
    held.join_partner(step);
  }
  if (p == 1) b.copy(b.own(), b.part(Buffer::recv, 0));
}

const Register registered{{
    .operation = Operation::allgather,
    .name = "swing",
    .summary = "alternating partners, the far ones first",
    .source = "De Sensi et al. 2024",
    .build = build,
    .even = true,
    .unequal = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
