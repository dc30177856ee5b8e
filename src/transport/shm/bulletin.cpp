// Writing and reading notices.
#include "transport/shm/bulletin.hpp"

#include "base/assert.hpp"

namespace omnes::shm {

Bulletin::Notice* Bulletin::place_for(std::uint64_t number) const {
  const auto is_free = [](const Notice* at) { return at->unread.load(std::memory_order_acquire) == 0; };
  for (std::size_t i = 0; i < near_tries; ++i)
    if (Notice* const at = near_place(number, i); is_free(at)) return at;
  for (std::size_t i = 0; i < far_tries; ++i)
    if (Notice* const at = far_place(number, i); is_free(at)) return at;
  return nullptr;
}

void Bulletin::put(std::uint64_t number, const Ticket& ticket, int readers) {
  Notice* const at = place_for(number);
  OMNES_ASSERT(at != nullptr && number != 0 && readers > 0);
  if (at > notice(near)) far_is_used().store(1, std::memory_order_relaxed);
  at->ticket = ticket;
  at->unread.store(static_cast<std::uint32_t>(readers), std::memory_order_relaxed);
  at->number.store(number, std::memory_order_release);
}

std::optional<Ticket> Bulletin::take(std::uint64_t number) {
  const auto taken_from = [&](Notice* at) -> std::optional<Ticket> {
    if (at->number.load(std::memory_order_acquire) != number) return std::nullopt;
    const Ticket ticket = at->ticket;
    at->unread.fetch_sub(1, std::memory_order_release);
    return ticket;
  };
  for (std::size_t i = 0; i < near_tries; ++i)
    if (const auto ticket = taken_from(near_place(number, i))) return ticket;
  if (far_is_used().load(std::memory_order_relaxed) == 0) return std::nullopt;
  for (std::size_t i = 0; i < far_tries; ++i)
    if (const auto ticket = taken_from(far_place(number, i))) return ticket;
  return std::nullopt;
}

}  // namespace omnes::shm
