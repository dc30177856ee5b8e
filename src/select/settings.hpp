// What the environment asks for: all OMNES_ variables, checked.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "select/choice.hpp"
#include "topology/levels.hpp"
#include "transport/shm/policy.hpp"

namespace omnes::inline select {

enum class Transport { automatic, mpi };
/// What lies in memory that the ranks of a node map: nothing; what MPI_Alloc_mem returns; buffers that come back, too; or
/// large allocations.
enum class HeapUse { off, alloc_mem, automatic, shared };
enum class Wait { automatic, spin, yield };
/// Whether ranks play others of an algorithm that lie better for it, and how blocks come to where they belong then.
enum class Remap { off, exchange, reorder, automatic };

/// A decision table or a machine file of the user's, as it stands on disk.
struct OwnFile {
  std::string name, text;
};

/// What OMNES_CHECK looks at.
enum class Check {
  off,
  calls,   ///< whether ranks make the same calls, and what they do to buffers meanwhile
  results  ///< and whether these are those of the host MPI
};

struct Settings {
  std::array<std::optional<Choice>, operation_count> forced;  ///< OMNES_<OPERATION>, by operation
  /// OMNES_I<OPERATION>: for the nonblocking and persistent forms, in front of OMNES_<OPERATION>.
  std::array<std::optional<Choice>, operation_count> forced_not_blocking;
  Check check = Check::off;  ///< OMNES_CHECK=0|1|results
  int check_timeout = 30;    ///< OMNES_CHECK_TIMEOUT: s, after which ranks that have not come are named
  bool async = false;        ///< OMNES_ASYNC=1: a thread lets nonblocking operations progress
  Transport transport = Transport::automatic;  ///< OMNES_TRANSPORT=auto|mpi
  int fake_nodes = 1;                          ///< OMNES_FAKE_NODES: pretend that one machine is so many
  LevelSet levels = all_levels;                ///< OMNES_LEVELS=numa,node,switch: use only these
  /// OMNES_TABLE: the file whose rules come first, and whose settings where the environment has none; "off": none.
  std::optional<OwnFile> table;
  std::optional<OwnFile> machine;       ///< OMNES_MACHINE: what messages cost here; "off": the default
  bool machine_is_named = false;        ///< by OMNES_MACHINE, so it must be right
  std::optional<std::string> topology;  ///< OMNES_TOPOLOGY: the file of the network; none: Slurm's, if any
  std::optional<std::string> record;    ///< OMNES_RECORD: folder for the calls that were made
  std::optional<std::string> stats;     ///< OMNES_STATS: folder for reports
  bool call_sites = false;              ///< OMNES_STATS_SITES: they say where in the program calls are made
  /// OMNES_SLOTS, OMNES_SLOT_BYTES: of a rank's queue. OMNES_SINGLE_COPY, OMNES_DIRECT_COPY: the bytes starting at
  /// which messages are read by a system call ("off": never), or in place, where they lie in a heap.
  shm::Policy shared_memory;
  HeapUse heap = HeapUse::automatic;  ///< OMNES_HEAP=off|alloc_mem|auto|shared
  bool off = false;                   ///< OMNES_OFF=1: leave everything to the host MPI
  Wait wait = Wait::automatic;        ///< OMNES_WAIT=spin|yield|auto
  Remap remap = Remap::automatic;     ///< OMNES_REMAP=off|exch|reorder|auto
  bool reproducible = false;          ///< OMNES_REPRODUCIBLE=1: the same bits for any placement and size
  /// For each variable that is ignored as there is none of its name: a line that says so, and which one may be meant.
  std::vector<std::string> ignored;

  /// Reads "NAME=value" strings, ended by a null pointer; those that do not start with OMNES_ are not ours.
  /// Throws std::invalid_argument for a wrong value: one line that names the variable and lists what is valid.
  static Settings from(const char* const* variables);
  /// Where OMNES_TABLE is not set, the table is omnes/table.toml in the user's configuration folder, if there is
  /// one; the machine is omnes/machine.toml likewise.
  static Settings from_environment();
};

/// Throws std::invalid_argument: why the file cannot be read, and what is valid.
OwnFile read_table(const std::string& name);

/// Whether there is a variable of that name, such as "OMNES_BCAST".
bool is_setting(std::string_view name);

/// A variable, and one line about it.
struct Setting {
  std::string variable, about;
};
/// All there are.
std::vector<Setting> all_settings();

/// "OMNES_BCAST" for bcast; "OMNES_IBCAST" for its forms that do not block.
std::string variable_of(Operation operation, bool blocking = true);

}  // namespace omnes::inline select
