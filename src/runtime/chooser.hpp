// What runs for a call, and why: asks the selector, and makes the plan.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/plan_cache.hpp"
#include "runtime/renumbering.hpp"
#include "schedule/placement.hpp"
#include "select/select.hpp"
#include "transport/shm/waiting.hpp"

namespace omnes::model {
struct MachineCosts;
class Advisor;
}  // namespace omnes::model

namespace omnes::inline runtime {

struct TeamSetup {
  int p = 1;
  int rank = 0;
  /// For every rank the node it is on (any number, equal for ranks that share memory). Empty: all on one.
  std::vector<int> node;
  int first_group = 0;  ///< see Problem; a barrier is one of all ranks
  /// Where the ranks lie, for hierarchical algorithms and renumbering; equal on all ranks. Not given: what `node` says.
  std::optional<Placement> placement = {};
  bool shares_memory = true;  ///< the ranks of a node reach each other through shared memory
  shm::WaitPolicy waiting;
  bool own_cpus = true;                ///< none of them shares a CPU with another rank
  bool fast_caches = false;            ///< all of them have processors with such (transport/shm/policy.hpp)
  bool host = false;                   ///< there is a host to which blocking calls may be left
  const Selector* selector = nullptr;  ///< must outlive the team
  /// For choices that are left to the model, and for renumbering; equal on all ranks. Null: the default.
  std::shared_ptr<const model::MachineCosts> machine = {};
};

class Chooser {
 public:
  explicit Chooser(TeamSetup setup);
  ~Chooser();
  /// `sizes`: bytes of a part for which the same holds.
  std::shared_ptr<Prepared> make(const Call& call, const Key& key, ByteRange& sizes);
  /// From now on; none: what the selector says.
  void force(Operation operation, std::optional<Choice> choice);
  int p() const { return setup_.p; }
  int rank() const { return setup_.rank; }
  int nodes() const { return asked_.nodes; }

 private:
  Plan plan_of(const Call& call, const Choice& choice, const Renumbered& renumbered, Combining combining,
               ByteRange& sizes) const;
  Answer choose_between(const Question& question) const;
  Renumbered renumber(const Choice& choice, const Call& call, const Key& key, ByteRange& sizes);
  Advice advise(const Question& question);
  std::string reason(const Renumbered& renumbered) const;

  TeamSetup setup_;
  Reach reach_;
  Question asked_;                           // what is the same for all calls: where the ranks lie
  std::optional<Renumbering> renumbering_;   // none where nothing is known of that
  std::unique_ptr<model::Advisor> advisor_;  // made when first asked
  std::array<std::optional<Choice>, operation_count> forced_;
};

}  // namespace omnes::inline runtime
