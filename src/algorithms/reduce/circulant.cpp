// Reduce on circulant graphs: a reduce-scatter of p pieces in ceil(log2(p)) rounds, then a gather to the root in as
// many, along the same edges. For any p.
//
// How. Counted from the root, the gather is a tree: the root is to gather p parts. A rank that is to gather n of them,
// its own and the following ones, takes those from the longest skip below n on from the rank that far away, and gathers
// the others.
#include "algorithms/circulant.hpp"
#include "algorithms/circulant_halving.hpp"
#include "algorithms/patterns.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  const int p = b.p(), rank = b.rank(), root = b.root(), v = b.vrank();
  b.cut(p);
  const Blocks sums = rank == root ? recv_blocks(0, p) : b.temp(p);
  reduce_scatter_circulant(b, b.own(), sums, sub(sums, rank));

  const std::vector<int> skips = circulant_skips(p);
  int here = 0, wanted = p;  // walks from the root to this rank; `wanted` parts from `here` on are gathered by `here`
  int parent = -1, handed = 0;
  struct Child {
    int v, parts;
  };
  std::vector<Child> children;
  for (std::size_t k = skips.size() - 1; k-- > 0;) {
    const int skip = skips[k];
    if (wanted <= skip) continue;
    if (v >= here + skip) {
      parent = here;
      here += skip;
      handed = wanted -= skip;
    } else {
      if (here == v) children.push_back({here + skip, wanted - skip});
      wanted = skip;
    }
  }
  for (auto child = children.rbegin(); child != children.rend(); ++child) {
    const int from = b.real(child->v);
    cyclic_runs(from, child->parts, p, [&](int first, int n) { b.recv(from, sub(sums, first, n)); });
  }
  if (parent >= 0) cyclic_runs(rank, handed, p, [&](int first, int n) { b.send(b.real(parent), sub(sums, first, n)); });
}

const Register registered{{
    .operation = Operation::reduce,
    .name = "circulant",
    .summary = "reduce-scatter in ceil(log2(p)) rounds on a circulant graph, then a gather along its edges",
    .source = "reduce-scatter: Träff 2024",
    .build = build,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
