// Predictions: how long an algorithm takes on a machine, for any number of ranks.
//
// How: where all schedules can be built and simulated quickly, that is done. Where not, symmetry is looked for, so that a few ranks stand for all. Where
// there is none either, runs of a half, a quarter and an eighth of the ranks (or less) are simulated and continued: what grows with p, with log p, and
// what stays. The answer says which.
#pragma once

#include <memory>

#include "algorithms/registry.hpp"
#include "model/simulate.hpp"
#include "select/choice.hpp"

namespace omnes::model {

/// What the operations of a communicator, or of one question to `omnes predict`, have in common.
struct Setting {
  const MachineCosts* machine = nullptr;
  const Placement* placement = nullptr;
  std::string reduction = "f64 sum";
};

enum class Method { all_ranks, classes, continued };
std::string_view name(Method method);

struct Prediction {
  double seconds = 0;
  Split path;
  Method method = Method::all_ranks;
  int simulated = 0;                  ///< ranks
  std::vector<double> rank_finished;  ///< of each simulated rank; none where continued
};

/// Predicts one algorithm with its parameters for several message sizes: schedules are built once for all sizes with as many segments.
class Predictor {
 public:
  /// Throws std::invalid_argument where the algorithm cannot do it, and for operations among neighbors.
  Predictor(const Setting& setting, const Choice& choice, int p, int root = 0);
  Prediction operator()(std::size_t part_bytes);

 private:
  void prepare(int segments);
  Prediction continued(std::size_t part_bytes);

  Setting setting_;
  Choice choice_;
  Problem problem_;
  int natural_pieces_ = 1;  // that the algorithm cuts a part into without segments
  int prepared_segments_ = 0;
  Method method_ = Method::all_ranks;
  Tape tape_;
  Simulator simulator_;
};

/// For selection: the time of one algorithm, for a problem whose rank does not matter.
double predicted_seconds(const Algorithm& algorithm, const Problem& problem, const MachineCosts& machine,
                         const Placement& placement, std::size_t part_bytes);

/// All ranks in order on nodes of so many each: levels "node".
Placement blocks_of(int p, int ranks_per_node);
/// The same nodes, to which ranks are dealt in turns.
Placement dealt_to(int p, int ranks_per_node);

}  // namespace omnes::model
