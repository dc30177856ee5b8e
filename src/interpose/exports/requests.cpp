// MPI's functions on requests: while operations are under way, these go on meanwhile.
//
// While nothing of ours exists, they are the host's: a look, and a jump.
// How: a function that waits becomes a loop of the one that only tests. The requests are the host's, so it decides what
// is complete, fills statuses in, and reports errors; but of operations of ours it need not know (see engine.hpp).
#include <algorithm>
#include <atomic>
#include <new>
#include <numeric>
#include <vector>

#include "interpose/communicator/record.hpp"
#include "interpose/exports/inside.hpp"
#include "interpose/exports/messages.hpp"
#include "interpose/host/export.hpp"
#include "interpose/host/failure.hpp"
#include "interpose/process/process.hpp"
#include "interpose/progress/engine.hpp"
#include "interpose/progress/placeholder.hpp"
#include "interpose/progress/until.hpp"
#include "interpose/types/holds.hpp"

namespace omnes::interpose {

namespace {

/// A test that the host need not make. Every so often it has to all the same: programs that test one request expect
/// that others make progress, too.
bool in_vain() {
  static std::atomic<unsigned> tests = 0;
  return tests.fetch_add(1, std::memory_order_relaxed) % looks_between_tests != 0;
}

using engine::Pending;

/// The program completes an operation that the host does not know of.
int complete(Pending& own, MPI_Request& request, MPI_Status* status) {
  const int code = engine::complete(own, request);
  if (status != MPI_STATUS_IGNORE) {  // that of no message
    MPI_Request none = handles.request_null;
    int flag = 0;
    host.Test(&none, &flag, status);
  }
  return code;
}

/// do_each(pending) for those that the host does not know of.
template <class Do>
void for_each_deferred(int count, const MPI_Request* requests, Do do_each) {
  if (!requests) return;
  for (int i = 0; i < count; ++i)
    if (Pending* const own = engine::deferred(requests[i])) do_each(*own);
}

/// Whether the host has to wait for none of these.
bool all_are_deferred(int count, const MPI_Request* requests) {
  if (!requests) return true;
  for (int i = 0; i < count; ++i)
    if (requests[i] != handles.request_null && !engine::deferred(requests[i])) return false;
  return true;
}

bool any_is_pending(int count, const MPI_Request* requests) {
  return std::any_of(requests, requests + count, engine::pending);
}

/// Before the host looks at several requests to say which is complete first.
void tell_all(int count, const MPI_Request* requests) { for_each_deferred(count, requests, engine::tell); }

/// Before the host is asked whether all are complete: those that it does not know of have ended. Of failures it has to
/// know.
void tell_failures(int count, const MPI_Request* requests) {
  for_each_deferred(count, requests, [](Pending& own) {
    if (own.code != MPI_SUCCESS) engine::tell(own);
  });
}

/// Those that the host does not know of: for it they are inactive, or null.
void complete_all(int count, MPI_Request* requests) {
  if (!requests) return;
  for (int i = 0; i < count; ++i)
    if (Pending* const own = engine::deferred(requests[i])) engine::complete(*own, requests[i]);
}

/// Of these, the first whose operation has failed, which is complete; the host would tell of another failure. -1: there is none.
int find_failed(int count, const MPI_Request* requests) {
  if (!engine::any_has_failed() || !requests || count < 0) return -1;
  const auto failed = std::find_if(requests, requests + count, engine::failure_of);
  return failed == requests + count ? -1 : static_cast<int>(failed - requests);
}

/// The program completes that one. Returns its code.
int complete_failed(MPI_Request& request, MPI_Status* status) {
  const int code = engine::take_failure(request);
  host.Wait(&request, status);
  return code;
}

/// complete_by_host() completes all of them, unless it returns MPI_SUCCESS, as some are not over: statuses get the codes of those that have failed.
template <class Complete>
int complete_all_by_host(int count, const MPI_Request* requests, MPI_Status* statuses, Complete complete_by_host) {
  if (find_failed(count, requests) < 0) return complete_by_host();
  std::vector<MPI_Request> before;
  try {
    before.assign(requests, requests + count);
  } catch (const std::bad_alloc&) {  // then the host tells
  }
  const int code = complete_by_host();
  if (code == MPI_SUCCESS) return code;
  for (std::size_t i = 0; i < before.size(); ++i)
    if (const int failure = engine::take_failure(before[i]); failure != 0 && statuses != MPI_STATUSES_IGNORE)
      statuses[i].MPI_ERROR = failure;
  return code;
}

int wait_all(int count, MPI_Request* requests, MPI_Status* statuses) {
  return complete_all_by_host(count, requests, statuses, [&] { return host.Waitall(count, requests, statuses); });
}

int test_all(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  return complete_all_by_host(count, requests, statuses, [&] { return host.Testall(count, requests, flag, statuses); });
}

int test_one(MPI_Request* request, int* flag, MPI_Status* status) {
  if (!request || engine::failure_of(*request) == 0) return host.Test(request, flag, status);
  *flag = 1;
  return complete_failed(*request, status);
}

int test_any(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  const int failed = find_failed(count, requests);
  if (failed < 0) return host.Testany(count, requests, index, flag, status);
  *index = failed;
  *flag = 1;
  return complete_failed(requests[failed], status);
}

/// One that has failed is reported alone.
int test_some(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  const int failed = find_failed(count, requests);
  if (failed < 0) return host.Testsome(count, requests, done, indices, statuses);
  *done = 1;
  indices[0] = failed;
  const bool wanted = statuses != MPI_STATUSES_IGNORE;
  const int code = complete_failed(requests[failed], wanted ? statuses : MPI_STATUS_IGNORE);
  if (wanted) statuses[0].MPI_ERROR = code;
  return MPI_ERR_IN_STATUS;
}

/// Requests that a call may complete, for whoever notes that.
struct Seen {
  Seen(int count, const MPI_Request* requests) : recorded(count, requests), checked(count, requests) {}
  void all() {
    recorded.all();
    checked.all();
  }
  void all_if(int flag) {
    if (flag) all();
  }
  void one(int index) { some(1, &index); }
  void failed() { checked.failed(); }
  void some(int count, const int* indices) {
    recorded.some(count, indices);
    checked.some(count, indices);
  }
  const record::Watched recorded;
  check::Completions checked;
};

/// MPICH moves a request of a file only when that one is tested. Its MPI_Testall tells of errors that MPI_Waitall would not, where
/// there is a persistent collective; that of 4.0 also polls requests of files that are over, which ends the job.
constexpr bool is_mpichs = built_for == Family::mpich || built_for == Family::abi;

/// Whether MPI_Request_get_status moves them, too: in MPICH since 4.2, with which its relatives came.
bool status_moves_files() {
#ifdef OMNES_LARGE_COUNTS
  return host.Request_get_status_all != nullptr;
#else
  return false;
#endif
}

/// Until is_over(i) was true for each i below `count`, which is asked for some in a turn. Throws std::bad_alloc, at first.
template <class IsOver>
void ask_by_turns(int count, IsOver is_over) {
  constexpr int max_in_vain = 4;  // in a turn: each makes progress for all
  std::vector<int> left(count);
  std::iota(left.begin(), left.end(), 0);
  until([&](int* flag) {
    int in_vain = 0;
    std::erase_if(left, [&](int i) { return in_vain < max_in_vain && (is_over(i) || (++in_vain, false)); });
    std::ranges::rotate(left, left.begin() + in_vain);  // the others first
    *flag = left.empty();
    return MPI_SUCCESS;
  });
}

bool is_over(const Pending& own) { return own.over.load(std::memory_order_acquire); }

/// As MPI_Waitall, which tells of errors. Throws std::bad_alloc, at first.
int wait_by_looks(int count, MPI_Request* requests, MPI_Status* statuses) {
  ask_by_turns(count, [&](int i) {
    if (const Pending* const own = engine::deferred(requests[i])) return is_over(*own);
    int flag = 0;
    return host.Request_get_status(requests[i], &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS || flag != 0;
  });
  tell_failures(count, requests);
  complete_all(count, requests);
  return wait_all(count, requests, statuses);
}

/// The same by completing one after the other: errors are told as of each. Throws std::bad_alloc, at first.
int wait_by_tests(int count, MPI_Request* requests, MPI_Status* statuses) {
  constexpr int not_tested = -1;
  std::vector<int> codes(count, not_tested);
  const auto test = [&](int i) {
    MPI_Status* const status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
    int flag = 0;
    const int code = test_one(&requests[i], &flag, status);
    if (!flag && code == MPI_SUCCESS) return false;
    codes[i] = code;
    return true;
  };
  ask_by_turns(count, [&](int i) {
    const Pending* const own = engine::deferred(requests[i]);
    return own ? is_over(*own) : test(i);
  });
  tell_failures(count, requests);
  complete_all(count, requests);
  for (int i = 0; i < count; ++i)
    if (codes[i] == not_tested) until([&](int* flag) { return *flag = test(i), MPI_SUCCESS; });
  if (std::ranges::all_of(codes, [](int code) { return code == MPI_SUCCESS; })) return MPI_SUCCESS;
  for (int i = 0; i < count && statuses != MPI_STATUSES_IGNORE; ++i) statuses[i].MPI_ERROR = codes[i];
  return MPI_ERR_IN_STATUS;
}

}  // namespace

// Such a function; its body is what it does while something of ours exists.
// `requests`: how many, and which; `completed`: what is noted of them after it, when calls are recorded or checked. After an error only
// the requests tell.
#define OMNES_REQUESTS(name, parameters, arguments, requests, completed)                \
  static int name##_beside parameters;                                                  \
  [[gnu::noinline]] static int name##_seen parameters {                                 \
    Seen seen requests;                                                                 \
    const int code = name##_beside arguments;                                           \
    if (code == MPI_SUCCESS)                                                            \
      completed;                                                                        \
    else                                                                                \
      seen.failed();                                                                    \
    return code;                                                                        \
  }                                                                                     \
  OMNES_STRAIGHT(name, parameters, arguments) {                                         \
    const InFunction inside(check::Function::name);                                     \
    return recording() || checking() ? name##_seen arguments : name##_beside arguments; \
  }                                                                                     \
  static int name##_beside parameters

OMNES_REQUESTS(Wait, (MPI_Request * request, MPI_Status* status), (request, status), (1, request), seen.all()) {
  find_host();
  if (request) {
    if (Pending* const own = engine::deferred(*request)) {
      engine::wait(*own);
      return complete(*own, *request, status);
    }
  }
  if (request && engine::failure_of(*request)) return complete_failed(*request, status);
  if (!ours()) return host.Wait(request, status);
  if (request) engine::wait(*request);
  return until([&](int* flag) { return test_one(request, flag, status); });
}

OMNES_REQUESTS(Waitall, (int count, MPI_Request* requests, MPI_Status* statuses), (count, requests, statuses),
               (count, requests), seen.all()) {
  find_host();
  if (is_mpichs && ours() && !all_are_deferred(count, requests)) {
    try {
      return (status_moves_files() ? wait_by_looks : wait_by_tests)(count, requests, statuses);
    } catch (const std::bad_alloc&) {
      return raise(handles.comm_world, MPI_ERR_NO_MEM);
    }
  }
  for_each_deferred(count, requests, [](Pending& own) { engine::wait(own); });
  tell_failures(count, requests);
  complete_all(count, requests);
  if (count < 0 || !requests || is_mpichs || !ours()) return wait_all(count, requests, statuses);
  for (int i = 0; i < count; ++i) engine::wait(requests[i]);
  return until([&](int* flag) { return test_all(count, requests, flag, statuses); });
}

OMNES_REQUESTS(Waitany, (int count, MPI_Request* requests, int* index, MPI_Status* status),
               (count, requests, index, status), (count, requests), seen.one(*index)) {
  find_host();
  tell_all(count, requests);
  if (!ours() && !engine::any_has_failed()) return host.Waitany(count, requests, index, status);
  return until([&](int* flag) { return test_any(count, requests, index, flag, status); });
}

OMNES_REQUESTS(Waitsome, (int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses),
               (count, requests, done, indices, statuses), (count, requests), seen.some(*done, indices)) {
  find_host();
  tell_all(count, requests);
  if (!ours() && !engine::any_has_failed()) return host.Waitsome(count, requests, done, indices, statuses);
  return until([&](int* flag) {
    const int code = test_some(count, requests, done, indices, statuses);
    *flag = *done != 0;  // MPI_UNDEFINED, too
    return code;
  });
}

OMNES_REQUESTS(Test, (MPI_Request * request, int* flag, MPI_Status* status), (request, flag, status), (1, request),
               seen.all_if(*flag)) {
  find_host();
  if (ours()) engine::progress();
  if (request) {
    if (Pending* const own = engine::deferred(*request)) {
      *flag = is_over(*own);
      if (*flag) return complete(*own, *request, status);
      if (!in_vain()) poke(nullptr);
      return MPI_SUCCESS;
    }
    if (engine::pending(*request) && in_vain()) {
      *flag = 0;
      return MPI_SUCCESS;
    }
  }
  return test_one(request, flag, status);
}

OMNES_REQUESTS(Testall, (int count, MPI_Request* requests, int* flag, MPI_Status* statuses),
               (count, requests, flag, statuses), (count, requests), seen.all_if(*flag)) {
  find_host();
  if (ours()) engine::progress();
  if (is_mpichs && !all_are_deferred(count, requests)) {
    tell_all(count, requests);
    if (!any_is_pending(count, requests) || !in_vain()) return test_all(count, requests, flag, statuses);
    *flag = 0;
    return MPI_SUCCESS;
  }
  bool all_over = true;
  for_each_deferred(count, requests, [&](const Pending& own) { all_over &= is_over(own); });
  if (!all_over) {
    if (!in_vain()) poke(nullptr);
    *flag = 0;
    return MPI_SUCCESS;
  }
  tell_failures(count, requests);
  if (all_are_deferred(count, requests)) {
    complete_all(count, requests);
  } else {  // all of them or none
    for_each_deferred(count, requests, [](Pending& own) {
      if (!own.own) engine::tell(own);
    });
  }
  const int code = test_all(count, requests, flag, statuses);
  if (*flag || code != MPI_SUCCESS) complete_all(count, requests);
  return code;
}

OMNES_REQUESTS(Testany, (int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status),
               (count, requests, index, flag, status), (count, requests), seen.one(*index)) {
  find_host();
  tell_all(count, requests);
  if (ours()) engine::progress();
  return test_any(count, requests, index, flag, status);
}

OMNES_REQUESTS(Testsome, (int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses),
               (count, requests, done, indices, statuses), (count, requests), seen.some(*done, indices)) {
  find_host();
  tell_all(count, requests);
  if (ours()) engine::progress();
  return test_some(count, requests, done, indices, statuses);
}

OMNES_EXPORT(Request_get_status, Wide request, int* flag, MPI_Status* status) {
  find_host();
  const auto narrow_request = narrow<MPI_Request>(request);
  if (Pending* const own = engine::deferred(narrow_request)) engine::tell(*own);
  if (ours()) {
    engine::progress();
    if (engine::pending(narrow_request) && in_vain()) {
      *flag = 0;
      return MPI_SUCCESS;
    }
  }
  const int code = call_host(host.Request_get_status, request, flag, status);
  if (checking() && code == MPI_SUCCESS && *flag) check::told_complete(narrow_request);
  return code;
}

#if defined(OMNES_ABI_MPICH) || defined(OMNES_ABI_STANDARD)
OMNES_EXPORT_EXTENSION(Request_is_complete, Wide request) {
  find_host();
  const auto narrow_request = narrow<MPI_Request>(request);
  const Pending* const own = engine::deferred(narrow_request);
  if (own && !is_over(*own)) engine::progress();  // which ends what has moved in the host's progress engine
  const bool complete = own ? is_over(*own) : call_host(host.Request_is_complete, request) != 0;
  if (checking() && complete) check::told_complete(narrow_request);
  return complete;
}
#endif

OMNES_EXPORT(Start, MPI_Request* request) {
  if (find_host() != built_for || !request) return host.Start(request);
  const record::Within within;
  if (recording()) record::started(*request);
  if (checking()) check::started(*request);
  try {
    if (engine::start(*request)) return MPI_SUCCESS;
  } catch (const Failure& failure) {
    return failure.raised ? failure.code : raise(handles.comm_world, failure.code);
  } catch (const std::bad_alloc&) {
    return raise(handles.comm_world, MPI_ERR_NO_MEM);
  }
  if (starts_may_be_buffered.load(std::memory_order_relaxed)) [[unlikely]]
    free_attached_buffers();
  return host.Start(request);
}

OMNES_EXPORT(Startall, int count, MPI_Request* requests) {
  if (find_host() != built_for || !requests || count < 0) return host.Startall(count, requests);
  for (int i = 0; i < count; ++i)
    if (const int code = omnes_MPI_Start(&requests[i]); code != MPI_SUCCESS) return code;
  return MPI_SUCCESS;
}

OMNES_EXPORT(Request_free, MPI_Request* request) {
  if (recording() && request) record::released(*request);
  if (checking() && request) check::released(*request);
  if (find_host() == built_for && request) {
    engine::forget(*request);
    engine::take_failure(*request);
  }
  return host.Request_free(request);
}

// Collective operations cannot be cancelled, and the host takes ours for receives.
OMNES_EXPORT(Cancel, MPI_Request* request) {
  if (find_host() == built_for && request && engine::is_ours(*request))
    return raise(handles.comm_world, MPI_ERR_REQUEST);
  return host.Cancel(request);
}

OMNES_EXPORT(Op_free, MPI_Op* op) {
  if (op) OpGenerations::forget(*op);
  if (find_host() != built_for || !op || !holds::put_off_op(*op)) return host.Op_free(op);
  *op = handles.op_null;
  return MPI_SUCCESS;
}

#ifdef OMNES_LARGE_COUNTS  // as MPI 4.1 came after these
namespace {

/// A function that leaves requests as they are has said that they are complete; `indices`: these, or null: all.
void told_complete(int count, const int* indices, const void* of) {
  const auto requests = static_cast<const MPI_Request*>(of);
  for (int i = 0; i < count; ++i)
    if (const int index = indices ? indices[i] : i; index >= 0)  // else MPI_UNDEFINED
      check::told_complete(requests[index]);
}

}  // namespace

OMNES_EXPORT(Request_get_status_all, int count, const void* requests, int* flag, MPI_Status* statuses) {
  find_host();
  tell_all(count, static_cast<const MPI_Request*>(requests));
  if (ours()) engine::progress();
  const int code = call_host(host.Request_get_status_all, count, requests, flag, statuses);
  if (checking() && code == MPI_SUCCESS && *flag) told_complete(count, nullptr, requests);
  return code;
}

OMNES_EXPORT(Request_get_status_any, int count, const void* requests, int* index, int* flag, MPI_Status* status) {
  find_host();
  tell_all(count, static_cast<const MPI_Request*>(requests));
  if (ours()) engine::progress();
  const int code = call_host(host.Request_get_status_any, count, requests, index, flag, status);
  if (checking() && code == MPI_SUCCESS && *flag) told_complete(1, index, requests);
  return code;
}

OMNES_EXPORT(Request_get_status_some, int count, const void* requests, int* done, int* indices, MPI_Status* statuses) {
  find_host();
  tell_all(count, static_cast<const MPI_Request*>(requests));
  if (ours()) engine::progress();
  const int code = call_host(host.Request_get_status_some, count, requests, done, indices, statuses);
  if (checking() && code == MPI_SUCCESS) told_complete(*done, indices, requests);
  return code;
}
#endif

}  // namespace omnes::interpose
