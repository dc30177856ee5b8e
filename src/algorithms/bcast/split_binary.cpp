// Bcast, split binary tree: each half of the message flows down one half of a binary tree, then mirror ranks swap halves.
//
// How: vranks 1, 3, 5, ... form the one complete binary tree below the root and vranks 2, 4, 6, ... the other; the
// mirror of 2i + 1 is 2i + 2. Segments pipeline, and a segment is swapped as soon as it is there. For even p the last
// rank has no mirror, and the root sends it the other half.
// Cost: an inner rank sends two halves down and one across, where one of a binary tree sends two whole messages.
#include "algorithms/registry.hpp"
#include "algorithms/trees.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  const int p = b.p(), v = b.vrank(), segments = b.segments();
  b.cut(2 * segments);
  const auto segment = [&](int half, int s) { return recv_blocks(half * segments + s); };
  const bool alone = p % 2 == 0;  // the last rank, in tree 0

  if (v == 0) {
    for (int s = 0; s < segments; ++s)
      for (int half = 0; half < 2 && half + 1 < p; ++half) b.send(b.real(1 + half), segment(half, s));
    for (int s = 0; alone && s < segments; ++s) b.send(b.real(p - 1), segment(1, s));
    return;
  }

  const int half = (v - 1) % 2;
  const Tree tree = binary_tree((v - 1) / 2, (p - half) / 2);
  const auto in_group = [&](int node) { return b.real(1 + half + 2 * node); };
  const int parent = tree.parent < 0 ? b.root() : in_group(tree.parent);
  const int mirror = alone && v == p - 1 ? b.root() : b.real(half == 0 ? v + 1 : v - 1);
  std::vector<std::int32_t> to;
  for (const int child : tree.children) to.push_back(in_group(child));
  if (mirror != b.root()) to.push_back(mirror);

  // The root sends all it has for one rank in one channel: first the rank's own half, then the other.
  for (int s = 0; s < segments; ++s) {
    b.recv(parent, segment(half, s));
    b.send(to, segment(half, s));
  }
  for (int s = 0; s < segments; ++s) b.recv(mirror, segment(1 - half, s));
}

const Register registered{{
    .operation = Operation::bcast,
    .name = "split_binary",
    .summary = "halves of the message down the halves of a binary tree, then swapped",
    .source = "Pješivac-Grbović et al. 2007",
    .build = build,
    .segmented = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
