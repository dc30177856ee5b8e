// The text form of a schedule: one op per line, made to be read, written by hand and compared; it round-trips.
//
//   allreduce p 4 rank 1 root 0 radix 2 segments 1 pieces 4 in place
//   temp 0..3 2
//   0 publish: recv[0..3]
//   1 send to {0 3}: recv[1]
//   2 recv from 3: temp[4]
//   3 recv_reduce from 2 published: recv[0..3] = recv[0..3] . incoming  after 0 1
//   4 copy: recv[2] = temp[4]  after 2
//   5 reduce: recv[2] = temp[4] . recv[2]  after 4
//
// `temp` gives the data block whose size each temporary block has; 5@2 is data block 5 at rank 2. Runs of blocks are
// first..last; `nothing` is the empty run. What follows `after` are the ops that must be complete before this one
// starts.
#pragma once

#include <string>
#include <string_view>

#include "schedule/schedule.hpp"

namespace omnes {

std::string to_text(Blocks blocks);
/// Kind, peers and blocks, without number and dependencies.
std::string to_text(const Schedule& schedule, const Op& op);
std::string to_text(const Schedule& schedule);

/// Throws std::invalid_argument: the line's number, what was found and what was expected.
/// from_text(to_text(s)) == s when the pools of s are in the order of the ops, as the builder leaves them.
Schedule from_text(std::string_view text);

}  // namespace omnes
