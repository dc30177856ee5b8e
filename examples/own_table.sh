#!/bin/sh
# A decision table of one's own: rules that go before those of omnes.
#
#   sh own_table.sh
#
# prints
#
#   Chosen: recursive_doubling, by table.toml, rule 1 of allreduce: max_ranks = 16, max_bytes = 4K
#   Chosen: ring, by table.toml, rule 2 of allreduce: min_bytes = 1M
#   4 ranks, sum 6
#   ...
#   ... allreduce ... 4 ... recursive_doubling ...
set -e

# For each operation a list of rules, of which the first fits whose conditions hold. What no rule fits is decided as
# without the table. `omnes tune -o table.toml` makes such a file by measurement.
cat >table.toml <<'END'
allreduce = [
  { max_ranks = 16, max_bytes = "4K", use = "recursive_doubling" },
  { min_bytes = "1M", use = "ring" },
]
END

# Which rule holds, without running anything.
omnes explain allreduce -n 4 -b 8 --table table.toml | grep Chosen
omnes explain allreduce -n 4 -b 1M --table table.toml | grep Chosen

# A job takes the table from OMNES_TABLE, else from ~/.config/omnes/table.toml.
mpicc -O2 allreduce.c -o allreduce
OMNES_TABLE=table.toml omnes run -n 4 --stats ./allreduce
