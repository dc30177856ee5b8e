/* Included by Open MPI's ompi/op/op.h, but not installed with it: Fortran's default integer is C's int. Nothing here reduces by what needs it. */
#pragma once

#define OMPI_INT_2_FINT(number) (number)
#define OMPI_FINT_2_INT(number) (number)
