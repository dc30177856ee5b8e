// Placeholders: receives of no bytes from oneself, which wait for their messages.
#include "interpose/progress/placeholder.hpp"

#include <algorithm>
#include <climits>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "interpose/host/failure.hpp"
#include "interpose/process/process.hpp"
#include "interpose/process/tag_pool.hpp"
#include "interpose/progress/engine.hpp"

namespace omnes::interpose::engine {

namespace {

struct Placeholder {
  MPI_Request request;
  int tag;
};

// Never destroyed: MPI may be finalised by a destructor.
auto& tags = *new TagPool(1, 1, INT_MAX);  // of Process::self; 0 is that of Process::idle
constexpr std::size_t max_idle = 32;
auto& idle = *new std::vector<Placeholder>;  // behind the gate

struct Failed {
  MPI_Request request;
  int code;
};
std::mutex failing;  // guards the next
auto& failed = *new std::vector<Failed>;

void note_failure(MPI_Request request, int code) {
  const std::lock_guard lock(failing);
  try {
    failed.push_back({request, code});
  } catch (const std::bad_alloc&) {  // then its code is the host's
    return;
  }
  detours.fetch_add(1, std::memory_order_relaxed);
  failed_count.fetch_add(1, std::memory_order_release);
}

auto find_failed(MPI_Request request) { return std::ranges::find(failed, request, &Failed::request); }

Placeholder take() {
  if (!idle.empty()) {
    const Placeholder last = idle.back();
    idle.pop_back();
    return last;
  }
  idle.reserve(max_idle);
  Placeholder made{.request = {}, .tag = tags.take()};
  const int code = host.Irecv(nullptr, 0, handles.byte, 0, made.tag, process().self, &made.request);
  if (code != MPI_SUCCESS) {
    tags.give_back(made.tag);
    throw Failure{code};
  }
  return made;
}

/// Completes the receive that waits for it, in any case.
void send_to_self(MPI_Request waiting, int tag, int bytes) {
  static const std::byte nothing{};
  if (host.Send(&nothing, bytes, handles.byte, 0, tag, process().self) != MPI_SUCCESS) host.Cancel(&waiting);
}

void end(Placeholder placeholder) {
  send_to_self(placeholder.request, placeholder.tag, 0);
  host.Wait(&placeholder.request, MPI_STATUS_IGNORE);
  tags.give_back(placeholder.tag);
}

}  // namespace

std::atomic<int> failed_count = 0;

int failure_of(MPI_Request request) {
  if (!any_has_failed()) return MPI_SUCCESS;
  const std::lock_guard lock(failing);
  const auto found = find_failed(request);
  return found == failed.end() ? MPI_SUCCESS : found->code;
}

int take_failure(MPI_Request request) {
  if (!any_has_failed()) return MPI_SUCCESS;
  const std::lock_guard lock(failing);
  const auto found = find_failed(request);
  if (found == failed.end()) return MPI_SUCCESS;
  const int code = found->code;
  failed.erase(found);
  failed_count.fetch_sub(1, std::memory_order_relaxed);
  detours.fetch_sub(1, std::memory_order_relaxed);
  return code;
}

void take_placeholder(Pending& pending) {
  const Placeholder taken = take();
  pending.tag = taken.tag;
  pending.request = taken.request;
}

void make_persistent_placeholder(Pending& pending) {
  pending.tag = tags.take();
  check_own(host.Recv_init(nullptr, 0, handles.byte, 0, pending.tag, process().self, &pending.request));
}

void start_placeholder(Pending& pending) { host.Start(&pending.request); }

/// With the message of no bytes that it waits for, or one that does not fit.
void complete_placeholder(Pending& pending) {
  if (pending.tag < 0) return;
  if (pending.code != 0 && !pending.freed) note_failure(pending.request, pending.code);
  send_to_self(pending.request, pending.tag, pending.code == 0 ? 0 : 1);
}

void return_placeholder(Pending& pending) {
  const Placeholder returned{pending.request, std::exchange(pending.tag, -1)};
  if (idle.size() < max_idle) {
    idle.push_back(returned);
  } else {
    end(returned);
  }
}

MPI_Request completed_request() {
  MPI_Request request = handles.request_null;
  check_own(host.Irecv(nullptr, 0, handles.byte, MPI_PROC_NULL, 0, process().self, &request));
  return request;
}

void forget_placeholder(Pending& pending) {
  if (pending.tag >= 0) tags.give_back(pending.tag);
}

void end_idle_placeholders() {
  for (const Placeholder& one : idle) end(one);
  idle.clear();
}

}  // namespace omnes::interpose::engine
