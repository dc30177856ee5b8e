// One question, answered whole: how should these ranks be renumbered for this algorithm, or for this traffic, and what does it bring?
#pragma once

#include <map>
#include <optional>
#include <string_view>

#include "mapping/mapping.hpp"
#include "mapping/relabel.hpp"

namespace omnes::mapping {

/// automatic: the structure where there is one, else the graph; in small groups the cheaper of both. Nothing where ranks lie well already.
enum class Method { automatic, structure, general };

struct Question {
  const Algorithm* algorithm = nullptr;  ///< with `problem`, whose rank does not matter; or else `recorded`
  Problem problem;
  const Traffic* recorded = nullptr;
  const Placement* placement = nullptr;
  std::vector<double> bandwidths;  ///< as cost_of() takes them
  Method method = Method::automatic;
  Partitioner partitioner = partition;
};

struct Answer {
  Mapping mapping;
  std::string_view method;  ///< "structure", "general"; "none": every rank plays itself, as nothing was cheaper
  Symmetry symmetry = Symmetry::none;
  int rows_seen = 0;  ///< ranks whose schedules were looked at; the others were taken to be alike
  Cost before, after;
  int pieces = 1;  ///< blocks per part: the unit of amounts where they come from an algorithm
  double traffic_s = 0, mapping_s = 0, cost_s = 0;  ///< seconds that each step took
  std::optional<Traffic> traffic;                   ///< where it was needed
};

/// Throws std::invalid_argument where the structure is asked for and there is none, or the algorithm does not serve the problem.
Answer choose(const Question& question);

/// What a fix-up costs in all: the time of all messages with those of its own, and of the blocks that it copies at the nearest level's speed.
struct FixupCost {
  double time = 0;
  std::int64_t copied = 0;  ///< blocks, of all ranks, beyond those that the algorithm copies by itself
};
FixupCost fixup_cost(const Question& question, const Mapping& mapping, Fixup fixup);

}  // namespace omnes::mapping
