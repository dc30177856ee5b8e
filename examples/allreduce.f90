! The hello of collectives in Fortran: all ranks learn the sum of their numbers.
!
!   mpif90 -O2 allreduce.f90 -o allreduce
!   omnes run -n 4 ./allreduce
!
! prints
!
!   4 ranks, sum 6
program hello
  use mpi_f08
  implicit none
  integer :: rank, ranks, total

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0) print '(I0, A, I0)', ranks, ' ranks, sum ', total
  call MPI_Finalize()
end program hello
