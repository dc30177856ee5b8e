/* Requests of operations that omnes has under way, as Open MPI's functions on requests want them. */
#include "ompi_config.h"

#include <stdatomic.h>

#include "component/bridge.h"
#include "ompi/communicator/communicator.h"
#include "ompi/mca/coll/base/coll_base_util.h"
#include "ompi/request/request.h"

/* Who comes second, the operation that ends or the program that frees its request, lets it go. */
enum stage { under_way, over, freed };

typedef struct {
  ompi_coll_base_nbc_request_t collective; /* where Open MPI keeps what such a request holds: types, operations */
  atomic_int stage;
} request_t;

static int start_all(size_t count, ompi_request_t** started) {
  for (size_t i = 0; i < count; ++i) {
    const int code = omnes_start(started[i]);
    if (code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

static void let_go(request_t* request) {
  OMPI_REQUEST_FINI(&request->collective.super);
  OBJ_RELEASE(request);
}

static int free_one(ompi_request_t** handle) {
  request_t* const request = (request_t*)*handle;
  *handle = MPI_REQUEST_NULL;
  if (request->collective.super.req_persistent) omnes_forget(&request->collective.super);
  if (atomic_exchange(&request->stage, freed) == over) let_go(request);
  return OMPI_SUCCESS;
}

static int cancel(ompi_request_t* request, int flag) {
  (void)request, (void)flag;
  return MPI_ERR_REQUEST;
}

static void construct(request_t* one) {
  one->collective.super.req_type = OMPI_REQUEST_COLL;
  one->collective.super.req_start = start_all;
  one->collective.super.req_free = free_one;
  one->collective.super.req_cancel = cancel;
}

static OBJ_CLASS_INSTANCE(request_t, ompi_coll_base_nbc_request_t, construct, NULL);

static void set_status(request_t* request, int code) {
  request->collective.super.req_status = ompi_status_empty;
  request->collective.super.req_status.MPI_ERROR = code;
}

struct ompi_request_t* omnes_make_request(struct ompi_communicator_t* comm, bool persistent) {
  request_t* const request = OBJ_NEW(request_t);
  if (!request) return NULL;
  OMPI_REQUEST_INIT(&request->collective.super, persistent);
  request->collective.super.req_mpi_object.comm = comm;
  set_status(request, MPI_SUCCESS);
  atomic_store(&request->stage, over);
  if (!persistent) omnes_activate(&request->collective.super);
  return &request->collective.super;
}

void omnes_activate(struct ompi_request_t* handle) {
  request_t* const request = (request_t*)handle;
  atomic_store(&request->stage, under_way);
  set_status(request, MPI_SUCCESS);
  request->collective.super.req_complete = REQUEST_PENDING;
  request->collective.super.req_state = OMPI_REQUEST_ACTIVE;
}

void omnes_complete(struct ompi_request_t* handle, struct ompi_communicator_t* comm, int code) {
  request_t* const request = (request_t*)handle;
  request->collective.super.req_mpi_object.comm = comm;
  set_status(request, code);
  ompi_request_complete(&request->collective.super, true);
  if (atomic_exchange(&request->stage, over) == freed) let_go(request);
}

struct ompi_request_t* omnes_completed_request(void) { return &ompi_request_empty; }
