// The same with the functions that take MPI_Count (MPI 4).
#include <mpi.h>

#define MPI_Bcast MPI_Bcast_c
#define MPI_Reduce MPI_Reduce_c
#define MPI_Allreduce MPI_Allreduce_c
#define MPI_Gather MPI_Gather_c
#define MPI_Scatter MPI_Scatter_c
#define MPI_Allgather MPI_Allgather_c
#define MPI_Alltoall MPI_Alltoall_c
#define MPI_Type_vector MPI_Type_vector_c
#define MPI_Type_contiguous MPI_Type_contiguous_c

#include "movement.c"
