// What a rank says of itself so that all can tell who shares what: for each level, the unit on which it lies.
//
// Ranks exchange these records once and make every Placement from them; a record needs no other rank and no file of
// another node. Fixed size, plain data.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "topology/levels.hpp"
#include "topology/machine.hpp"
#include "topology/network.hpp"

namespace omnes::inline topology {

/// By level. Equal numbers mean the same unit, on whichever rank they stand.
struct Whereabouts {
  static constexpr std::uint64_t none = 0;      ///< there is no such level here
  static constexpr std::uint64_t several = 1;   ///< the rank may run on several units: not bound to one
  static constexpr std::uint64_t unlisted = 2;  ///< the network's file does not name the node
  static constexpr std::uint64_t first_unit = 16;

  std::array<std::uint64_t, level_count> unit{};
  bool operator==(const Whereabouts&) const = default;
};
static_assert(std::is_trivially_copyable_v<Whereabouts> && sizeof(Whereabouts) == 8 * level_count);

/// The units of a node on which a process lies that may run on some CPUs, from core to socket: each named by its lowest
/// CPU, or one of these.
using InnerUnits = std::array<int, inner_levels>;
inline constexpr int no_unit = -1, several_units = -2;

/// Of a machine that is described. CPUs are ascending, and there is at least one.
InnerUnits inner_units(const Machine& machine, const std::vector<int>& cpus);
/// Of this machine, from Linux: one small file for each level, of the lowest of the CPUs.
InnerUnits inner_units(const std::vector<int>& cpus, const std::string& system = "/sys/devices/system");

/// The CPUs on which this process may run, ascending.
std::vector<int> own_cpus();

/// The CPUs, ascending, that share a CPU's L3 cache, or where Linux tells of none its memory; none where it tells nothing.
std::vector<int> near_cpus(int cpu, const std::string& system = "/sys/devices/system");

/// Of a rank on the named host. Null network: nothing is known of switches. Ranks with different `memory` on one host, which
/// cannot share it, count as ranks on different nodes.
Whereabouts whereabouts(const std::string& host, const InnerUnits& inner, const Network* network,
                        std::uint64_t memory = 0);
/// Of this process, which says by what name its host goes.
Whereabouts own_whereabouts(const std::string& host, const Network* network, std::uint64_t memory = 0);

}  // namespace omnes::inline topology
