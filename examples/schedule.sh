#!/bin/sh
# An algorithm's schedule as text, written by hand and proved.
#
#   sh schedule.sh
#
# prints
#
#   mine.txt is proved on 3 ranks
#   wrong.txt fails at rank 1 op 1, recv[0]: ...
set -e

# A broadcast from rank 0 along a chain of three ranks. The head of each schedule: operation, ranks, this rank, root,
# radix, segments, and the blocks that each part is cut into. Then one op per line; what follows `after` has to be
# complete before. The root's `recv` holds the message from the start.
cat >mine.txt <<'END'
bcast p 3 rank 0 root 0 radix 0 segments 1 pieces 1
0 send to 1: recv[0]

bcast p 3 rank 1 root 0 radix 0 segments 1 pieces 1
0 recv from 0: recv[0]
1 send to 2: recv[0]  after 0

bcast p 3 rank 2 root 0 radix 0 segments 1 pieces 1
0 recv from 1: recv[0]
END
omnes verify --schedules mine.txt

# Without the dependency, rank 1 may pass on what it does not have yet.
sed 's/  after 0//' mine.txt >wrong.txt
omnes verify --schedules wrong.txt || true

# Those of the algorithms that there are look alike: omnes draw bcast/chain -n 3 --rank 1
