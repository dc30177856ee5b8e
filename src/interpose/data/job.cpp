// Packing, and holding what is needed for it.
#include "interpose/data/job.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "interpose/data/spread.hpp"
#include "interpose/types/holds.hpp"
#include "transport/shm/layout.hpp"

namespace omnes::interpose {

void Job::sends(const View& view) {
  if (view.contiguous()) {
    call.send = view.address;
    return;
  }
  send_ = view;
  needs_ |= packing;
}

void Job::sends(PartedView&& parts) {
  send_parts_.emplace(std::move(parts));
  call.send_counts = send_parts_->bytes();
  if (!send_parts_->gapless()) {
    needs_ |= packing;
    return;
  }
  call.send = send_parts_->first();
  if (send_parts_->in_row()) return;
  call.send_starts = send_parts_->starts();
  needs_ |= packing_row;
}

void Job::receives(const View& view, Kept kept, int rank, int parts) {
  if (view.contiguous()) {
    call.recv = view.address;
    return;
  }
  recv_ = view;
  kept_ = kept;
  rank_ = rank;
  parts_ = parts;
  needs_ |= landing;
}

void Job::receives(PartedView&& parts, Kept kept, int rank) {
  recv_parts_.emplace(std::move(parts));
  call.recv_counts = recv_parts_->bytes();
  kept_ = kept;
  rank_ = rank;
  if (!recv_parts_->gapless()) {
    needs_ |= landing;
    return;
  }
  call.recv = recv_parts_->first();
  if (recv_parts_->in_row()) return;
  call.recv_starts = recv_parts_->starts();
  needs_ |= landing_row;
}

void Job::receives_with_room_between(PartedView&& parts) {
  recv_parts_.emplace(std::move(parts));
  needs_ |= landing;
}

void Job::combines_spread(const View& own, const View* result) {
  send_ = own;
  has_result_ = result != nullptr;
  if (result) recv_ = *result;
  needs_ |= spreading;
}

void Job::keeps_part(void* buffer, std::size_t bytes, std::size_t start, std::size_t all) {
  moved_to_ = buffer;
  moved_bytes_ = bytes;
  moved_from_ = start;
  moved_of_ = all;
  needs_ |= moving;
}

void Job::move(std::ptrdiff_t sent, std::ptrdiff_t received) {
  if (send_parts_) send_parts_->move(sent);
  if (recv_parts_) recv_parts_->move(received);
  if (needs_ & spreading) {
    send_.move(sent);
    recv_.move(received);
    return;
  }
  if (needs_ & packing)
    send_.move(sent);
  else if (call.send != nullptr)
    call.send = static_cast<const std::byte*>(call.send) + sent;
  if (needs_ & landing)
    recv_.move(received);
  else if (call.recv != nullptr)
    call.recv = static_cast<std::byte*>(call.recv) + received;
}

bool KeptJob::move_to(const void* to_send, void* to_recv) {
  const auto distance = [](const void* from, const void* to) {
    return static_cast<std::ptrdiff_t>(reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from));
  };
  const std::ptrdiff_t sent = distance(send, to_send), received = distance(recv, to_recv);
  if (sent == 0 && received == 0) [[likely]]
    return true;
  if (sent != received && job.uses_both_buffers()) return false;
  job.move(sent, received);
  send = to_send;
  recv = to_recv;
  return true;
}

void Job::copy_small_contribution(int p) {
  // What hosts send without waiting for the receiver is 4 KiB or more: 0.1 us to copy. Parts that go inline never wait.
  constexpr std::size_t sent_at_once = 4096;
  const auto most = [&](std::size_t parts) { return std::max(sent_at_once, parts * shm::inline_message_bytes); };
  short_enough_ = most(static_cast<std::size_t>(p));
  const void* const from = call.send != nullptr ? call.send : lands ? nullptr : call.recv;
  if (from == nullptr) return;  // it is packed by load(), or lies where the result goes
  const bool one_for_each = call.operation == Operation::scatter || call.operation == Operation::alltoall ||
                            call.operation == Operation::reduce_scatter_block;
  const std::span<const std::size_t> counts = call.send_counts;
  const std::size_t parts = !counts.empty() ? counts.size() : one_for_each ? p : 1;
  const std::size_t elements =
      counts.empty() ? call.count * parts : std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  const std::size_t bytes = elements * call.element;
  if (bytes == 0 || bytes > most(parts)) return;
  if (needs_ & packing_row) {  // to bring the parts into a row copies them
    call.send_starts = {};
    needs_ = static_cast<std::uint8_t>((needs_ & ~packing_row) | packing);
    return;
  }
  copied_from_ = from;
  copied_bytes_ = bytes;
  copies_received_ = call.send == nullptr;
  needs_ |= copying;
}

/// As a plan sees the data of a view.
template <class View>
Scattered scattered(const View& view) {
  return {[](const void* of, std::size_t offset, std::byte* to, std::size_t bytes) {
            static_cast<const View*>(of)->pack_part(offset, to, bytes);
          },
          [](const void* of, std::size_t offset, const std::byte* from, std::size_t bytes) {
            static_cast<const View*>(of)->unpack_part(offset, from, bytes);
          },
          &view};
}

/// Whether to load and to land would cost more than to move the data part by part.
void Job::scatter(const Prepared& prepared, bool packs, bool stages) {
  call.scattered = {};
  if (prepared.needs_all_counts || prepared.plan.messages) return;
  const auto try_one = [&](const auto& view, std::size_t bytes, Scattered& as, const Scattered*& of) {
    if (bytes <= short_enough_ || !view.has_parts()) return;
    as = scattered(view);
    of = &as;
  };
  if (packs && prepared.plan.sends_once) {
    const Scattered*& of = call.scattered.send;
    send_parts_ ? try_one(*send_parts_, send_parts_->total(), scattered_send_, of)
                : try_one(send_, send_.bytes, scattered_send_, of);
  }
  if (stages && prepared.plan.receives_once) {
    const Scattered*& of = call.scattered.recv;
    recv_parts_ ? try_one(*recv_parts_, recv_parts_->total(), scattered_recv_, of)
                : try_one(recv_, recv_.bytes, scattered_recv_, of);
  }
}

void Job::load_slowly(const Prepared& prepared) {
  bool packs = needs_ & packing || (prepared.in_rows && needs_ & packing_row);
  bool stages = needs_ & landing || (prepared.in_rows && needs_ & landing_row);
  scatter(prepared, packs, stages);
  if (call.scattered.send != nullptr) {
    packs = false;
    call.send = nullptr;
  }
  if (call.scattered.recv != nullptr) {
    stages = false;
    call.recv = nullptr;
  }
  if (needs_ & copying) {
    void* const copy = rooms_[0].room(copied_bytes_);
    std::memcpy(copy, copied_from_, copied_bytes_);
    if (copies_received_)
      call.recv = copy;
    else
      call.send = copy;
  }
  if (packs) call.send = send_parts_ ? send_parts_->packed(rooms_[0]) : send_.packed(rooms_[0]);
  if (stages) {
    std::byte* const landed = recv_parts_ ? recv_parts_->landing(rooms_[1]) : recv_.landing(rooms_[1]);
    call.recv = landed;
    if (recv_parts_) {
      const int parts = static_cast<int>(recv_parts_->bytes().size());
      const int first = kept_ == Kept::own ? rank_ : 0;
      const int count = kept_ == Kept::none ? 0 : kept_ == Kept::own ? 1 : parts;
      for (int i = first; i < first + count; ++i) recv_parts_->keep(i, landed);
    } else if (kept_ == Kept::all) {
      recv_.pack(landed);
    } else if (kept_ == Kept::own) {
      const View part = recv_.split(parts_, rank_);
      part.pack(landed + static_cast<std::size_t>(rank_) * part.bytes);
    }
  }
  if (needs_ & spreading) load_spread(call, send_, has_result_ ? &recv_ : nullptr, result_elements_, op, rooms_);
  if (needs_ & moving) call.recv = rooms_[1].room(std::max<std::size_t>(moved_of_, 1));
}

void Job::land_slowly(bool in_rows) {
  const bool stages = call.scattered.recv == nullptr && (needs_ & landing || (in_rows && needs_ & landing_row));
  const auto* landed = static_cast<const std::byte*>(call.recv);
  if (stages && lands) {
    if (recv_parts_) {
      recv_parts_->land(landed);
    } else {
      recv_.land(landed);
    }
  }
  if (needs_ & spreading && has_result_) land_spread(call, recv_, kept_from_, op, rooms_);
  if (needs_ & moving && moved_bytes_ > 0) std::memcpy(moved_to_, landed + moved_from_, moved_bytes_);
}

template <class Do>
void Job::for_each_type(Do apply) const {
  const auto of_view = [&](const View& view) {
    if (view.info && !view.contiguous() && view.info->kind == TypeClass::derived) apply(view.type);
  };
  of_view(send_);
  of_view(recv_);
  for (const auto& parts : {&send_parts_, &recv_parts_})
    if (*parts)
      for (const View& view : (*parts)->views()) of_view(view);
  if (op.is_programs) apply(op.type);
}

bool Job::needs_objects() const {
  bool any = false;
  for_each_type([&](MPI_Datatype) { any = true; });  // of an operation, too
  return any;
}

void Job::hold() {
  int taken = 0;
  try {
    for_each_type([&](MPI_Datatype type) {
      holds::take_type(type);
      ++taken;
    });
    if (op.is_programs) holds::take_op(op.op);
  } catch (...) {  // no memory for one of them
    for_each_type([&](MPI_Datatype type) {
      if (taken-- > 0) holds::give_back_type(type);
    });
    throw;
  }
  held_ = true;
}

void Job::release() {
  held_ = false;
  for_each_type([](MPI_Datatype type) { holds::give_back_type(type); });
  if (op.is_programs) holds::give_back_op(op.op);
}

}  // namespace omnes::interpose
