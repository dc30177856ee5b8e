// Calls of one operation in all its forms, for those that are errors: FORMS(Name, name, arguments) calls report("Name", form, code).
#ifndef FORMS_H
#define FORMS_H

#include "check.h"

enum form { BLOCKING, NONBLOCKING, PERSISTENT };

// What the program makes of a call's code.
static void report(const char* name, enum form form, int code);

// Ends what has begun all the same.
static int ended(int code, MPI_Request* request) {
  if (code == MPI_SUCCESS) MPI_Wait(request, MPI_STATUS_IGNORE);
  if (code == MPI_SUCCESS && *request != MPI_REQUEST_NULL) MPI_Request_free(request);
  return code;
}

#define FORMS_ARGUMENTS(...) __VA_ARGS__
#if HAS_PERSISTENT
#define FORMS_PERSISTENT(Name, arguments)                                             \
  do {                                                                                \
    MPI_Request request = MPI_REQUEST_NULL;                                           \
    int code = MPI_##Name##_init(FORMS_ARGUMENTS arguments, MPI_INFO_NULL, &request); \
    report(#Name, PERSISTENT, ended(code, &request));                                 \
  } while (0)
#else
#define FORMS_PERSISTENT(Name, arguments)
#endif
#define FORMS(Name, name, arguments)                                                               \
  do {                                                                                             \
    MPI_Request request = MPI_REQUEST_NULL;                                                        \
    report(#Name, BLOCKING, MPI_##Name arguments);                                                 \
    report(#Name, NONBLOCKING, ended(MPI_I##name(FORMS_ARGUMENTS arguments, &request), &request)); \
    FORMS_PERSISTENT(Name, arguments);                                                             \
  } while (0)

#endif
