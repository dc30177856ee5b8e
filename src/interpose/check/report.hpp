// What the check tells: one line each, on the standard error output.
#pragma once

#include <string>
#include <string_view>

#include "interpose/check/check.hpp"

namespace omnes::interpose::check {

void say(const std::string& line);
/// Ranks disagree about the call of that number: says who calls what, and ends the job. One rank of the node says it; does not return.
[[noreturn]] void disagree(Watched& watched, std::uint64_t number, std::string_view about);
/// As above, for one pair: the part that `from` sends to `to`.
[[noreturn]] void disagree_about_part(Watched& watched, std::uint64_t number, int from, int to, std::uint64_t sent,
                                      std::uint64_t received);
/// What `what` is that ranks wait for: those that have not come, and what they do.
void tell_missing(Watched& watched, std::uint64_t number, const std::vector<int>& missing, double seconds);
/// "MPI_Allreduce no. 7 on MPI_COMM_WORLD"
std::string call_name(const Watched& watched, std::uint8_t function, std::uint64_t number);
/// "ranks 0-3 and 7"
std::string ranks_text(const std::vector<int>& ranks);

}  // namespace omnes::interpose::check
