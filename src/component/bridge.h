/* What the halves of the component call of each other: Open MPI's framework, in C (framework.c, objects.c, requests.c), and omnes, in C++. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "interpose/host/module.h"

struct ompi_communicator_t;
struct ompi_request_t;

#ifdef __cplusplus
extern "C" {
#endif

/* Of omnes. */

/* A setting as a parameter of Open MPI: OMNES_BCAST is coll_omnes_bcast. */
struct OmnesParameter {
  const char* name;
  const char* variable;
  const char* about;
};
/* All there are; ended by a null name. */
const struct OmnesParameter* omnes_parameters(void);

/* MPI_Init is at its end: the ranks meet. Returns a code. */
int omnes_initialised(void);
/* MPI_Finalize begins. */
void omnes_begin_end(void);
/* `members`: a hash of who they are, alike on all of them, as is `context`, the number that no other communicator of theirs has meanwhile. */
void omnes_communicator_made(struct ompi_communicator_t* comm, struct OmnesModule* module, uint64_t members,
                             uint32_t context);
void omnes_communicator_gone(struct ompi_communicator_t* comm);
/* There is a window. */
void omnes_window_made(void);
/* A persistent operation. Returns a code. */
int omnes_start(struct ompi_request_t* request);
void omnes_forget(struct ompi_request_t* request);

/* Of Open MPI. */

/* A request of an operation on that communicator: active, or where it is persistent, inactive. Null: there is no memory. */
struct ompi_request_t* omnes_make_request(struct ompi_communicator_t* comm, bool persistent);
void omnes_activate(struct ompi_request_t* request);
/* `comm`: whose error handler hears of a failure. */
void omnes_complete(struct ompi_request_t* request, struct ompi_communicator_t* comm, int code);
/* One that is complete. */
struct ompi_request_t* omnes_completed_request(void);

/* Whether a datatype tells how it was made. */
bool omnes_has_envelope(void* type);
/* One more who uses a datatype, an operation or a communicator, and one less. */
void omnes_retain(void* object);
void omnes_release(void* object);

#ifdef __cplusplus
}
#endif
