! Collectives called through the mpi module.
program use_mpi
  use mpi
  implicit none
  include 'integer_handles.inc'
end program use_mpi
