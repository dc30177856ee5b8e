// The ways in which a program completes requests.
#pragma once

#include "check.h"

// Each brings all requests of an array, at most max_requests, to their end.
enum { max_requests = 16 };

static void by_wait(int n, MPI_Request* requests) {
  for (int i = n; i-- > 0;) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
}

static void by_test(int n, MPI_Request* requests) {
  for (int i = 0, done = 0; i < n; i += done) MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE);
}

static void by_waitall(int n, MPI_Request* requests) { MPI_Waitall(n, requests, MPI_STATUSES_IGNORE); }

static void by_testall(int n, MPI_Request* requests) {
  for (int done = 0; !done;) MPI_Testall(n, requests, &done, MPI_STATUSES_IGNORE);
}

static void by_waitany(int n, MPI_Request* requests) {
  int index;
  MPI_Status status;
  for (int i = 0; i < n; ++i) MPI_Waitany(n, requests, &index, &status);
  MPI_Waitany(n, requests, &index, &status);
  if (index != MPI_UNDEFINED) fail("Waitany found request %d once more", index);
}

static void by_testany(int n, MPI_Request* requests) {
  for (int left = n, index, done; left > 0; left -= done && index != MPI_UNDEFINED)
    MPI_Testany(n, requests, &index, &done, MPI_STATUS_IGNORE);
}

static void by_waitsome(int n, MPI_Request* requests) {
  int indices[max_requests], count;
  MPI_Status statuses[max_requests];
  for (int left = n; left > 0; left -= count) MPI_Waitsome(n, requests, &count, indices, statuses);
}

static void by_testsome(int n, MPI_Request* requests) {
  int indices[max_requests], count;
  for (int left = n; left > 0; left -= count) MPI_Testsome(n, requests, &count, indices, MPI_STATUSES_IGNORE);
}

static void by_get_status(int n, MPI_Request* requests) {
  for (int i = 0, done = 0; i < n; i += done) MPI_Request_get_status(requests[i], &done, MPI_STATUS_IGNORE);
  int done;
  MPI_Testall(n, requests, &done, MPI_STATUSES_IGNORE);
  if (!done) fail("Request_get_status said that all are done, Testall does not");
}

typedef void completion(int n, MPI_Request* requests);
static completion* const completions[] = {by_wait,    by_test,     by_waitall,  by_testall,   by_waitany,
                                          by_testany, by_waitsome, by_testsome, by_get_status};
static const char* const names[] = {"Wait",    "Test",     "Waitall",  "Testall",           "Waitany",
                                    "Testany", "Waitsome", "Testsome", "Request_get_status"};
enum { completion_count = sizeof completions / sizeof *completions };
