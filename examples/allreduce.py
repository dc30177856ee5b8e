"""The hello of collectives in Python, with mpi4py and numpy: all ranks learn the sum of their numbers.

  omnes run -n 4 python allreduce.py

prints

  4 ranks, sum 6.0
  the longest name has 3 letters
"""

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
mine = np.full(1000, comm.rank, dtype="d")
total = np.empty_like(mine)

# Upper case: buffers, which go straight to MPI_Allreduce.
comm.Allreduce(mine, total, op=MPI.SUM)

# Lower case: any Python object. mpi4py pickles it, and adds the collectives that this takes.
longest = comm.allreduce(len(["Ada", "Bo", "Cy", "Di"][comm.rank % 4]), op=MPI.MAX)

if comm.rank == 0:
    print(f"{comm.size} ranks, sum {total[0]}")
    print(f"the longest name has {longest} letters")
