// Renumbering at run time: whether the ranks of a team play other ranks of an algorithm than their own, and which.
//
// Overview. The traffic of an algorithm says which ranks should lie close together (mapping/). All ranks of a team know
// alike where they lie, so all come to the same mapping without a message: once for each algorithm, radix and root, when
// it is first needed. What that brings is kept as times per message and per byte, so that for a size it is only added
// up: what messages take on the levels that they cross, before and after, and what it costs to put things right
// (mapping/relabel.hpp).
// How. Speeds of levels are those of a machine file: latency and work for a message; for a byte the copies, or the wire
// and its share of what leaves a node. Latency counts once for messages that are sent on end, and work goes on while
// bytes are on their way. Times are averages over ranks, but what a fix-up costs is that of the worst rank seen: where
// it is close, ranks stay.
// Cost. What a dozen ranks send is counted where all do the same, what all send where not; and a schedule or two.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "mapping/relabel.hpp"
#include "mapping/structure.hpp"
#include "model/machine_costs.hpp"
#include "runtime/renumbered.hpp"
#include "select/choice.hpp"
#include "select/settings.hpp"

namespace omnes::inline runtime {

/// The schedule of problem.rank, renumbered or not.
Schedule build(const Algorithm& algorithm, const Problem& problem, const Renumbered& renumbered);

class Renumbering {
 public:
  /// Without a machine, the default one. `reproducible`: reductions keep the order of the ranks. Where ranks of a node
  /// share no memory, a message between them is as much work as one to another node.
  Renumbering(Remap wanted, bool reproducible, Placement placement,
              std::shared_ptr<const model::MachineCosts> machine = {}, bool shares_memory = true);

  /// Whether find() may say different things for different sizes of parts.
  bool depends_on_sizes() const { return wanted_ == Remap::automatic && !placement_.levels.empty(); }
  /// `part_bytes`: none where ranks do not know alike how large parts are.
  Renumbered find(const Choice& choice, Operation operation, int root, std::optional<std::size_t> part_bytes,
                  bool commutative);

 private:
  /// Seconds for a message of so many bytes, or for those of a schedule with so many bytes per block.
  struct Time {
    double latency = 0, work = 0, per_byte = 0;
    double operator()(double bytes) const { return latency + std::max(work, per_byte * bytes); }
  };
  /// What is known of one algorithm.
  struct Known {
    std::shared_ptr<const mapping::Mapping> mapping = {};  ///< none: no better one
    std::string why = {};                                  ///< there is none
    int pieces = 1;
    bool structured = false;  ///< the same for all ranks, except for their numbers
    Time before = {}, after = {};
    std::array<std::array<std::optional<Time>, 2>, 2> fixups = {};  ///< [fixup][ordered]; found when asked for
  };

  Known& known(const Algorithm& algorithm, const Problem& problem);
  Known look(const Algorithm& algorithm, const Problem& problem) const;
  Time of_fixup(const Algorithm& algorithm, const Problem& problem, int pieces, const mapping::Mapping& mapping,
                mapping::Fixup fixup, bool ordered) const;
  void prepare();

  Remap wanted_;
  bool reproducible_;
  bool shares_memory_;
  Placement placement_;
  std::shared_ptr<const model::MachineCosts> machine_;
  std::vector<Time> levels_;  // of a message, by level of the placement, and beyond; empty before prepare()
  std::map<std::tuple<const Algorithm*, int, int>, Known> known_;  // by algorithm, radix, root
};

}  // namespace omnes::inline runtime
