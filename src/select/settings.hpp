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

namespace omnes::inline select {

enum class Transport { automatic, mpi };
/// What lies in memory that the ranks of a node map: nothing; what MPI_Alloc_mem returns; large allocations, too.
enum class HeapUse { off, alloc_mem, shared };
enum class Wait { automatic, spin, yield };
/// Whether ranks play others of an algorithm that lie better for it, and how blocks come to where they belong then.
enum class Remap { off, exchange, reorder, automatic };

/// A decision table or a machine file of the user's, as it stands on disk.
struct OwnFile {
  std::string name, text;
};

/// Whether this processor is an AMD, whose caches pass lines from core to core fast. What follows from that was measured on
/// EPYCs (Zen 4, 5) only.
extern const bool caches_are_fast;

/// Who shares a segment, and for what.
struct Sharing {
  int ranks = 2;
  bool own_cpus = true;  ///< no two of them share a CPU
  bool blocking = true;  ///< it carries blocking calls
  bool fast_caches = caches_are_fast;
};

struct Settings {
  static constexpr std::size_t never = SIZE_MAX;  ///< as a switch point

  std::array<std::optional<Choice>, operation_count> forced;  ///< OMNES_<OPERATION>, by operation
  /// OMNES_I<OPERATION>: for the nonblocking and persistent forms, in front of OMNES_<OPERATION>.
  std::array<std::optional<Choice>, operation_count> forced_not_blocking;
  bool async = false;                          ///< OMNES_ASYNC=1: a thread lets nonblocking operations progress
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
  std::optional<int> slots;             ///< OMNES_SLOTS: slots in a rank's queue; none: see slots_for()
  /// OMNES_SLOT_BYTES: bytes in a slot. Four times the source paper's: from 16 KiB on 1.25 times as fast with 4 ranks,
  /// 1.14 times with 8, 1.0 to 1.1 times with 2, on 2 cores of an AMD EPYC (Zen 3).
  std::size_t slot_bytes = 32 * 1024;
  /// OMNES_SINGLE_COPY: from so many bytes on messages are read by a system call; "off": never; none: see single_copy_from()
  std::optional<std::size_t> single_copy;
  HeapUse heap = HeapUse::alloc_mem;  ///< OMNES_HEAP=off|alloc_mem|shared
  /// OMNES_DIRECT_COPY: from so many bytes on, messages that lie there are read in place; none: see direct_copy_from()
  std::optional<std::size_t> direct_copy;
  bool off = false;                ///< OMNES_OFF=1: leave everything to the host MPI
  Wait wait = Wait::automatic;     ///< OMNES_WAIT=spin|yield|auto
  Remap remap = Remap::automatic;  ///< OMNES_REMAP=off|exch|reorder|auto
  bool reproducible = false;       ///< OMNES_REPRODUCIBLE=1: the same bits for any placement and size
  /// For each variable that is ignored as there is none of its name: a line that says so, and which one may be meant.
  std::vector<std::string> ignored;

  /// Slots of each of the ranks, within 32 MiB for all of them; but never less than 8, the source paper's. Where each has a
  /// CPU of its own, and caches are fast, many: until a slot's turn comes again its lines have left the caches of both cores,
  /// and are taken from the common one in half the time (2 ranks on an AMD EPYC, bcast of 16 KiB: 0.96 us, with 8 slots
  /// 2.5). Else two for each reader, so that a rank that sends to all may start the next call before its slowest reader has
  /// come (16 ranks on 2 cores, alltoall of 1 KiB: 138 us, with 8 slots 440); more were slower there.
  int slots_for(const Sharing& sharing) const;
  /// 96 KiB: between two cores of an Intel Xeon calls and slots are alike there. Never for up to 8 ranks with CPUs of their
  /// own on an AMD EPYC, whose caches pass lines on faster than the system copies them (2 ranks, gather of 64 KiB: 3.7 and
  /// 7.2 us, of 1 MiB: 54 and 87), but for what does not block, which a call takes without its sender.
  std::size_t single_copy_from(const Sharing& sharing) const;
  /// 16 KiB where caches are fast, else 32; where ranks share CPUs 32, as the sender waits until all readers have had their
  /// turns.
  std::size_t direct_copy_from(const Sharing& sharing) const;

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

/// "OMNES_BCAST" for bcast; "OMNES_IBCAST" for its forms that do not block.
std::string variable_of(Operation operation, bool blocking = true);

}  // namespace omnes::inline select
