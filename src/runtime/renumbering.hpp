// Renumbering at run time: whether the ranks of a team play other ranks of an algorithm than their own, and which.
//
// Overview. The traffic of an algorithm says which ranks should lie close together (mapping/). All ranks of a team know alike where they lie, so all
// come to the same mapping without a message: once for each algorithm, radix and root, when it is first needed. What that brings is kept as a time per
// message and one per byte, so that for a size it is only added up: what messages take on the levels that they cross, before and after, and what it
// costs to put things right (mapping/relabel.hpp).
// How. Speeds of levels are those of a machine file: latency and work for a message; for a byte the copies, or the wire and its share of what leaves
// a node. Times are averages over ranks, but what a fix-up costs is that of the worst rank seen: where it is close, ranks stay.
// Cost. A dozen schedules without dependencies where all ranks do the same, all schedules where not, and a few whole ones.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "mapping/relabel.hpp"
#include "mapping/structure.hpp"
#include "model/machine.hpp"
#include "select/choice.hpp"
#include "select/settings.hpp"

namespace omnes {

/// How the schedules of one operation are renumbered.
struct Renumbered {
  std::shared_ptr<const mapping::Mapping> mapping = {};  ///< none: every rank plays itself
  mapping::Fixup fixup = mapping::Fixup::reorder;
  bool ordered = false;      ///< a reduction must combine in the order of the real ranks
  double gain = 1;           ///< predicted, of the time of messages
  std::string why = {};      ///< the gain, or why ranks play themselves
  std::string text() const;  ///< " remap=reorder" behind an algorithm's name; empty where ranks play themselves
};

/// The schedule of problem.rank, renumbered or not.
Schedule build(const Algorithm& algorithm, const Problem& problem, const Renumbered& renumbered);

class Renumbering {
 public:
  /// Without a machine, the default one. `reproducible`: reductions keep the order of the ranks.
  Renumbering(Remap wanted, bool reproducible, Placement placement, std::optional<model::Machine> machine = {});

  /// `part_bytes`: none where ranks do not know alike how large parts are.
  Renumbered find(const Choice& choice, Operation operation, int root, std::optional<std::size_t> part_bytes,
                  bool commutative);

 private:
  /// Seconds for a message of so many bytes, or of so many bytes per block of a schedule.
  struct Time {
    double fixed = 0, per_byte = 0;
    double operator()(double bytes) const { return fixed + per_byte * bytes; }
  };
  /// What is known of one algorithm.
  struct Known {
    std::shared_ptr<const mapping::Mapping> mapping = {};  ///< none: no better one
    std::string why = {};                                  ///< there is none
    int pieces = 1;
    bool structured = false;  ///< the same for all ranks, but for their numbers
    Time before = {}, after = {};
    std::array<std::array<std::optional<Time>, 2>, 2> fixups = {};  ///< [fixup][ordered]; found when asked for
  };

  Known& known(const Algorithm& algorithm, const Problem& problem);
  Known look(const Algorithm& algorithm, const Problem& problem) const;
  Time of_traffic(const std::vector<std::int64_t>& blocks, const std::vector<std::int64_t>& messages) const;
  Time of_fixup(const Algorithm& algorithm, const Problem& problem, const mapping::Mapping& mapping,
                mapping::Fixup fixup, bool ordered) const;
  void prepare();

  Remap wanted_;
  bool reproducible_;
  Placement placement_;
  std::optional<model::Machine> machine_;
  std::vector<Time> levels_;        // of a message, by level of the placement, and beyond; empty before prepare()
  std::vector<double> bandwidths_;  // of the same
  std::map<std::tuple<const Algorithm*, int, int>, Known> known_;  // by algorithm, radix, root
};

}  // namespace omnes
