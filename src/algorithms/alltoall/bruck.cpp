// Alltoall, Bruck: ceil(log2(p)) rounds with up to p/2 parts in each, for tiny parts and many ranks.
//
// How: the part for the rank i places to the right has to travel the distance i. In the round of distance d = 1, 2,
// 4, ... all parts whose i has bit d move d places to the right, packed into one message. Where part i lies is only
// noted (`at`), so nothing is rotated or unpacked: each round packs, and at the end every part is copied once to
// its place.
#include <vector>

#include "algorithms/registry.hpp"

namespace omnes {
namespace {

void build(Builder& b) {
  const int p = b.p(), rank = b.rank();
  const Buffer source = b.problem().in_place ? Buffer::recv : Buffer::send;
  std::vector<Blocks> at(p);  // after the last round at[i] is the part that came from the rank i places to the left
  for (int i = 0; i < p; ++i) at[i] = b.part(source, (rank + i) % p);

  for (int distance = 1; distance < p; distance *= 2) {
    std::vector<std::int32_t> moving;
    for (int i = distance; i < p; ++i)
      if ((i & distance) != 0) moving.push_back(i);
    const std::vector<std::int32_t> sizes(moving.size(), 0);
    const Blocks packed = b.temp_like(sizes), arrived = b.temp_like(sizes);
    for (std::size_t m = 0; m < moving.size(); ++m) {
      b.copy(at[moving[m]], sub(packed, static_cast<int>(m)));
      at[moving[m]] = sub(arrived, static_cast<int>(m));
    }
    b.send((rank + distance) % p, packed);
    b.recv((rank - distance + p) % p, arrived);
  }
  for (int i = 0; i < p; ++i) b.copy(at[i], b.part(Buffer::recv, (rank - i + p) % p));
}

const Algorithm algorithm{
    .operation = Operation::alltoall,
    .name = "bruck",
    .summary = "parts packed by the bits of their distance",
    .source = "Bruck et al. 1997",
    .build = build,
};
const Register registered{algorithm};

}  // namespace
}  // namespace omnes
