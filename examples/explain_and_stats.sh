#!/bin/sh
# What runs, and why: asked before, with omnes explain, and after, with --stats.
#
#   sh explain_and_stats.sh
#
# prints
#
#   Chosen: ...
#   ...
#   4 ranks, sum 6
#   ...
#   omnes ran all 4 calls
#   allreduce of 4 bytes by ...
set -e

# Before: the rule that fires on 4 ranks for 64 KiB, and what the other algorithms would cost.
omnes explain allreduce -n 4 -b 64K

# After: which algorithm ran, how often, how long; and what was left to the MPI, with the reason.
mpicc -O2 allreduce.c -o allreduce
omnes run -n 4 --stats ./allreduce

# The same for scripts.
omnes run -n 4 --stats-json stats.json ./allreduce >/dev/null
python3 - <<'END'
import json

for entry in json.load(open("stats.json"))["entries"]:
    print(f"{entry['operation']} of {entry['bytes']} bytes by {entry['algorithm']}")
END
