// What this library keeps once per process: the settings, a private communicator.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "interpose/host/host.hpp"
#include "model/machine_costs.hpp"
#include "select/select.hpp"
#include "select/settings.hpp"
#include "topology/network.hpp"

namespace omnes::interpose {

struct Process {
  Settings settings;
  std::optional<Selector> selector;
  std::optional<Network> network;                      ///< what is known of switches
  std::shared_ptr<const model::MachineCosts> machine;  ///< what the user has measured; null: nothing
  MPI_Request idle;  ///< a receive on `self` that never completes; testing it runs the host's whole progress engine
  MPI_Comm self;     ///< of this process alone; errors are returned, messages are nobody else's
  std::uint64_t fingerprint = 0;  ///< of the OMNES_ variables, table and machine, which all ranks must have alike
  bool threads = false;           ///< several may be in MPI at once
  int rank = 0;                   ///< in MPI_COMM_WORLD
  int size = 1;
};

Process& process();

/// How many operations have been started and not ended, and formations: when none has, waiting is the host's business.
extern std::atomic<int> under_way;

/// Whether OMNES_CHECK looks at each call, see check/check.hpp.
extern bool check_on;
inline bool checking() { return check_on; }
/// And compares results.
inline bool compares_results() { return check_on && process().settings.check == Check::results; }

}  // namespace omnes::interpose
