// Alltoallv and alltoallw, TuNA: Bruck's algorithm with radix k for parts of any size, in ceil(logk(p)) rounds of at
// most k - 1 messages, for short parts and many ranks.
//
// How. As in alltoall's bruck, the part for the rank i places to the right travels the distance i digit by digit in
// base k; where part i lies is only noted (`at`). But a part that passes through a rank has a size that only its two
// ends know, so all ranks learn all counts first (`needs_all_counts`), in one allgather of p counts; the paper has the
// sizes of each message sent before it. Each message has places of its own, to be packed and to arrive in.
// A message of a single part has no further digit to go: it needs no packing and, unless in place, arrives where it
// belongs. So k >= p is the linear algorithm.
// Memory. All that passes through this rank, and p * p counts.
// Which k. The paper finds a small one best for the shortest parts, about the square root of p in the middle and one
// near p for long parts. The default is the least k of two rounds: every part passes through one other rank at most.
#include <vector>

#include "algorithms/alltoall/digits.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  const std::int64_t p = b.p(), rank = b.rank(), k = b.problem().radix;
  const bool in_place = b.problem().in_place;
  const auto right_of = [p](std::int64_t from, std::int64_t distance) {
    return static_cast<int>(((from + distance) % p + p) % p);
  };
  std::vector<Blocks> at(p);  // after the last round at[i] is the part that came from the rank i places to the left
  for (int i = 0; i < p; ++i) at[i] = b.part(in_place ? Buffer::recv : Buffer::send, right_of(rank, i));

  for (std::int64_t weight = 1; weight < p; weight *= k) {
    // Places for parts that have gone their digits below `weight` and are with `holder` now.
    const auto places = [&](const std::vector<std::int32_t>& parts, std::int64_t holder) {
      std::vector<Pair> pairs;
      for (const std::int32_t i : parts) {
        const int from = right_of(holder, -(i % weight));
        pairs.push_back({from, right_of(from, i)});
      }
      return b.temp_between(pairs);
    };
    struct Message {
      int to, from;
      Blocks packed, arrived;
    };
    std::vector<Message> messages;
    for (std::int64_t step = weight; step < std::min(p, k * weight); step += weight) {
      const std::vector<std::int32_t> moving = moving_parts(p, k, weight, step);
      const bool alone = moving.size() == 1;
      Message m{right_of(rank, step), right_of(rank, -step), {}, {}};
      m.packed = alone ? at[step] : places(moving, rank);
      m.arrived = alone && !in_place ? b.part(Buffer::recv, m.from) : places(moving, m.from);
      for (std::size_t n = 0; n < moving.size(); ++n) {
        b.copy(at[moving[n]], sub(m.packed, static_cast<int>(n)));
        at[moving[n]] = sub(m.arrived, static_cast<int>(n));
      }
      messages.push_back(m);
    }
    for (const Message& m : messages) b.send(m.to, m.packed);
    for (const Message& m : messages) b.recv(m.from, m.arrived);
  }
  for (int i = 0; i < p; ++i) b.copy(at[i], b.part(Buffer::recv, right_of(rank, -i)));
}

const Register registered{{
    .operation = Operation::alltoallv,
    .name = "tuna",
    .summary = "bruck for unequal parts: all ranks learn all counts, then parts travel by the digits of their distance",
    .source = "Fan, Domke, Ba, Kumar 2024 (Configurable Non-uniform All-to-all Algorithms)",
    .build = build,
    .default_radix = 2,
    .also = Operation::alltoallw,
    .root_radix = true,
    .needs_all_counts = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
