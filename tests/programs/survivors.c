// A rank dies where the host survives it (ULFM, Open MPI 5 --with-ft ulfm): the operations of its communicators end with an error on
// all others, those of other communicators are right, before and after; as the words say, it dies in "blocking", "nonblocking",
// "tested", "persistent" operations, in those that are waited or tested for by "any", "some", "all", "testany", "testsome", "testall",
// before the "first" one of a communicator, or at any moment ("midst").
#include "check.h"

#include <mpi-ext.h>  // after mpi.h
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

enum { victim = 1, calls = 40, large = 20000 };
static double mine[large], sums[large];

/// Completes it beside a receive from nobody, by the function that `how` names. Returns the operation's own code.
static int complete_beside(MPI_Request* request, const char* how) {
  MPI_Request requests[2] = {MPI_REQUEST_NULL, *request};
  MPI_Status statuses[2] = {{0}, {0}}, one;
  int index = -1, done = 0, flag = 0, indices[2], code = MPI_SUCCESS;
  const int any = strstr(how, "any") != NULL, some = strstr(how, "some") != NULL;
  if (!any && !some) MPI_Irecv(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[0]);
  if (strcmp(how, "any") == 0) {
    code = MPI_Waitany(2, requests, &index, &one);
  } else if (strcmp(how, "some") == 0) {
    code = MPI_Waitsome(2, requests, &done, indices, statuses);
  } else if (strcmp(how, "all") == 0) {
    code = MPI_Waitall(2, requests, statuses);
  }
  while (strncmp(how, "test", 4) == 0 && code == MPI_SUCCESS && !flag) {
    if (any) code = MPI_Testany(2, requests, &index, &flag, &one);
    if (some) code = MPI_Testsome(2, requests, &done, indices, statuses), flag = done > 0;
    if (!any && !some) code = MPI_Testall(2, requests, &flag, statuses);
  }
  if (any && index != 1) fail("index %d", index);
  if (some && (done != 1 || indices[0] != 1)) fail("%d done", done);
  if (requests[1] != MPI_REQUEST_NULL) fail("the request is left");
  if (code == MPI_SUCCESS || any) return code;
  if (code != MPI_ERR_IN_STATUS) fail("code %d", code);
  if (!some && statuses[0].MPI_ERROR != MPI_SUCCESS) fail("of the other request: code %d", statuses[0].MPI_ERROR);
  return statuses[some ? 0 : 1].MPI_ERROR;
}

static int complete(int code, MPI_Request* request, const char* how) {
  int flag = 0;
  if (code != MPI_SUCCESS) return code;
  if (strcmp(how, "nonblocking") == 0 || strcmp(how, "persistent") == 0) return MPI_Wait(request, MPI_STATUS_IGNORE);
  if (strcmp(how, "tested") != 0) return complete_beside(request, how);
  while (code == MPI_SUCCESS && !flag) code = MPI_Test(request, &flag, MPI_STATUS_IGNORE);
  return code;
}

static int call(const char* how, int number, MPI_Comm comm) {
  const int count = number % 3 == 0 ? large : 1;
  MPI_Request request;
  if (strcmp(how, "persistent") == 0) {
    int code = MPI_Allreduce_init(mine, sums, count, MPI_DOUBLE, MPI_SUM, comm, MPI_INFO_NULL, &request);
    for (int i = 0; i < 2 && code == MPI_SUCCESS; ++i) {
      code = MPI_Start(&request);
      code = complete(code, &request, how);
    }
    return code;
  }
  if (strcmp(how, "blocking") != 0 && strcmp(how, "first") != 0 && strcmp(how, "midst") != 0) {
    const int code = MPI_Iallreduce(mine, sums, count, MPI_DOUBLE, MPI_SUM, comm, &request);
    return complete(code, &request, how);
  }
  switch (number % 4) {
    case 0: return MPI_Barrier(comm);
    case 1: return MPI_Bcast(mine, count, MPI_DOUBLE, victim, comm);
    case 2: return MPI_Allgather(mine, 10, MPI_DOUBLE, sums, 10, MPI_DOUBLE, comm);
    default: return MPI_Allreduce(mine, sums, count, MPI_DOUBLE, MPI_SUM, comm);
  }
}

static void sum_right(MPI_Comm comm, const char* which) {
  int size, sum = 0;
  const int one = 1;
  MPI_Comm_size(comm, &size);
  for (int i = 0; i < 20; ++i)
    if (MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm) != MPI_SUCCESS || sum != size)
      fail("%s: sum %d", which, sum);
}

static void end(int number) {
  (void)number;
  _exit(0);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const char* how = argc > 1 ? argv[1] : "";
  const int first = strcmp(how, "first") == 0, midst = strcmp(how, "midst") == 0;
  int rank, all, class, code = MPI_SUCCESS;
  MPI_Comm comm, others, fewer;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_split(MPI_COMM_WORLD, rank == victim, 0, &others);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(others, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  sum_right(MPI_COMM_WORLD, "all, before");
  sum_right(others, "others, before");
  for (int i = 0; i < calls && !first; ++i)
    if (call(how, i, comm) != MPI_SUCCESS) fail("before");
  if (rank == victim && !midst) raise(SIGKILL);
  if (rank == victim) {
    const struct itimerval soon = {{0, 0}, {0, 3000}};
    signal(SIGALRM, SIG_DFL);
    setitimer(ITIMER_REAL, &soon, NULL);
  }
  for (int i = 0; code == MPI_SUCCESS && i < 100000000; ++i) code = call(how, i, comm);
  MPI_Error_class(code, &class);
  if (class != MPI_ERR_PROC_FAILED && class != MPI_ERR_REVOKED) fail("class %d", class);
  sum_right(others, "others, after");
  MPIX_Comm_revoke(comm);
  MPI_Error_class(call("blocking", 1, comm), &class);
  if (class != MPI_ERR_PROC_FAILED && class != MPI_ERR_REVOKED) fail("revoked: class %d", class);
  MPIX_Comm_shrink(comm, &fewer);
  MPI_Comm_set_errhandler(fewer, MPI_ERRORS_RETURN);
  sum_right(fewer, "fewer");
  MPI_Comm_free(&comm);
  sum_right(fewer, "fewer, again");
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, fewer);
  MPI_Comm_free(&others);
  MPI_Comm_free(&fewer);
  if (rank == 0 && all == 0) printf("OK\n");
  fflush(stdout);
  signal(SIGALRM, end);  // Open MPI 5.0 may wait in MPI_Finalize for the one that has died
  alarm(3);
  MPI_Finalize();
  return failures > 0;
}
