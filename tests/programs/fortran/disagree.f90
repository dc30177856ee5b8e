! The ranks broadcast from different roots: OMNES_CHECK names the line.
program disagree
  implicit none
  include 'mpif.h'
  integer :: error, rank, numbers(4)
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  numbers = rank
  call MPI_Bcast(numbers, 4, MPI_INTEGER, rank, MPI_COMM_WORLD, error)
  call MPI_Finalize(error)
end program
