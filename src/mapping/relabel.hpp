// Relabelling: a schedule in which each rank does what another rank of the algorithm does, and which keeps the operation's contract.
//
// Overview. Real rank i plays the virtual rank v = pi(i): it takes v's schedule and renames the peers by the inverse of pi. That alone is
// right where neither the order of parts nor whose they are matters (barrier, bcast, reduce, allreduce). Elsewhere there are two ways:
//   exchange  (the paper's exch) virtual numbers stand for real ones in the buffers. First each rank sends its contribution to the rank
//             that plays it, if who contributes what matters; at the end each sends its result to the rank whose it is, if results
//             differ. Both are read off the contract. No block is moved otherwise, and ranks keep their order.
//   reorder   part j of a buffer that holds all parts is that of the real rank that plays j. A run of parts that are consecutive for real
//             ranks, too, is written straight into its final place; the others lie in temporary blocks, copied at the start (where the
//             buffer is read) or at the end (where it is written).
// Source: Kurnosov 2010 (TopoMPI), Bruck and recursive doubling of Allgather; from the contract for any algorithm here.
// Why it is correct. Locations are renamed one to one, so the ops conflict as before and their dependencies hold; the builder adds those on
// the copies and messages around them. The verifier proves every result.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "mapping/mapping.hpp"
#include "schedule/schedule.hpp"

namespace omnes::mapping {

enum class Fixup { exchange, reorder };
std::string_view name(Fixup fixup);
std::optional<Fixup> fixup_named(std::string_view name);

/// Why it cannot be done, in a few words; empty when it can. `ordered`: a reduction must combine in rank order.
std::string why_not(Operation operation, Fixup fixup, bool ordered);

/// The problem whose schedule the real rank of `problem` takes.
Problem virtual_problem(const Problem& problem, const Mapping& mapping, Fixup fixup, bool ordered = false);

/// That schedule as the real rank's. Throws std::invalid_argument with why_not's reason. With `ordered`, contributions to reductions are
/// exchanged, too, so that what combines in the order of virtual ranks combines in that of real ones.
Schedule relabelled(const Schedule& schedule, const Problem& problem, const Mapping& mapping, Fixup fixup,
                    bool ordered = false);

/// Of that schedule nothing but what puts things right, and not what it waits for: to find out what it costs. Where
/// follows_runs() says no, a schedule without ops will do.
Schedule fixup_alone(const Schedule& schedule, const Problem& problem, const Mapping& mapping, Fixup fixup,
                     bool ordered = false);
/// Whether it depends on which runs of parts the schedule moves.
bool follows_runs(Operation operation, Fixup fixup);

/// Both, for an algorithm.
Schedule build_relabelled(const Algorithm& algorithm, const Problem& problem, const Mapping& mapping, Fixup fixup,
                          bool ordered = false);

}  // namespace omnes::mapping
