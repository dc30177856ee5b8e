// Intervals of addresses, and sums of what is there.
#include "interpose/check/buffers.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <set>
#include <unordered_map>

#include "interpose/check/report.hpp"
#include "interpose/check/sources.hpp"
#include "interpose/check/watch.hpp"
#include "interpose/data/view.hpp"

namespace omnes::interpose::check {

namespace {

struct Table {
  std::recursive_mutex mutex;
  std::unordered_map<MPI_Request, std::shared_ptr<Buffers>> by_request;
  std::set<Buffers*> active;
  std::atomic<std::size_t> actives = 0;
  std::set<std::uint64_t> told;             ///< sites, so that each is named once
  std::vector<std::shared_ptr<Twin>> left;  ///< that nobody waits for
};
Table& table = *new Table;  // never destroyed: MPI may be finalised by a destructor

void add(std::vector<Interval>& to, const void* address, MPI_Count count, MPI_Datatype type) {
  View view;
  if (count <= 0 || address == nullptr || type == handles.type_null) return;
  if (view.set(address, count, type) != nullptr || !view.contiguous() || view.bytes == 0) return;
  const auto from = reinterpret_cast<std::uintptr_t>(view.address);
  to.push_back({from, from + view.bytes});
}

std::vector<Interval> intervals_of(const Side& side) {
  std::vector<Interval> found;
  if (side.buffer == MPI_IN_PLACE) return found;
  if (!side.counts && !side.only) {
    if (side.parts > 0) add(found, side.buffer, side.count * side.parts, side.type);
    return found;
  }
  for (int part = 0; part < side.parts; ++part)
    if (side.has(part) && side.count_of(part) > 0 && side.type_of(part) != handles.type_null)
      add(found, side.address_of(part), side.count_of(part), side.type_of(part));
  std::ranges::sort(found, {}, &Interval::from);
  return found;
}

bool overlap(const std::vector<Interval>& one, const std::vector<Interval>& other) {
  for (std::size_t i = 0, j = 0; i < one.size() && j < other.size();) {
    if (one[i].to <= other[j].from)
      ++i;
    else if (other[j].to <= one[i].from)
      ++j;
    else
      return true;
  }
  return false;
}

bool overlaps_itself(const std::vector<Interval>& some) {
  for (std::size_t i = 1; i < some.size(); ++i)
    if (some[i].from < some[i - 1].to) return true;
  return false;
}

std::uint64_t checksum(const std::vector<Interval>& some) {
  constexpr std::uint64_t factor = 0xBF58476D1CE4E5B9u;  // odd, without pattern
  std::uint64_t sum = 0;
  const auto take = [&](std::uint64_t word) {
    sum = (sum ^ word) * factor;
    sum ^= sum >> 29;
  };
  for (const Interval& interval : some) {
    const auto* at = reinterpret_cast<const std::byte*>(interval.from);
    std::size_t left = interval.to - interval.from;
    for (std::uint64_t word; left >= sizeof word; left -= sizeof word, at += sizeof word) {
      std::memcpy(&word, at, sizeof word);
      take(word);
    }
    std::uint64_t last = left;
    for (; left > 0; --left, ++at) last = last << 8 | static_cast<std::uint64_t>(*at);
    take(last);
  }
  return sum;
}

/// "rank 2: the send buffer of MPI_Iallreduce, call no. 7 on MPI_COMM_WORLD (a.c:12) ..."
void tell(const Buffers& buffers, const std::string& what, const std::string& happened) {
  if (!table.told.insert(buffers.site).second) return;
  say("rank " + std::to_string(process().rank) + ": " + what + " of " +
      call_name(*buffers.watched, buffers.function, buffers.number) + " (" + source_line(own_area(), buffers.site) +
      ") " + happened);
}

/// With the mutex.
void deactivate(Buffers& buffers) {
  buffers.active = false;
  table.active.erase(&buffers);
  table.actives = table.active.size();
  if (buffers.waiting != 0) stop_waiting(buffers.waiting);
}

/// From their first to their last byte.
Interval hull(const Side& side) {
  const TypeInfo* const info = side.type == handles.type_null ? nullptr : type_info(side.type);
  const MPI_Count elements = side.count * side.parts;
  if (!info || elements == 0) return {0, 0};
  const auto from = reinterpret_cast<std::uintptr_t>(side.buffer) + static_cast<std::uintptr_t>(info->true_lb);
  return {from, from + static_cast<std::uintptr_t>((elements - 1) * info->extent + info->true_extent)};
}

/// Whether where they lie follows from counts and types alone.
bool in_a_row(const Side& side) { return !side.counts && !side.only && side.count >= 0; }

std::string described(const Buffers& other) {
  return function_name(other.function) + ", which is under way (" + source_line(own_area(), other.site) + ")";
}

}  // namespace

bool may_overlap(const Call& call) {
  if (table.actives.load(std::memory_order_relaxed) != 0) return true;
  const Side &s = call.send, &r = call.recv;
  if (s.parts == 0 || r.parts == 0) return r.counts || r.only;
  if (!in_a_row(s) || !in_a_row(r)) return true;
  const Interval one = hull(s), other = hull(r);
  return one.from < other.to && other.from < one.to;
}

bool reach(Reach& sent, Reach& received, const Call& call, const void* send, const void* recv) {
  const Side &s = call.send, &r = call.recv;
  sent = received = {};
  if (!in_a_row(s) || !in_a_row(r)) return false;
  if (s.parts == 0 || r.parts == 0) return true;
  if (s.buffer != send || r.buffer != recv) return false;
  const auto from_buffer = [](const Side& side) -> Reach {
    const Interval all = hull(side);
    const auto buffer = reinterpret_cast<std::uintptr_t>(side.buffer);
    if (all.to == 0) return {};
    return {static_cast<std::intptr_t>(all.from - buffer), static_cast<std::intptr_t>(all.to - buffer)};
  };
  sent = from_buffer(s);
  received = from_buffer(r);
  return true;
}

bool may_overlap(const Kept& kept, const void* send, const void* recv) {
  if (table.actives.load(std::memory_order_relaxed) != 0) return true;
  const auto [from, to] = kept.sent;
  const auto apart =
      static_cast<std::intptr_t>(reinterpret_cast<std::uintptr_t>(recv) - reinterpret_cast<std::uintptr_t>(send));
  return from < to && kept.received.from < kept.received.to && from < kept.received.to + apart &&
         kept.received.from + apart < to;
}

void find_buffers(Buffers& buffers, const Call& call) {
  if (!call.in_place) buffers.sent = intervals_of(call.send);
  buffers.received = intervals_of(call.recv);
}

void check_overlaps(const Buffers& buffers) {
  const std::lock_guard lock(table.mutex);
  if (overlap(buffers.sent, buffers.received))
    tell(buffers, "the send and the receive buffer", "overlap, and MPI_IN_PLACE is not given");
  else if (overlaps_itself(buffers.received))
    tell(buffers, "parts of the receive buffer", "overlap");
  for (const Buffers* other : table.active) {
    if (other == &buffers) continue;
    if (overlap(buffers.received, other->received))
      tell(buffers, "the receive buffer", "overlaps with that of " + described(*other));
    else if (overlap(buffers.received, other->sent))
      tell(buffers, "the receive buffer", "overlaps with the send buffer of " + described(*other));
    else if (overlap(buffers.sent, other->received))
      tell(buffers, "the send buffer", "overlaps with the receive buffer of " + described(*other));
  }
}

void compare_result(Buffers& buffers, bool ours) {
  if (!buffers.twin) return;
  const std::shared_ptr<Twin> twin = std::move(buffers.twin);
  twin->finish();
  if (!ours) return;
  const std::string found = twin->difference();
  if (found.empty()) return;
  const std::lock_guard lock(table.mutex);
  tell(buffers, "the result", "by " + buffers.algorithm + " is not that of the MPI: " + found);
}

void activate(Buffers& buffers) {
  const std::lock_guard lock(table.mutex);
  check_overlaps(buffers);
  if (!buffers.persistent) {
    buffers.waiting = start_waiting(buffers.watched, buffers.number);
  } else if (buffers.its_starts) {
    buffers.waiting = start_waiting(buffers.its_starts, buffers.starts);
  }
  buffers.checksum = checksum(buffers.sent);
  buffers.active = true;
  table.active.insert(&buffers);
  table.actives = table.active.size();
}

void complete(Buffers& buffers) {
  {
    const std::lock_guard lock(table.mutex);
    if (!buffers.active) return;
    deactivate(buffers);
    if (checksum(buffers.sent) != buffers.checksum)
      tell(buffers, "the send buffer", "was changed before the operation was completed");
  }
  compare_result(buffers, true);
}

void abandon(Buffers& buffers) {
  const std::lock_guard lock(table.mutex);
  if (buffers.active) deactivate(buffers);
  if (buffers.twin) table.left.push_back(std::move(buffers.twin));
}

void keep_buffers(std::shared_ptr<Buffers> buffers, MPI_Request request, bool persistent) {
  const std::lock_guard lock(table.mutex);
  forget_buffers(request);  // what had this handle has ended in another way
  buffers->persistent = persistent;
  if (!persistent) activate(*buffers);
  table.by_request[request] = std::move(buffers);
}

std::shared_ptr<Buffers> kept_buffers(MPI_Request request) {
  const std::lock_guard lock(table.mutex);
  const auto found = table.by_request.find(request);
  return found == table.by_request.end() ? nullptr : found->second;
}

void leave_twin(std::shared_ptr<Twin> twin) {
  const std::lock_guard lock(table.mutex);
  table.left.push_back(std::move(twin));
}

void finish_twins() {
  for (const std::shared_ptr<Twin>& twin : table.left) twin->finish();
  table.left.clear();
}

void finish_twins_of(MPI_Comm comm) {
  std::vector<std::shared_ptr<Twin>> its;
  {
    const std::lock_guard lock(table.mutex);
    std::erase_if(table.left, [&](std::shared_ptr<Twin>& twin) {
      const bool is_its = twin->comm == comm;
      if (is_its) its.push_back(std::move(twin));
      return is_its;
    });
    for (const Buffers* const buffers : table.active)
      if (buffers->twin && buffers->twin->comm == comm) its.push_back(buffers->twin);
  }
  for (const std::shared_ptr<Twin>& twin : its) twin->finish();
}

void forget_buffers(MPI_Request request) {
  const std::lock_guard lock(table.mutex);
  const auto found = table.by_request.find(request);
  if (found == table.by_request.end()) return;
  abandon(*found->second);
  table.by_request.erase(found);
}

std::shared_ptr<Buffers> take_buffers(MPI_Request request) {
  const std::lock_guard lock(table.mutex);
  const auto found = table.by_request.find(request);
  if (found == table.by_request.end()) return nullptr;
  std::shared_ptr<Buffers> taken = found->second;
  if (!taken->persistent) table.by_request.erase(found);
  return taken;
}

void return_buffers(std::shared_ptr<Buffers> buffers, MPI_Request request) {
  const std::lock_guard lock(table.mutex);
  table.by_request[request] = std::move(buffers);
}

}  // namespace omnes::interpose::check
