// Nonblocking messages of bytes, of any length, through the host MPI.
//
// A handle of any ABI fits into a pointer or a PortRequest, so that neither the communicator nor the requests need
// memory of their own.
#include "transport/mpi/port.hpp"

#include <climits>
#include <cstring>

namespace omnes {

namespace {

static_assert(sizeof(MPI_Request) <= sizeof(PortRequest));
static_assert(sizeof(MPI_Comm) <= sizeof(void*));

MPI_Comm communicator(void* context) { return narrow<MPI_Comm>(reinterpret_cast<Wide>(context)); }

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
    const MPI_Aint places[] = {0, static_cast<MPI_Aint>(bytes / chunk * chunk)};
    const MPI_Datatype types[] = {large, handles.byte};
    int code = host.Type_create_struct(2, counts, places, types, &type);
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

int isend(void* context, int to, Lane lane, const void* data, std::size_t bytes, PortRequest* request) {
  Length length;
  if (const int code = length.set(bytes); code != MPI_SUCCESS) return code;
  MPI_Request handle;
  const int code =
      host.Isend(data, length.count, length.type, to, static_cast<int>(lane), communicator(context), &handle);
  std::memcpy(request, &handle, sizeof handle);
  return code;
}

int irecv(void* context, int from, Lane lane, void* data, std::size_t bytes, PortRequest* request) {
  Length length;
  if (const int code = length.set(bytes); code != MPI_SUCCESS) return code;
  MPI_Request handle;
  const int code =
      host.Irecv(data, length.count, length.type, from, static_cast<int>(lane), communicator(context), &handle);
  std::memcpy(request, &handle, sizeof handle);
  return code;
}

int test(void*, PortRequest* request, bool* done) {
  MPI_Request handle;
  std::memcpy(&handle, request, sizeof handle);
  int flag = 0;
  const int code = host.Test(&handle, &flag, MPI_STATUS_IGNORE);
  std::memcpy(request, &handle, sizeof handle);
  *done = flag != 0;
  return code;
}

}  // namespace

MessagePort message_port(MPI_Comm comm) {
  MessagePort port;
  port.context = reinterpret_cast<void*>((Wide)comm);
  port.isend = isend;
  port.irecv = irecv;
  port.test = test;
  return port;
}

}  // namespace omnes
