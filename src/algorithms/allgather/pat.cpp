// Allgather by parallel aggregated trees: ceil(log2(p)) rounds for any p, the far ranks first, with up to k parts in a
// message.
//
// How. The trees are Sparbit's (sparbit.cpp): one binomial tree per part; in the round of distance d everybody sends
// the parts from 0, 2d, 4d ... places to its left d further. Here up to k of them are packed into one message and
// unpacked where they arrive. With k = 1 nothing is packed, and this is Sparbit.
// The original also orders the trees so that few parts wait in a library's buffers; here parts go to `recv` and only
// dependencies order messages.
#include <algorithm>
#include <bit>
#include <vector>

#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  const int p = b.p(), rank = b.rank(), k = b.problem().radix;
  b.copy(b.own(), b.part(Buffer::recv, rank));
  for (int distance = static_cast<int>(std::bit_ceil(static_cast<unsigned>(p))) / 2; distance > 0; distance /= 2) {
    const int right = (rank + distance) % p, left = (rank - distance + p) % p;
    const int count = (p - distance + 2 * distance - 1) / (2 * distance);  // of parts in this round
    /// The parts that `sender` sends in the message that begins with its first-th.
    const auto message = [&](int sender, int first) {
      std::vector<std::int32_t> parts;
      for (int i = first; i < count && i - first < k; ++i) parts.push_back((sender - 2 * i * distance % p + p) % p);
      return parts;
    };
    for (int first = 0; first < count; first += std::min(k, count)) {
      const std::vector<std::int32_t> parts = message(rank, first);
      if (parts.size() == 1) {
        b.send(right, parts[0] == rank ? b.own() : b.part(Buffer::recv, parts[0]));
        continue;
      }
      const Blocks packed = b.temp_like(parts);
      for (std::size_t i = 0; i < parts.size(); ++i)
        b.copy(b.part(Buffer::recv, parts[i]), sub(packed, static_cast<int>(i)));
      b.send(right, packed);
    }
    for (int first = 0; first < count; first += std::min(k, count)) {
      const std::vector<std::int32_t> parts = message(left, first);
      if (parts.size() == 1) {
        b.recv(left, b.part(Buffer::recv, parts[0]));
        continue;
      }
      const Blocks packed = b.temp_like(parts);
      b.recv(left, packed);
      for (std::size_t i = 0; i < parts.size(); ++i)
        b.copy(sub(packed, static_cast<int>(i)), b.part(Buffer::recv, parts[i]));
    }
  }
}

const Register registered{{
    .operation = Operation::allgather,
    .name = "pat",
    .summary = "binomial trees side by side, far ranks first, up to k parts per message",
    .source = "Jeaugey 2025 (PAT), without its order for bounded buffers",
    .build = build,
    .default_radix = 8,
    .min_radix = 1,
    .unequal = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
