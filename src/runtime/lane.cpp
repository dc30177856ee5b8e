// The memory and the queue of a lane.
#include "runtime/lane.hpp"

#include <cstdlib>
#include <new>
#include <utility>

#include "base/assert.hpp"

namespace omnes::inline runtime {

namespace {

constexpr std::size_t arena_alignment = 64;       // bytes
constexpr std::size_t worth_mapping = 16 * 1024;  // bytes: no shorter message is read in place

}  // namespace

Arena::~Arena() { give_back(); }

void Arena::take_from(shm::Heap* heap) {
  if (heap == heap_) return;
  give_back();
  heap_ = heap;
}

void Arena::give_back() {
  if (heap_ != nullptr && heap_->holds(data_)) {
    heap_->give_back(data_);
  } else {
    std::free(data_);
  }
  data_ = nullptr;
  bytes_ = 0;
}

void Arena::leave() {
  if (heap_ == nullptr || !heap_->holds(data_)) leave_to_host(data_);
  data_ = nullptr;
  bytes_ = 0;
}

void Arena::grow(std::size_t bytes) {
  give_back();
  bytes_ = (bytes + arena_alignment - 1) / arena_alignment * arena_alignment;
  if (heap_ != nullptr && bytes_ >= worth_mapping) data_ = static_cast<std::byte*>(heap_->take(bytes_));
  if (data_ != nullptr) return;
  data_ = static_cast<std::byte*>(std::aligned_alloc(arena_alignment, bytes_));
  if (data_ != nullptr) return;
  bytes_ = 0;
  throw std::bad_alloc();
}

void Lane::open(std::unique_ptr<shm::Endpoint> endpoint, const MessagePort& port) {
  OMNES_ASSERT(!is_open());
  endpoint_ = std::move(endpoint);
  executor_.use(endpoint_.get(), port);
  arena_.take_from(endpoint_ ? endpoint_->heap() : nullptr);
  open_ = true;
}

std::unique_ptr<shm::Endpoint> Lane::close() {
  OMNES_ASSERT(first_ == nullptr);
  open_ = false;
  return std::move(endpoint_);
}

// Also where the operation failed in another way, which then counts.
int Lane::see_to_endpoint(int code) {
  endpoint_->done_with_buffers();
  const bool mismatch = endpoint_->take_mismatch();
  return code == 0 && mismatch ? truncated : code;
}

void Lane::abandon() {
  executor_.scatter({});
  if (executor_.abandon()) return;
  sends_left_ = true;
  arena_.leave();
}

Flight& Lane::take_first() {
  Flight& flight = *first_;
  first_ = flight.behind;
  return flight;
}

void Lane::fail(int code) {
  begun_ = false;
  abandon();
  while (first_ != nullptr) {
    Flight& flight = take_first();
    flight.ended(flight.context, code);
  }
}

bool Lane::advance(bool may_call_host, bool may_call_program) {
  if (!is_open()) return false;
  bool moved = false;
  while (first_ != nullptr) {
    Flight& flight = *first_;
    if ((flight.calls_host && !may_call_host) || (flight.calls_program && !may_call_program)) break;
    if (begun_) {
      moved |= executor_.advance();
    } else {
      have_room(*flight.plan);
      executor_.scatter(flight.scattered);
      executor_.begin(*flight.plan, with_arena(flight.bases), flight.reduction);
      begun_ = moved = true;
    }
    if (!executor_.finished()) break;
    begun_ = false;
    executor_.scatter({});
    if (executor_.error() != 0) abandon();
    int code = result_of(executor_.error());
    if (code == 0 && flight.go_on != nullptr) {
      std::exchange(flight.go_on, nullptr)(flight.context);
      continue;
    }
    if (code == 0 && flight.plan->truncates) code = truncated;
    take_first();
    flight.ended(flight.context, code);
  }
  return moved;
}

}  // namespace omnes::inline runtime
