// A communicator of a session is used before MPI_Init by some ranks and after it by others; so are its children.
#include "check.h"

enum { comms = 4 };

int main(void) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm[comms];
  MPI_Request requests[comms];
  int rank, p, one = 1, sums[comms];
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "omnes", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm[0]);
  MPI_Comm_rank(comm[0], &rank);
  MPI_Comm_size(comm[0], &p);
  MPI_Comm_dup(comm[0], &comm[1]);
  MPI_Comm_split(comm[1], 0, 0, &comm[2]);
  MPI_Comm_create(comm[2], group, &comm[3]);
  if (rank % 2) MPI_Init(NULL, NULL);
  for (int i = 0; i < comms; ++i) MPI_Iallreduce(&one, &sums[i], 1, MPI_INT, MPI_SUM, comm[i], &requests[i]);
  if (rank % 2 == 0) MPI_Init(NULL, NULL);
  MPI_Waitall(comms, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < comms; ++i) {
    if (sums[i] != p) fail("sum %d of communicator %d", sums[i], i);
    MPI_Comm_free(&comm[i]);
  }
  MPI_Group_free(&group);
  const int code = finish();
  MPI_Session_finalize(&session);
  return code;
}
