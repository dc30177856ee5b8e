// Nonblocking messages of bytes, of any length, through the host MPI.
//
// A request of any ABI fits into a PortRequest, so that it needs no memory of its own.
#include "interpose/host/port.hpp"

#include <climits>
#include <cstring>

#include "interpose/host/handle_cache.hpp"

namespace omnes::interpose {

namespace {

OMNES_FAST_THREAD_LOCAL bool in_progress = false;

static_assert(sizeof(MPI_Request) <= sizeof(PortRequest::handle));

/// What to pass as count and datatype for so many bytes.
struct Length {
  int count = 0;
  MPI_Datatype type = handles.byte;
  bool made = false;

  /// Counts are int: more bytes than that are one element of a type made of large chunks and the rest.
  int set(std::size_t bytes) {
    if (bytes <= INT_MAX) {
      count = static_cast<int>(bytes);
      return MPI_SUCCESS;
    }
    constexpr std::size_t chunk = std::size_t{1} << 30;
    MPI_Datatype large;
    if (const int code = host.Type_contiguous(chunk, handles.byte, &large); code != MPI_SUCCESS) return code;
    const int counts[] = {static_cast<int>(bytes / chunk), static_cast<int>(bytes % chunk)};
    const MPI_Aint displacements[] = {0, static_cast<MPI_Aint>(bytes / chunk * chunk)};
    const MPI_Datatype types[] = {large, handles.byte};
    int code = host.Type_create_struct(2, counts, displacements, types, &type);
    host.Type_free(&large);
    if (code != MPI_SUCCESS) return code;
    made = true;
    count = 1;
    return host.Type_commit(&type);
  }
  ~Length() {
    if (made) host.Type_free(&type);  // the host keeps it until the message is through
  }
};

int tag_at(const Mailbox& mailbox, int receiver, ChannelKind channel) {
  return mailbox.addresses->tags[receiver] + 2 * mailbox.lane + static_cast<int>(channel);
}

MPI_Request handle_of(const PortRequest& request) {
  MPI_Request handle;
  std::memcpy(&handle, &request.handle, sizeof handle);
  return handle;
}

void keep(PortRequest& request, MPI_Request handle) { std::memcpy(&request.handle, &handle, sizeof handle); }

int isend(void* context, int to, ChannelKind channel, const void* data, std::size_t bytes, PortRequest* request) {
  const auto& mailbox = *static_cast<const Mailbox*>(context);
  const Addresses& at = *mailbox.addresses;
  Length length;
  if (const int code = length.set(bytes); code != MPI_SUCCESS) return code;
  MPI_Request handle = handles.request_null;
  const int code =
      host.Isend(data, length.count, length.type, at.ranks[to], tag_at(mailbox, to, channel), at.comm, &handle);
  keep(*request, handle);
  return code;
}

int irecv(void* context, int from, ChannelKind channel, void* data, std::size_t bytes, PortRequest* request) {
  const auto& mailbox = *static_cast<const Mailbox*>(context);
  const Addresses& at = *mailbox.addresses;
  Length length;
  if (const int code = length.set(bytes); code != MPI_SUCCESS) return code;
  MPI_Request handle = handles.request_null;
  const int code =
      host.Irecv(data, length.count, length.type, at.ranks[from], tag_at(mailbox, at.own, channel), at.comm, &handle);
  keep(*request, handle);
  return code;
}

int test_one(PortRequest& request) {
  MPI_Request handle = handle_of(request);
  int flag = 0;
  const int code = host.Test(&handle, &flag, MPI_STATUS_IGNORE);
  keep(request, handle);
  request.through = flag != 0;
  return code;
}

/// MPI_Testsome tells several errors apart only in statuses.
int error_in(int code, std::span<const MPI_Status> statuses) {
  for (const MPI_Status& status : statuses)
    if (code == MPI_ERR_IN_STATUS && status.MPI_ERROR != MPI_SUCCESS) return status.MPI_ERROR;
  return code;
}

/// A host does not enter its engine to test what is complete.
int test_inside_progress(std::span<PortRequest* const> requests) {
  int code = MPI_SUCCESS;
  for (PortRequest* request : requests)
    if (code == MPI_SUCCESS && is_complete(handle_of(*request))) code = test_one(*request);
  return code;
}

int test(void* context, std::span<PortRequest* const> requests) {
  if (in_progress) return test_inside_progress(requests);
  if (requests.size() == 1) return test_one(*requests.front());
  auto& [addresses, lane, pending, indices, statuses] = *static_cast<Mailbox*>(context);
  pending.clear();
  for (const PortRequest* request : requests) pending.push_back(handle_of(*request));
  indices.resize(pending.size());
  statuses.resize(pending.size());
  int count = 0;
  const int code =
      host.Testsome(static_cast<int>(pending.size()), pending.data(), &count, indices.data(), statuses.data());
  if (count == MPI_UNDEFINED) count = 0;
  for (const int i : std::span(indices).first(static_cast<std::size_t>(count))) {
    keep(*requests[i], pending[i]);
    requests[i]->through = true;
  }
  return error_in(code, {statuses.data(), static_cast<std::size_t>(count)});
}

// To cancel sends is deprecated, and does nothing in most hosts.
bool withdraw(void*, PortRequest& request, bool receives) {
  MPI_Request handle = handle_of(request);
  if (request.through || handle == handles.request_null) return true;
  if (receives) host.Cancel(&handle);
  const bool over = receives || is_complete(handle);
  host.Request_free(&handle);
  request.through = true;
  return over;
}

// In a simulation requests are completed where they are waited for, and nowhere else: in the order in which they come,
// as to complete one takes simulated time.

int look(void*, std::span<PortRequest* const> requests) {
  for (PortRequest* request : requests) request->through = handle_of(*request) == handles.request_null;
  return MPI_SUCCESS;
}

int wait(void*, std::span<PortRequest* const> requests, bool for_all) {
  std::vector<MPI_Request> waiting;
  for (const PortRequest* request : requests) waiting.push_back(handle_of(*request));
  const auto count = static_cast<int>(waiting.size());
  int index = 0;
  const int code = for_all ? host.Waitall(count, waiting.data(), MPI_STATUSES_IGNORE)
                           : host.Waitany(count, waiting.data(), &index, MPI_STATUS_IGNORE);
  for (std::size_t i = 0; i < waiting.size(); ++i) keep(*requests[i], waiting[i]);
  return code;
}

}  // namespace

InsideProgress::InsideProgress() { in_progress = true; }
InsideProgress::~InsideProgress() { in_progress = false; }
bool inside_progress() { return in_progress; }

bool is_complete(MPI_Request request) { return host.Request_is_complete && host.Request_is_complete(request) != 0; }

MessagePort message_port(Mailbox& mailbox) {
  MessagePort port;
  port.context = &mailbox;
  port.isend = isend;
  port.irecv = irecv;
  port.test = simulated ? look : test;
  if (simulated)
    port.wait = wait;
  else
    port.withdraw = withdraw;
  return port;
}

}  // namespace omnes::interpose
