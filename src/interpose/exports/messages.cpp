// MPI's functions that wait for messages: a call that blocks in the host would keep other ranks from the data that they
// need from this one.
#include "interpose/exports/messages.hpp"

#include <limits>
#include <memory>

#include "interpose/communicator/spares.hpp"
#include "interpose/data/view.hpp"
#include "interpose/exports/inside.hpp"
#include "interpose/host/export.hpp"
#include "interpose/process/world.hpp"
#include "interpose/progress/engine.hpp"
#include "interpose/progress/until.hpp"

namespace omnes::interpose {

namespace {

template <class Begin, class... Arguments>
int begin_and_wait(Begin begin, MPI_Status* status, Arguments... arguments) {
  MPI_Request request;
  const int code = call_host(begin, arguments..., &request);
  return code == MPI_SUCCESS ? wait_for(request, status) : code;
}

/// By the host's function that waits, or, while operations of ours are under way, by its nonblocking twin. They are
/// members of Host, which may not be found yet.
template <class Send, class Begin, class... Arguments>
int send_by(check::Function function, Send Host::* send, Begin Host::* begin, Arguments... arguments) {
  const InFunction inside(function);
  return ours() ? begin_and_wait(host.*begin, MPI_STATUS_IGNORE, arguments...) : call_host(host.*send, arguments...);
}

/// The same; the status is the host's last argument.
template <class Receive, class Begin, class... Arguments>
int receive_by(check::Function function, Receive Host::* receive, Begin Host::* begin, MPI_Status* status,
               Arguments... arguments) {
  const InFunction inside(function);
  return ours() ? begin_and_wait(host.*begin, status, arguments...) : call_host(host.*receive, arguments..., status);
}

/// Of a message each way: waits for both, or, where the send has failed with `code`, gives up the receive.
int end_both(int code, MPI_Request receiving, MPI_Request sending, MPI_Status* status) {
  if (code != MPI_SUCCESS) {
    host.Cancel(&receiving);
    wait_for(receiving, MPI_STATUS_IGNORE);
    return code;
  }
  const int received = wait_for(receiving, status);
  const int sent = wait_for(sending, MPI_STATUS_IGNORE);
  return received == MPI_SUCCESS ? sent : received;
}

/// A copy of what is sent, without gaps.
struct Packed {
  std::unique_ptr<std::byte[]> data;
  std::size_t bytes = 0;
  bool too_long = false;

  /// Whether there is one. Not where the host has to say what is wrong with the arguments.
  bool take(const void* buffer, MPI_Count count, Wide type, std::size_t max_bytes) try {
    View view;
    if (view.set(buffer, count, narrow<MPI_Datatype>(type)) != nullptr) return false;
    bytes = view.bytes;
    too_long = bytes > max_bytes;
    if (too_long) return false;
    data = std::make_unique_for_overwrite<std::byte[]>(bytes + 1);
    view.pack(data.get());
    return true;
  } catch (...) {
    return false;
  }
};

}  // namespace

// Of a message on the communicator `comm`.
#define OMNES_MESSAGE(name, parameters, arguments) \
  OMNES_STRAIGHT_EXPANDED(name, parameters, arguments, spares::has_messages(comm))
// Of one that waits for nothing.
#define OMNES_BEGINNER(name, parameters, arguments)    \
  OMNES_MESSAGE(name, parameters, arguments) {         \
    find_host();                                       \
    return call_host(host.name, OMNES_LIST arguments); \
  }

std::atomic<bool> starts_may_be_buffered{false};

void free_attached_buffers() {
  constexpr int turns =
      4;  // of the engine: the message that it has been received, what that completes, and both once more for late ones
  if (find_host() != built_for || !world()) return;
  for (int i = 0; i < turns; ++i) poke(nullptr);
}

#define OMNES_NAME(name) name
#define OMNES_COUNT int
#include "interpose/exports/messages.inc"
#undef OMNES_NAME
#undef OMNES_COUNT

#ifdef OMNES_LARGE_COUNTS
#define OMNES_NAME(name) name##_c
#define OMNES_COUNT MPI_Count
#include "interpose/exports/messages.inc"
#endif

OMNES_MESSAGE(Probe, (int from, int tag, Wide comm, MPI_Status* status), (from, tag, comm, status)) {
  const InFunction inside(check::Function::Probe);
  if (!ours()) return call_host(host.Probe, from, tag, comm, status);
  return until([&](int* flag) { return call_host(host.Iprobe, from, tag, comm, flag, status); });
}

OMNES_MESSAGE(Mprobe, (int from, int tag, Wide comm, MPI_Message* message, MPI_Status* status),
              (from, tag, comm, message, status)) {
  const InFunction inside(check::Function::Mprobe);
  if (!ours()) return call_host(host.Mprobe, from, tag, comm, message, status);
  return until([&](int* flag) { return call_host(host.Improbe, from, tag, comm, flag, message, status); });
}

OMNES_MESSAGE(Iprobe, (int from, int tag, Wide comm, int* flag, MPI_Status* status), (from, tag, comm, flag, status)) {
  if (ours()) engine::progress();
  return call_host(host.Iprobe, from, tag, comm, flag, status);
}

OMNES_MESSAGE(Improbe, (int from, int tag, Wide comm, int* flag, MPI_Message* message, MPI_Status* status),
              (from, tag, comm, flag, message, status)) {
  if (ours()) engine::progress();
  return call_host(host.Improbe, from, tag, comm, flag, message, status);
}

OMNES_BEGINNER(Psend_init,
               (const void* buffer, int parts, MPI_Count count, Wide type, int to, int tag, Wide comm, Wide info,
                void* request),
               (buffer, parts, count, type, to, tag, comm, info, request))
OMNES_BEGINNER(Precv_init,
               (void* buffer, int parts, MPI_Count count, Wide type, int from, int tag, Wide comm, Wide info,
                void* request),
               (buffer, parts, count, type, from, tag, comm, info, request))

}  // namespace omnes::interpose
