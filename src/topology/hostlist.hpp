// Lists of names as Slurm writes them: node[01-16,20],login -> node01 ... node16, node20, login.
//
// ClusterShell's NodeSet is the well-kept parser of these, but it is Python, and the libraries that programs load have to
// read the same files. This is the part of its language that files for Slurm use; the tests compare both.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace omnes::inline topology {

/// The names in the order of the list. Several brackets in one name multiply, the last the fastest; leading zeros of a
/// range's first number stay. Throws std::invalid_argument: what was wrong and where in the list.
std::vector<std::string> expand_hostlist(std::string_view list);

/// "0-3,8" -> {0, 1, 2, 3, 8}, ascending: CPUs as Linux lists them. Throws std::invalid_argument.
std::vector<int> parse_cpus(std::string_view list);

}  // namespace omnes::inline topology
