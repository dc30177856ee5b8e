// MPI's functions that wait for messages: a call that blocks in the host would keep other ranks from the data that they
// need from this one.
#include <memory>

#include "interpose/engine.hpp"
#include "interpose/export.hpp"
#include "interpose/until.hpp"

namespace omnes {

namespace {

template <class Begin, class... Arguments>
int begin_and_wait(Begin begin, MPI_Status* status, Arguments... arguments) {
  MPI_Request request;
  const int code = call_host(begin, arguments..., &request);
  return code == MPI_SUCCESS ? wait_for(request, status) : code;
}

/// By the host's function that waits, or, while operations of ours are under way, by its nonblocking twin.
template <class Send, class Begin, class... Arguments>
int send_by(Send send, Begin begin, Arguments... arguments) {
  return ours() ? begin_and_wait(begin, MPI_STATUS_IGNORE, arguments...) : call_host(send, arguments...);
}

/// The same; the status is the host's last argument.
template <class Receive, class Begin, class... Arguments>
int receive_by(Receive receive, Begin begin, MPI_Status* status, Arguments... arguments) {
  return ours() ? begin_and_wait(begin, status, arguments...) : call_host(receive, arguments..., status);
}

}  // namespace

#define OMNES_NAME(name) name
#define OMNES_COUNT int
#include "interpose/messages.inc"
#undef OMNES_NAME
#undef OMNES_COUNT

#ifdef OMNES_LARGE_COUNTS
#define OMNES_NAME(name) name##_c
#define OMNES_COUNT MPI_Count
#include "interpose/messages.inc"
#endif

// What is sent is packed first, as the buffer is received into meanwhile.
OMNES_EXPORT(Sendrecv_replace, void* buffer, int count, Wide type, int to, int send_tag, int from, int recv_tag,
             Wide comm, MPI_Status* status) {
  find_host();
  if (!ours()) return call_host(host.Sendrecv_replace, buffer, count, type, to, send_tag, from, recv_tag, comm, status);
  int bytes = 0, position = 0;
  int code = call_host(host.Pack_size, count, type, comm, &bytes);
  if (code != MPI_SUCCESS) return code;
  const auto packed = std::make_unique<std::byte[]>(static_cast<std::size_t>(bytes) + 1);
  code = call_host(host.Pack, buffer, count, type, packed.get(), bytes, &position, comm);
  if (code != MPI_SUCCESS) return code;
  MPI_Request sending, receiving;
  code = call_host(host.Isend, packed.get(), position, (Wide)MPI_PACKED, to, send_tag, comm, &sending);
  if (code != MPI_SUCCESS) return code;
  code = call_host(host.Irecv, buffer, count, type, from, recv_tag, comm, &receiving);
  const int received = code == MPI_SUCCESS ? wait_for(receiving, status) : code;
  const int sent = wait_for(sending, MPI_STATUS_IGNORE);
  return received == MPI_SUCCESS ? sent : received;
}

OMNES_EXPORT(Probe, int from, int tag, Wide comm, MPI_Status* status) {
  find_host();
  if (!ours()) return call_host(host.Probe, from, tag, comm, status);
  return until([&](int* flag) { return call_host(host.Iprobe, from, tag, comm, flag, status); });
}

OMNES_EXPORT(Mprobe, int from, int tag, Wide comm, MPI_Message* message, MPI_Status* status) {
  find_host();
  if (!ours()) return call_host(host.Mprobe, from, tag, comm, message, status);
  return until([&](int* flag) { return call_host(host.Improbe, from, tag, comm, flag, message, status); });
}

OMNES_EXPORT(Iprobe, int from, int tag, Wide comm, int* flag, MPI_Status* status) {
  find_host();
  if (ours()) engine::progress();
  return call_host(host.Iprobe, from, tag, comm, flag, status);
}

OMNES_EXPORT(Improbe, int from, int tag, Wide comm, int* flag, MPI_Message* message, MPI_Status* status) {
  find_host();
  if (ours()) engine::progress();
  return call_host(host.Improbe, from, tag, comm, flag, message, status);
}

}  // namespace omnes
