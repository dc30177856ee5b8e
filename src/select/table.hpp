// The decision table: rules per operation, of which the first that fits wins.
//
// Overview. The table is TOML: for each operation a list of rules, each with conditions and the choice to use:
// bcast = [{ one_node = true, max_bytes = "16K", use = "linear" }, { use = "knomial:k=4" }]
// Conditions, all optional: min_ranks, max_ranks, min_bytes, max_bytes (of one part), min_nodes, max_nodes, min_per_node,
// max_per_node (ranks), all inclusive; consecutive, commutative, kernel, one_node, shared_memory, shared_heap, own_cpus,
// fast_caches, machine_file. To use "model" leaves the choice to it; where it cannot say, the next rule is asked. To use "host" leaves
// blocking calls to the host MPI, if it may
// be. Each list of the compiled-in table ends with a rule that fits always, so that there is an answer to every question. A
// table of the user's has rules for what it likes; they come before the compiled-in ones.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "select/choice.hpp"

namespace omnes::inline select {

/// What a choice may depend on: only what all ranks know alike.
struct Question {
  Operation operation = Operation::barrier;
  int p = 1;
  std::size_t bytes = 0;     ///< of one part
  std::size_t elements = 0;  ///< of one part
  bool commutative = true;
  bool kernel = true;  ///< omnes itself combines, not a function of the program or the MPI
  int nodes = 1;
  bool consecutive = true;    ///< the ranks of each node are numbered consecutively
  bool shared_memory = true;  ///< the ranks of a node share it, and some node has several
  bool shared_heap = false;   ///< buffers lie in memory that a node's ranks map (OMNES_HEAP=shared)
  bool own_cpus = true;       ///< no two ranks share a CPU
  bool fast_caches = false;   ///< all ranks are on one node, whose processor has them (transport/shm/policy.hpp)
  bool machine_file = false;  ///< a machine file of the user's says what messages cost here
  bool blocking = true;       ///< else nonblocking or persistent
  bool host = false;          ///< blocking calls may be left to the host MPI: meanwhile operations under way go on
  std::shared_ptr<const Hierarchy> hierarchy = {};  ///< where the ranks lie; null: nothing is known

  /// Says where p ranks lie. node: of each, any numbers; empty: all are on one. share: the ranks of a node share memory.
  void lie_on(std::span<const std::int32_t> node, bool share);
  /// Ranks on each node, rounded up where nodes have unlike numbers.
  int per_node() const { return (p + nodes - 1) / nodes; }
  /// All ranks share memory.
  bool one_node() const { return nodes == 1 && shared_memory; }
};

struct Rule {
  Operation operation = Operation::barrier;
  std::optional<int> min_ranks = {}, max_ranks = {};
  std::optional<std::size_t> min_bytes = {}, max_bytes = {};
  std::optional<int> min_nodes = {}, max_nodes = {};
  std::optional<int> min_per_node = {}, max_per_node = {};
  std::optional<bool> consecutive = {};
  std::optional<bool> commutative = {};
  std::optional<bool> kernel = {};
  std::optional<bool> one_node = {};
  std::optional<bool> shared_memory = {};
  std::optional<bool> shared_heap = {};
  std::optional<bool> own_cpus = {};
  std::optional<bool> fast_caches = {};
  std::optional<bool> machine_file = {};
  std::string use = {};    ///< what the choice is, valid
  std::string table = {};  ///< "table": the compiled-in one; else the file's name
  int number = 0;          ///< in its list, from 1

  /// Read anew each time: of a list few are ever asked.
  Choice choice() const;
  std::string where() const;  ///< "rule 2 of bcast"
  std::string text() const;   ///< "table rule 2 of bcast: max_bytes = 16K, one_node = true"

  bool unconditional() const;
  bool fits(const Question& question) const { return fits_at_some_size(question) && sizes().contains(question.bytes); }
  /// Whatever the bytes of a part.
  bool fits_at_some_size(const Question& question) const;
  ByteRange sizes() const { return {min_bytes.value_or(0), max_bytes.value_or(SIZE_MAX)}; }
};

/// Why the choice cannot answer the question, in a few words; empty when it can.
std::string why_not(const Choice& choice, const Question& question, bool reproducible);

/// A whole table. Throws std::invalid_argument: one line that says where the table is wrong and what is valid.
std::vector<Rule> parse_table(std::string_view toml);
/// Those of the compiled-in table for one operation, read when they are first asked for: a program uses few operations.
std::span<const Rule> default_rules(Operation operation);
/// A table of the user's; `file` names it in complaints and rules. It may also have `settings`, and keep what was measured
/// for it, in a table `measured`, which drives no choice.
std::vector<Rule> parse_own_table(std::string_view toml, std::string_view file);

/// One entry of the table `settings` of a user's, not checked yet: slot_bytes = "8K".
struct TableSetting {
  std::string name, text;
  int line = 0;
};
std::vector<TableSetting> settings_of_own_table(std::string_view toml, std::string_view file);

/// src/select/default.toml, compiled in.
extern const std::string_view default_table;

}  // namespace omnes::inline select
