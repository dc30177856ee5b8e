// What the sizes of a call tell: also of unequal parts, of which ranks know some.
#pragma once

#include <cstddef>
#include <numeric>
#include <optional>
#include <span>

#include "runtime/call.hpp"
#include "runtime/plan.hpp"

namespace omnes::inline runtime {

inline std::size_t total_of(std::span<const std::size_t> counts) {
  return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

/// Bytes of a part that all ranks know alike: of unequal parts the average, and none where nobody knows all.
inline std::optional<std::size_t> known_bytes(const Call& call) {
  switch (call.operation) {
    case Operation::allgatherv: return total_of(call.recv_counts) / call.recv_counts.size() * call.element;
    case Operation::reduce_scatter: return total_of(call.send_counts) / call.send_counts.size() * call.element;
    default: return knows_parts(call.operation) ? std::optional(call.count * call.element) : std::nullopt;
  }
}

inline std::size_t common_bytes(const Call& call) { return known_bytes(call).value_or(0); }

/// Bytes of a part as this rank sees them: for statistics, as others may see something else.
inline std::size_t own_bytes(const Call& call) {
  const auto counts = call.send_counts.empty() ? call.recv_counts : call.send_counts;
  if (counts.empty() || rooted(call.operation)) return call.count * call.element;
  return (total_of(counts) * call.element + counts.size() - 1) / counts.size();  // some bytes are never none
}

/// The sizes as a plan takes them.
inline CallSizes sizes_of(const Call& call, bool in_rows) {
  const auto parts = [&](std::span<const std::size_t> counts, std::span<const std::size_t> starts) {
    return Parts{call.count, counts, in_rows ? std::span<const std::size_t>() : starts};
  };
  return {parts(call.send_counts, call.send_starts), parts(call.recv_counts, call.recv_starts), call.element,
          call.all_counts};
}

}  // namespace omnes::inline runtime
