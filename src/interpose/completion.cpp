// MPI's functions on requests, and those that wait for messages: while operations are under way, they go on meanwhile.
//
// How: a function that waits becomes a loop of the one that only tests. The requests are the host's, so it decides what
// is complete, fills statuses in, and reports errors.
#include <atomic>

#include "interpose/engine.hpp"
#include "interpose/export.hpp"
#include "interpose/failure.hpp"
#include "interpose/holds.hpp"
#include "interpose/process.hpp"

namespace omnes {

namespace {

bool ours() { return engine::busy(); }

// A test in vain runs the host's progress engine, which takes it 0.5 to 1 us: as long as a short operation.
constexpr int looks_between_tests = 16;

/// Repeats test(flag), which returns a code of the host, until it says that it is done.
template <class Test>
int until(Test test) {
  shm::Waiter waiter(engine::waiting());
  for (int looks = 0;; ++looks) {
    const bool something = engine::progress();
    if (something || looks % looks_between_tests == 0) {
      int flag = 0;
      const int code = test(&flag);
      if (flag || code != MPI_SUCCESS) return code;
    }
    waiter.pause();
  }
}

/// A test that the host need not make. Every so often it has to all the same: programs that test one request expect
/// that others make progress, too.
bool in_vain(MPI_Request request) {
  static std::atomic<int> tests = 0;
  return engine::pending(request) && tests.fetch_add(1, std::memory_order_relaxed) % looks_between_tests != 0;
}

/// Until the request is complete.
int wait_for(MPI_Request request, MPI_Status* status) {
  return until([&](int* flag) { return host.Test(&request, flag, status); });
}

}  // namespace

OMNES_EXPORT(Wait, MPI_Request* request, MPI_Status* status) {
  find_host();
  if (!ours()) return host.Wait(request, status);
  engine::wait(*request);
  return until([&](int* flag) { return host.Test(request, flag, status); });
}

OMNES_EXPORT(Waitall, int count, MPI_Request* requests, MPI_Status* statuses) {
  find_host();
  if (!ours()) return host.Waitall(count, requests, statuses);
  for (int i = 0; i < count; ++i) engine::wait(requests[i]);
  return until([&](int* flag) { return host.Testall(count, requests, flag, statuses); });
}

OMNES_EXPORT(Waitany, int count, MPI_Request* requests, int* index, MPI_Status* status) {
  find_host();
  if (!ours()) return host.Waitany(count, requests, index, status);
  return until([&](int* flag) { return host.Testany(count, requests, index, flag, status); });
}

OMNES_EXPORT(Waitsome, int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  find_host();
  if (!ours()) return host.Waitsome(count, requests, done, indices, statuses);
  return until([&](int* flag) {
    const int code = host.Testsome(count, requests, done, indices, statuses);
    *flag = *done != 0;  // MPI_UNDEFINED, too
    return code;
  });
}

OMNES_EXPORT(Test, MPI_Request* request, int* flag, MPI_Status* status) {
  find_host();
  if (ours()) {
    engine::progress();
    if (in_vain(*request)) {
      *flag = 0;
      return MPI_SUCCESS;
    }
  }
  return host.Test(request, flag, status);
}

OMNES_EXPORT(Testall, int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  find_host();
  if (ours()) engine::progress();
  return host.Testall(count, requests, flag, statuses);
}

OMNES_EXPORT(Testany, int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  find_host();
  if (ours()) engine::progress();
  return host.Testany(count, requests, index, flag, status);
}

OMNES_EXPORT(Testsome, int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  find_host();
  if (ours()) engine::progress();
  return host.Testsome(count, requests, done, indices, statuses);
}

OMNES_EXPORT(Request_get_status, Wide request, int* flag, MPI_Status* status) {
  find_host();
  if (ours()) {
    engine::progress();
    if (in_vain(narrow<MPI_Request>(request))) {
      *flag = 0;
      return MPI_SUCCESS;
    }
  }
  return call_host(host.Request_get_status, request, flag, status);
}

OMNES_EXPORT(Start, MPI_Request* request) {
  if (find_host() != built_for || !request) return host.Start(request);
  try {
    if (engine::start(*request)) return MPI_SUCCESS;
  } catch (const Failure& failure) {
    return failure.raised ? failure.code : raise(handles.comm_world, failure.code);
  }
  return host.Start(request);
}

OMNES_EXPORT(Startall, int count, MPI_Request* requests) {
  if (find_host() != built_for || !requests) return host.Startall(count, requests);
  for (int i = 0; i < count; ++i)
    if (const int code = omnes_MPI_Start(&requests[i]); code != MPI_SUCCESS) return code;
  return MPI_SUCCESS;
}

OMNES_EXPORT(Request_free, MPI_Request* request) {
  if (find_host() == built_for && request) engine::forget(*request);
  return host.Request_free(request);
}

OMNES_EXPORT(Type_free, MPI_Datatype* type) {
  if (find_host() != built_for || !type || !holds::put_off_type(*type)) return host.Type_free(type);
  *type = handles.type_null;
  return MPI_SUCCESS;
}

OMNES_EXPORT(Op_free, MPI_Op* op) {
  if (find_host() != built_for || !op || !holds::put_off_op(*op)) return host.Op_free(op);
  *op = handles.op_null;
  return MPI_SUCCESS;
}

// Messages: a call that blocks in the host would keep other ranks from the data that they need from this one.

OMNES_EXPORT(Recv, void* buffer, int count, Wide type, int from, int tag, Wide comm, MPI_Status* status) {
  find_host();
  if (!ours()) return call_host(host.Recv, buffer, count, type, from, tag, comm, status);
  MPI_Request request;
  const int code = call_host(host.Irecv, buffer, count, type, from, tag, comm, &request);
  return code == MPI_SUCCESS ? wait_for(request, status) : code;
}

OMNES_EXPORT(Send, const void* buffer, int count, Wide type, int to, int tag, Wide comm) {
  find_host();
  if (!ours()) return call_host(host.Send, buffer, count, type, to, tag, comm);
  MPI_Request request;
  const int code = call_host(host.Isend, buffer, count, type, to, tag, comm, &request);
  return code == MPI_SUCCESS ? wait_for(request, MPI_STATUS_IGNORE) : code;
}

OMNES_EXPORT(Ssend, const void* buffer, int count, Wide type, int to, int tag, Wide comm) {
  find_host();
  if (!ours()) return call_host(host.Ssend, buffer, count, type, to, tag, comm);
  MPI_Request request;
  const int code = call_host(host.Issend, buffer, count, type, to, tag, comm, &request);
  return code == MPI_SUCCESS ? wait_for(request, MPI_STATUS_IGNORE) : code;
}

OMNES_EXPORT(Sendrecv, const void* send, int send_count, Wide send_type, int to, int send_tag, void* recv,
             int recv_count, Wide recv_type, int from, int recv_tag, Wide comm, MPI_Status* status) {
  find_host();
  if (!ours())
    return call_host(host.Sendrecv, send, send_count, send_type, to, send_tag, recv, recv_count, recv_type, from,
                     recv_tag, comm, status);
  MPI_Request sending, receiving;
  int code = call_host(host.Irecv, recv, recv_count, recv_type, from, recv_tag, comm, &receiving);
  if (code != MPI_SUCCESS) return code;
  code = call_host(host.Isend, send, send_count, send_type, to, send_tag, comm, &sending);
  if (code != MPI_SUCCESS) return code;
  code = wait_for(receiving, status);
  const int sent = wait_for(sending, MPI_STATUS_IGNORE);
  return code == MPI_SUCCESS ? sent : code;
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
