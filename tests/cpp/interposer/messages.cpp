// Messages, requests, and the engine.
#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "functions.hpp"
#include "inside.hpp"

namespace fake {

namespace {

MPI_Status status_of(int from, int tag, std::size_t bytes, int code = MPI_SUCCESS) {
  MPI_Status status{};
  status.MPI_SOURCE = from;
  status.MPI_TAG = tag;
  status.MPI_ERROR = code;
  status.count_lo = static_cast<int>(bytes);
  return status;
}
const MPI_Status& empty_status() {
  static const MPI_Status empty = status_of(MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
  return empty;
}

/// What does not come from code to code: MPI_ERROR is written where there are several.
void tell(MPI_Status* to, const MPI_Status& status) {
  if (to == MPI_STATUS_IGNORE) return;
  const int error = to->MPI_ERROR;
  *to = status;
  to->MPI_ERROR = error;
}

bool fits(const Message& message, int context, int from, int tag) {
  return message.context == context && (from == MPI_ANY_SOURCE || from == message.from) &&
         (tag == MPI_ANY_TAG || tag == message.tag);
}

using Box = std::pmr::list<Message>;
/// With the lock. What comes from one rank in one context comes in order.
Box::iterator find(int context, int from, int tag) {
  Box& box = shared->boxes[own];
  const auto come = [&](Box::iterator at) {
    for (auto before = box.begin(); before != std::next(at); ++before)
      if (before->late > 0 && before->context == at->context && before->from == at->from) return false;
    return true;
  };
  for (auto at = box.begin(); at != box.end(); ++at)
    if (fits(*at, context, from, tag) && come(at)) return at;
  return box.end();
}

/// With the lock. Whether its bytes are here; else its sender is asked for them.
bool is_here(const Message& message) {
  if (!message.stage || *message.stage == Stage::read) return true;
  *message.stage = Stage::wanted;
  return false;
}

/// The message arrives. Returns the receiver's code.
int take(Message& message, void* to, long count, const Type& type, MPI_Status& status) {
  const std::size_t room = static_cast<std::size_t>(count) * type.size;
  const std::size_t bytes = std::min(room, message.data.size());
  unpack(message.data.data(), bytes, to, count, type);
  status = status_of(message.from, message.tag, bytes, message.data.size() > room ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
  if (message.stage) *message.stage = Stage::taken;
  return status.MPI_ERROR;
}

MPI_Request complete_at_once(MPI_Comm comm, const MPI_Status& status) {
  return add_request(comm, [status](Request& request) {
    request.status = status;
    return true;
  });
}

/// In shared memory; the request that watches it gives it back.
std::shared_ptr<std::atomic<Stage>> new_stage() {
  const std::lock_guard lock(shared->lock);
  void* const memory = shared->pool.allocate(sizeof(std::atomic<Stage>));
  return {new (memory) std::atomic<Stage>(Stage::sent), [](std::atomic<Stage>* stage) {
            const std::lock_guard lock(shared->lock);
            shared->pool.deallocate(stage, sizeof *stage);
          }};
}

unsigned draw_lateness() {
  static std::minstd_rand draw(static_cast<unsigned>(own) + 1);
  return job.late == 0 ? 0 : draw() % (job.late + 1);
}

/// With the lock.
void read(Message& message, const void* from, long count, const Type& type) {
  message.data.resize(message.bytes);
  pack(from, count, type, message.data.data());
  if (message.stage) *message.stage = Stage::read;
}

/// Returns the request's poll.
std::function<bool(Request&)> send(Comm& comm, const void* from, long count, std::shared_ptr<Type> type, int to,
                                   int tag, bool waits) {
  const std::shared_ptr<std::atomic<Stage>> stage = waits ? new_stage() : nullptr;
  const auto bytes = static_cast<std::size_t>(count) * type->size;
  const std::lock_guard lock(shared->lock);
  Message& message = shared->boxes[comm.ranks[to]].emplace_back(
      Message{comm.context, comm.rank, tag, draw_lateness(), stage.get(), bytes, Bytes(&shared->pool)});
  if (bytes <= job.eager || !waits) read(message, from, count, *type);
  return [=, &message](Request&) {
    if (stage && *stage == Stage::wanted) {
      const std::lock_guard lock(shared->lock);
      read(message, from, count, *type);
    }
    return !stage || *stage == Stage::taken;
  };
}

int check_message(Comm& comm, long count, int peer, int tag, bool receives) {
  if (count < 0) return MPI_ERR_COUNT;
  if (tag < (receives ? MPI_ANY_TAG : 0)) return MPI_ERR_TAG;
  const bool any = peer == MPI_PROC_NULL || (receives && peer == MPI_ANY_SOURCE);
  return any || (peer >= 0 && peer < static_cast<int>(comm.ranks.size())) ? MPI_SUCCESS : MPI_ERR_RANK;
}

enum class Sending { standard, synchronous, buffered };
int start_send(const void* from, int count, MPI_Datatype type, int to, int tag, MPI_Comm handle, Sending how,
               MPI_Request* request) {
  const std::lock_guard lock(process().mutex);
  Comm& comm = comm_at(handle);
  if (const int code = check_message(comm, count, to, tag, false); code != MPI_SUCCESS) return raised(handle, code);
  if (to == MPI_PROC_NULL) {
    *request = complete_at_once(handle, empty_status());
    return MPI_SUCCESS;
  }
  const auto sent = type_at(type);
  const bool is_long = static_cast<std::size_t>(count) * sent->size > job.eager;
  const bool waits = how == Sending::synchronous || (how == Sending::standard && is_long);
  *request = add_request(handle, send(comm, from, count, sent, to, tag, waits));
  return MPI_SUCCESS;
}

/// As a posted receive polls, with the lock.
std::function<bool(Request&)> receiving(int context, void* to, int count, std::shared_ptr<Type> type, int from,
                                        int tag) {
  return [=](Request& request) {
    const auto at = find(context, from, tag);
    if (at == shared->boxes[own].end() || !is_here(*at)) return false;
    take(*at, to, count, *type, request.status);
    shared->boxes[own].erase(at);
    return true;
  };
}

void post(MPI_Request request) {
  process().requests.at(request).receives = true;
  process().posted.push_back(request);
}

/// The program's request is over: its code. Persistent ones stay.
int end(MPI_Request* handle, MPI_Status* status) {
  Process& p = process();
  Request& request = p.requests.at(*handle);
  const int code = request.status.MPI_ERROR;
  const MPI_Comm comm = request.comm == MPI_COMM_SELF || p.comms.find(request.comm) ? request.comm : MPI_COMM_WORLD;
  tell(status, request.status);
  if (request.start) {
    request.active = request.complete = false;
  } else {
    p.requests.remove(*handle);
    *handle = MPI_REQUEST_NULL;
  }
  return raised(comm, code);
}

bool is_active(MPI_Request handle) { return handle != MPI_REQUEST_NULL && process().requests.at(handle).active; }
bool is_over(MPI_Request handle) { return !is_active(handle) || process().requests.at(handle).complete; }

}  // namespace

MPI_Request add_request(MPI_Comm comm, std::function<bool(Request&)> poll) {
  const std::lock_guard lock(process().mutex);
  Request request;
  request.comm = comm;
  request.poll = std::move(poll);
  request.status = empty_status();
  return process().requests.add(std::move(request));
}

void progress() {
  Process& p = process();
  static thread_local bool inside = false;
  if (!inside) {
    inside = true;
    const auto hooks = [&] {  // another thread may add some
      const std::lock_guard lock(p.mutex);
      return p.hooks;
    }();
    for (const auto hook : hooks) {
      const InMpi interposer;  // which the hook is
      hook(nullptr);
    }
    inside = false;
  }
  const std::lock_guard lock(p.mutex);
  {
    // One look for all: what comes meanwhile is for the first of them that it fits.
    const std::lock_guard of_all(shared->lock);
    for (Message& message : shared->boxes[own])
      if (message.late > 0) --message.late;
    for (auto at = p.posted.begin(); at != p.posted.end();) {
      Request& request = p.requests.at(*at);
      if (request.poll(request)) {
        request.complete = true;
        if (request.freed) p.requests.remove(*at);
        at = p.posted.erase(at);
      } else {
        ++at;
      }
    }
  }
  p.requests.for_each([&](MPI_Request handle, Request& request) {
    if (!request.active || request.complete || request.receives || !request.poll(request)) return;
    request.complete = true;
    if (request.freed) p.requests.remove(handle);
  });
}

void wait_until(const std::function<bool()>& condition) {
  for (;;) {
    progress();
    {
      const std::lock_guard lock(process().mutex);
      if (condition()) return;
    }
    sched_yield();
  }
}

int finish(MPI_Request request) {
  wait_until([&] { return is_over(request); });
  const std::lock_guard lock(process().mutex);
  return end(&request, MPI_STATUS_IGNORE);
}

// ---- MPI's functions ------------------------------------------------------------------------------------------------------

int Isend(const void* from, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  return start_send(from, count, type, to, tag, comm, Sending::standard, request);
}
int Issend(const void* from, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  return start_send(from, count, type, to, tag, comm, Sending::synchronous, request);
}
int Irsend(const void* from, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  return start_send(from, count, type, to, tag, comm, Sending::standard, request);
}
using BeginSend = int(const void* from, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                      MPI_Request* request);
static int send_by(BeginSend begin, const void* from, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  MPI_Request request;
  const int code = begin(from, count, type, to, tag, comm, &request);
  return code == MPI_SUCCESS ? finish(request) : code;
}
int Send(const void* from, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  return send_by(Isend, from, count, type, to, tag, comm);
}
int Ssend(const void* from, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  return send_by(Issend, from, count, type, to, tag, comm);
}
int Rsend(const void* from, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  return Send(from, count, type, to, tag, comm);
}

int Irecv(void* to, int count, MPI_Datatype type, int from, int tag, MPI_Comm handle, MPI_Request* request) {
  const std::lock_guard lock(process().mutex);
  Comm& comm = comm_at(handle);
  if (const int code = check_message(comm, count, from, tag, true); code != MPI_SUCCESS) return raised(handle, code);
  if (from == MPI_PROC_NULL) {
    *request = complete_at_once(handle, status_of(MPI_PROC_NULL, MPI_ANY_TAG, 0));
    return MPI_SUCCESS;
  }
  *request = add_request(handle, receiving(comm.context, to, count, type_at(type), from, tag));
  post(*request);
  return MPI_SUCCESS;
}
int Recv(void* to, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status) {
  MPI_Request request;
  const int code = Irecv(to, count, type, from, tag, comm, &request);
  return code == MPI_SUCCESS ? Wait(&request, status) : code;
}
int Recv_init(void* to, int count, MPI_Datatype type, int from, int tag, MPI_Comm handle, MPI_Request* request) {
  const std::lock_guard lock(process().mutex);
  Comm& comm = comm_at(handle);
  if (const int code = check_message(comm, count, from, tag, true); code != MPI_SUCCESS) return raised(handle, code);
  *request = add_request(handle, receiving(comm.context, to, count, type_at(type), from, tag));
  Request& made = process().requests.at(*request);
  made.active = false;
  made.receives = true;
  made.start = [](Request&) {};
  return MPI_SUCCESS;
}
int Start(MPI_Request* handle) {
  const std::lock_guard lock(process().mutex);
  Request& request = process().requests.at(*handle);
  if (!request.start || request.active) return raised(MPI_COMM_WORLD, MPI_ERR_REQUEST);
  request.active = true;
  request.status = empty_status();
  request.start(request);
  if (request.receives) process().posted.push_back(*handle);
  return MPI_SUCCESS;
}
int Startall(int count, MPI_Request* requests) {
  for (int i = 0; i < count; ++i)
    if (const int code = Start(&requests[i]); code != MPI_SUCCESS) return code;
  return MPI_SUCCESS;
}
int Cancel(MPI_Request* handle) {
  const std::lock_guard lock(process().mutex);
  Request& request = process().requests.at(*handle);
  if (!request.active || request.complete || !request.receives) return MPI_SUCCESS;
  process().posted.remove(*handle);
  request.complete = true;
  request.status.count_hi_and_cancelled = 1;
  return MPI_SUCCESS;
}
int Request_free(MPI_Request* handle) {
  const std::lock_guard lock(process().mutex);
  Request& request = process().requests.at(*handle);
  if (request.active && !request.complete) {
    request.freed = true;
  } else {
    process().requests.remove(*handle);
  }
  *handle = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}

int Sendrecv(const void* from, int count, MPI_Datatype type, int to, int tag, void* into, int room,
             MPI_Datatype into_type, int source, int into_tag, MPI_Comm comm, MPI_Status* status) {
  MPI_Request sending, receiving;
  if (const int code = Irecv(into, room, into_type, source, into_tag, comm, &receiving); code != MPI_SUCCESS)
    return code;
  if (const int code = Isend(from, count, type, to, tag, comm, &sending); code != MPI_SUCCESS) return code;
  const int code = Wait(&receiving, status);
  finish(sending);
  return code;
}

// What is buffered is sent whenever the receiver comes, as all is that is short enough.
int Ibsend(const void* from, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  return start_send(from, count, type, to, tag, comm, Sending::buffered, request);
}
int Bsend(const void* from, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  return send_by(Ibsend, from, count, type, to, tag, comm);
}
int Bsend_init(const void* from, int count, MPI_Datatype type, int to, int tag, MPI_Comm handle, MPI_Request* request) {
  const std::lock_guard lock(process().mutex);
  *request = add_request(handle, [](Request&) { return true; });
  Request& made = process().requests.at(*request);
  made.active = false;
  made.start = [=](Request&) { Bsend(from, count, type, to, tag, handle); };
  return MPI_SUCCESS;
}
int Sendrecv_replace(void* buffer, int count, MPI_Datatype type, int to, int tag, int from, int into_tag, MPI_Comm comm,
                     MPI_Status* status) {
  const int code = Bsend(buffer, count, type, to, tag, comm);
  return code == MPI_SUCCESS ? Recv(buffer, count, type, from, into_tag, comm, status) : code;
}

/// Of the message that matches: it is nobody else's from now on.
int Improbe(int from, int tag, MPI_Comm handle, int* flag, MPI_Message* message, MPI_Status* status) {
  progress();
  const std::lock_guard lock(process().mutex);
  Comm& comm = comm_at(handle);
  const std::lock_guard of_all(shared->lock);
  const auto at = find(comm.context, from, tag);
  *flag = at != shared->boxes[own].end() && is_here(*at);
  if (!*flag) return MPI_SUCCESS;
  tell(status, status_of(at->from, at->tag, at->bytes));
  *message = process().matched.add(std::move(*at));
  shared->boxes[own].erase(at);
  return MPI_SUCCESS;
}
int Mprobe(int from, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  for (int flag = 0; !flag; sched_yield())
    if (const int code = Improbe(from, tag, comm, &flag, message, status); code != MPI_SUCCESS) return code;
  return MPI_SUCCESS;
}
int Imrecv(void* to, int count, MPI_Datatype handle, MPI_Message* message, MPI_Request* request) {
  const std::lock_guard lock(process().mutex);
  const auto type = type_at(handle);
  MPI_Status status{};
  {
    const std::lock_guard of_all(shared->lock);
    take(process().matched.at(*message), to, count, *type, status);
    process().matched.remove(*message);
  }
  *message = MPI_MESSAGE_NULL;
  *request = complete_at_once(MPI_COMM_SELF, status);
  return MPI_SUCCESS;
}
int Mrecv(void* to, int count, MPI_Datatype type, MPI_Message* message, MPI_Status* status) {
  MPI_Request request;
  const int code = Imrecv(to, count, type, message, &request);
  return code == MPI_SUCCESS ? Wait(&request, status) : code;
}

int Iprobe(int from, int tag, MPI_Comm handle, int* flag, MPI_Status* status) {
  progress();
  const std::lock_guard lock(process().mutex);
  Comm& comm = comm_at(handle);
  const std::lock_guard of_all(shared->lock);
  const auto at = find(comm.context, from, tag);
  *flag = at != shared->boxes[own].end();
  if (*flag) tell(status, status_of(at->from, at->tag, at->bytes));
  return MPI_SUCCESS;
}
int Probe(int from, int tag, MPI_Comm comm, MPI_Status* status) {
  for (int flag = 0; !flag; sched_yield())
    if (const int code = Iprobe(from, tag, comm, &flag, status); code != MPI_SUCCESS) return code;
  return MPI_SUCCESS;
}

int Test(MPI_Request* request, int* flag, MPI_Status* status) {
  progress();
  const std::lock_guard lock(process().mutex);
  *flag = is_over(*request);
  if (!*flag) return MPI_SUCCESS;
  if (is_active(*request)) return end(request, status);
  tell(status, empty_status());
  return MPI_SUCCESS;
}
int Wait(MPI_Request* request, MPI_Status* status) {
  int flag = 0, code = MPI_SUCCESS;
  for (; !flag; sched_yield()) code = Test(request, &flag, status);
  return code;
}

int Testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  progress();
  const std::lock_guard lock(process().mutex);
  *flag = std::all_of(requests, requests + count, is_over);
  if (!*flag) return MPI_SUCCESS;
  bool wrong = false;
  for (int i = 0; i < count; ++i) {
    MPI_Status* const status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
    const int code = is_active(requests[i]) ? end(&requests[i], status) : (tell(status, empty_status()), MPI_SUCCESS);
    if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = code;
    wrong |= code != MPI_SUCCESS;
  }
  return wrong ? MPI_ERR_IN_STATUS : MPI_SUCCESS;
}
int Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  int flag = 0, code = MPI_SUCCESS;
  for (; !flag; sched_yield()) code = Testall(count, requests, &flag, statuses);
  return code;
}

int Testsome(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  progress();
  const std::lock_guard lock(process().mutex);
  if (std::none_of(requests, requests + count, is_active)) {
    *done = MPI_UNDEFINED;
    return MPI_SUCCESS;
  }
  bool wrong = false;
  *done = 0;
  for (int i = 0; i < count; ++i) {
    if (!is_active(requests[i]) || !is_over(requests[i])) continue;
    MPI_Status* const status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[*done];
    const int code = end(&requests[i], status);
    if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = code;
    wrong |= code != MPI_SUCCESS;
    indices[(*done)++] = i;
  }
  return wrong ? MPI_ERR_IN_STATUS : MPI_SUCCESS;
}
int Waitsome(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  int code = MPI_SUCCESS;
  for (*done = 0; *done == 0; sched_yield()) code = Testsome(count, requests, done, indices, statuses);
  return code;
}

int Testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  progress();
  const std::lock_guard lock(process().mutex);
  *index = MPI_UNDEFINED;
  *flag = std::none_of(requests, requests + count, is_active);
  if (*flag) tell(status, empty_status());
  for (int i = 0; i < count && !*flag; ++i) {
    if (!is_active(requests[i]) || !is_over(requests[i])) continue;
    *flag = 1;
    *index = i;
    return end(&requests[i], status);
  }
  return MPI_SUCCESS;
}
int Waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
  int flag = 0, code = MPI_SUCCESS;
  for (; !flag; sched_yield()) code = Testany(count, requests, index, &flag, status);
  return code;
}
int Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  progress();
  const std::lock_guard lock(process().mutex);
  *flag = is_over(request);
  if (*flag) tell(status, is_active(request) ? process().requests.at(request).status : empty_status());
  return MPI_SUCCESS;
}
int Request_get_status_all(int count, const MPI_Request requests[], int* flag, MPI_Status* statuses) {
  progress();
  const std::lock_guard lock(process().mutex);
  *flag = std::all_of(requests, requests + count, is_over);
  for (int i = 0; i < count && *flag && statuses != MPI_STATUSES_IGNORE; ++i)
    Request_get_status(requests[i], flag, &statuses[i]);
  return MPI_SUCCESS;
}
int Request_get_status_any(int count, const MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  progress();
  const std::lock_guard lock(process().mutex);
  *index = MPI_UNDEFINED;
  *flag = std::none_of(requests, requests + count, is_active);
  for (int i = 0; i < count && !*flag; ++i)
    if (is_active(requests[i]) && is_over(requests[i])) return Request_get_status(requests[*index = i], flag, status);
  return MPI_SUCCESS;
}
int Request_get_status_some(int count, const MPI_Request requests[], int* done, int* indices, MPI_Status* statuses) {
  progress();
  const std::lock_guard lock(process().mutex);
  *done = std::none_of(requests, requests + count, is_active) ? MPI_UNDEFINED : 0;
  for (int i = 0, flag; i < count && *done != MPI_UNDEFINED; ++i) {
    if (!is_active(requests[i]) || !is_over(requests[i])) continue;
    if (statuses != MPI_STATUSES_IGNORE) Request_get_status(requests[i], &flag, &statuses[*done]);
    indices[(*done)++] = i;
  }
  return MPI_SUCCESS;
}
/// MPIX_Request_is_complete: without any progress.
int Request_is_complete(MPI_Request request) {
  const std::lock_guard lock(process().mutex);
  return is_over(request);
}

}  // namespace fake
