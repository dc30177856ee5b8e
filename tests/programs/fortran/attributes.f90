program attributes
  use mpi
  implicit none
  integer :: code, key, rank, i
  integer :: made
  integer(kind=MPI_ADDRESS_KIND) :: value
  logical :: has
  include 'attributes.inc'
end program attributes
