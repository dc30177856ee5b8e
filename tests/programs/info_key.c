// Prints what omnes says to a wrong value of an info key, and that the communicator works all the same.
#include "check.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, p, sum = 0, length = 0;
  char text[MPI_MAX_ERROR_STRING] = "";
  MPI_Comm comm;
  MPI_Info info;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &p);
  MPI_Info_create(&info);
  MPI_Info_set(info, "omnes_allreduce", "rign");
  const int code = MPI_Comm_set_info(comm, info);
  if (code != MPI_SUCCESS) MPI_Error_string(code, text, &length);
  if (rank == 0) printf("%s\n", text);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
  if (sum != p * (p - 1) / 2) fail("sum %d", sum);
  MPI_Info_free(&info);
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return failures != 0;
}
