"""omnes: the collective operations of unmodified MPI programs, made fast on any MPI, and explained."""
