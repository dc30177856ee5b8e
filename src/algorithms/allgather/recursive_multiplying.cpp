// Allgather, recursive multiplying: in each round groups of up to k ranks exchange all that they have, for any p.
//
// How. Recursive doubling with another radix. Ranks are numbered in mixed radix; in the round of a digit, those that
// differ only in it send to one another, so the ranges held multiply by its radix. A rank that is folded onto another
// gives its part first and gets all parts last.
#include "algorithms/mixed_radix.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

/// Parts of a pair's other member: its own comes in place or needs copying, so everything around it.
void recv_all_but_own(Builder& b, int from) {
  const int p = b.p(), rank = b.rank();
  if (rank > 0) b.recv(from, b.part(Buffer::recv, 0, rank));
  if (rank + 1 < p) b.recv(from, b.part(Buffer::recv, rank + 1, p - rank - 1));
}

void send_all_but(Builder& b, int to) {
  const int p = b.p();
  if (to > 0) b.send(to, b.part(Buffer::recv, 0, to));
  if (to + 1 < p) b.send(to, b.part(Buffer::recv, to + 1, p - to - 1));
}

void build(Builder& b) {
  const int rank = b.rank();
  const MixedRadix digits(b.p(), b.problem().radix);
  const Folding& fold = digits.fold;
  const int partner = fold.partner(rank), member = fold.member(rank);
  const Blocks place = b.part(Buffer::recv, rank);

  if (!fold.leads(rank)) {
    b.send(partner, b.own());
    b.copy(b.own(), place);
    recv_all_but_own(b, partner);
    return;
  }
  if (partner >= 0) b.recv(partner, b.part(Buffer::recv, partner));
  if (partner >= 0 || fold.members == 1) b.copy(b.own(), place);
  int weight = 1;  // of the digit; so many members' parts each holds
  for (const int radix : digits.radices) {
    const auto held = [&](int of) {
      const int first = digits.first_rank(of - of % weight), end = digits.first_rank(of - of % weight + weight);
      return b.part(Buffer::recv, first, end - first);
    };
    const int lowest = member - member / weight % radix * weight;
    std::vector<int> peers;
    for (int digit = 0; digit < radix; ++digit)
      if (lowest + digit * weight != member) peers.push_back(lowest + digit * weight);
    std::vector<std::int32_t> ranks;
    for (const int peer : peers) ranks.push_back(fold.leader(peer));
    const bool alone = weight == 1 && partner < 0;
    b.send(ranks, alone ? b.own() : held(member));
    if (alone) b.copy(b.own(), place);
    for (std::size_t i = 0; i < peers.size(); ++i) b.recv(ranks[i], held(peers[i]));
    weight *= radix;
  }
  if (partner >= 0) send_all_but(b, partner);
}

const Register registered{{
    .operation = Operation::allgather,
    .name = "recursive_multiplying",
    .summary = "groups of up to k ranks exchange all they have",
    .source = "Ruefenacht, Bull, Booth 2017 (for allreduce); mixed radices and folding are ours",
    .build = build,
    .default_radix = 4,
    .unequal = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
