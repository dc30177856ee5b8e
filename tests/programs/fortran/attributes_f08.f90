program attributes
  use mpi_f08
  implicit none
  integer :: code, key, rank, i
  type(MPI_Comm) :: made
  integer(kind=MPI_ADDRESS_KIND) :: value
  logical :: has
  include 'attributes.inc'
end program attributes
