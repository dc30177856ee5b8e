// A collective call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/executor.hpp"
#include "runtime/plan.hpp"
#include "runtime/reduction.hpp"
#include "runtime/scattered.hpp"
#include "schedule/schedule.hpp"

namespace omnes::inline runtime {

/// One collective call, with bytes instead of datatypes. Data are contiguous: what is not, the caller packs, or says how that is done.
struct Call {
  Operation operation = Operation::barrier;
  int root = 0;
  bool in_place = false;
  const void* send = nullptr;
  void* recv = nullptr;     ///< bcast: the buffer
  std::size_t count = 0;    ///< elements of one part; with unequal parts of this rank's own, where it has one
  std::size_t element = 1;  ///< bytes of an element; parts are cut between elements
  const Reduction* reduction = nullptr;
  /// Elements of each part of that buffer, for operations with unequal parts; else empty.
  std::span<const std::size_t> send_counts = {}, recv_counts = {};
  /// Elements before each of these parts, modulo 2^64; empty: they lie one behind the other. Ignored by what runs on such
  /// parts only: see Prepared::in_rows.
  std::span<const std::size_t> send_starts = {}, recv_starts = {};
  /// For algorithms that need all counts, and only in the second of their two stages: the elements that each rank sends
  /// to each, row by row.
  std::span<const std::size_t> all_counts = {};
  const Neighbors* neighbors = nullptr;  ///< for operations along a topology; outlives the team
  /// Instead of `send` and `recv`, which are null then. Only of operations that combine nothing, on plans without messages of
  /// the host's that run in one stage.
  ScatteredBuffers scattered = {};
};

/// The first of those stages: brings all counts of `call` to `all`, which has room for p * p.
inline Call exchange_of_counts(const Call& call, std::size_t* all) {
  const auto own = call.in_place ? call.recv_counts : call.send_counts;
  return {.operation = Operation::allgather,
          .send = own.data(),
          .recv = all,
          .count = own.size(),
          .element = sizeof(std::size_t)};
}

/// The three forms of MPI's collectives. They differ in who waits when; algorithms serve all of them.
enum class Form : std::uint8_t { blocking, nonblocking, persistent };
inline constexpr int form_count = 3;
std::string_view name(Form form);

/// Where a call's data lie. Schedules are proved never to write `send`.
inline Bases bases_of(const Call& call) {
  return {{static_cast<std::byte*>(const_cast<void*>(call.send)), static_cast<std::byte*>(call.recv), nullptr}};
}

}  // namespace omnes::inline runtime
