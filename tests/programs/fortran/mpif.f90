! Collectives called through mpif.h, which knows no interfaces.
program mpif
  implicit none
  include 'mpif.h'
  include 'integer_handles.inc'
end program mpif
