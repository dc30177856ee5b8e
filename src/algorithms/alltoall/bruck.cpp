// Alltoall, Bruck with radix k: ceil(logk(p)) rounds of k - 1 messages with up to p/k parts each (k = 2: p/2), for tiny
// parts and many ranks.
//
// How. The part for the rank i places to the right has to travel the distance i, digit by digit in base k. In the round
// of weight w = 1, k, k^2 ... all parts whose i has the digit j > 0 there move j * w places to the right, packed into
// one message for each j. Where part i lies is only noted (`at`), so nothing is rotated or unpacked: each round packs,
// and at the end every part is copied once to its place. Rounds pack into two areas in turn, as what was sent two
// rounds ago has long arrived; where parts arrive they may stay, so each round has a place of its own for them.
#include <algorithm>
#include <vector>

#include "algorithms/alltoall/digits.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  const std::int64_t p = b.p(), rank = b.rank(), k = b.problem().radix;
  const Buffer source = b.problem().in_place ? Buffer::recv : Buffer::send;
  std::vector<Blocks> at(p);  // after the last round at[i] is the part that came from the rank i places to the left
  for (int i = 0; i < p; ++i) at[i] = b.part(source, static_cast<int>((rank + i) % p));

  const std::vector<std::int32_t> most(p - (p + k - 1) / k, 0);  // parts that a round moves
  std::vector<Blocks> areas;
  for (std::int64_t weight = 1, round = 0; weight < p; weight *= k, ++round) {
    if (round < 2) areas.push_back(b.temp_like(most));
    int used = 0;  // blocks of the area
    struct Message {
      int distance;
      Blocks packed, arrived;
    };
    std::vector<Message> messages;
    for (std::int64_t distance = weight; distance < std::min(p, k * weight); distance += weight) {
      const std::vector<std::int32_t> moving = moving_parts(p, k, weight, distance);
      const int count = static_cast<int>(moving.size());
      const Blocks packed = sub(areas[round % 2], used, count);
      const Blocks arrived = b.temp_like(std::vector<std::int32_t>(count, 0));
      used += count;
      for (int m = 0; m < count; ++m) {
        b.copy(at[moving[m]], sub(packed, m));
        at[moving[m]] = sub(arrived, m);
      }
      messages.push_back({static_cast<int>(distance), packed, arrived});
    }
    for (const Message& m : messages) b.send(static_cast<int>((rank + m.distance) % p), m.packed);
    for (const Message& m : messages) b.recv(static_cast<int>((rank - m.distance + p) % p), m.arrived);
  }
  for (int i = 0; i < p; ++i) b.copy(at[i], b.part(Buffer::recv, static_cast<int>((rank - i + p) % p)));
}

const Register registered{{
    .operation = Operation::alltoall,
    .name = "bruck",
    .summary = "parts packed by the digits of their distance, k - 1 messages per round",
    .source = "Bruck et al. 1997 (index with radix r)",
    .build = build,
    .default_radix = 2,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
