// Estimates for selection: what the simulation (simulate.hpp) would say, from as few of the ranks as may be looked at.
//
// Overview. A rank's steps are gone through in program order. Where it receives, the sender is gone through first, as far
// as that message; so the ranks that matter are found by themselves: in a tree those on its longest path. When as much has
// been looked at as allowed, a sender that has not is taken to be as far as its receiver, which is so where all do the same.
// How. Costs are those of the simulation, step by step, and so is what a message waits for. Left out: what waits for data
// is told from what does not by the buffer that it reads, and what leaves a node is added up only at the end.
// Cost. Building the schedules that are looked at, and O(1) for each of their steps. No function of the mathematical
// library: ranks whose processors differ come to the same bits.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/registry.hpp"
#include "model/machine_costs.hpp"
#include "schedule/placement.hpp"
#include "select/choice.hpp"

namespace omnes::model {

class Estimator {
 public:
  /// The machine and the placement must stay.
  Estimator(const MachineCosts& machine, const Placement& placement, const std::string& reduction = "f64 sum");

  /// Seconds for parts of so many bytes; `never` where one rank has too many steps to look at. `problem` is without a rank and without what the choice says. Looks at schedules
  /// as long as `work` is positive, and takes from it what each has cost, in units of about 0.05 microseconds.
  double operator()(const Choice& choice, Problem problem, double part_bytes, int& work);
  /// Whether the last estimate has looked at all ranks.
  bool complete() const { return seen_.size() == static_cast<std::size_t>(placement_.p); }

 private:
  struct Post {  ///< of a message; see Simulator
    int to = -1;
    bool single = false, taken = false;
    double first = 0, last = 0, sent = -never;
  };
  struct Rank {
    int number = 0;
    Schedule schedule = {};
    std::size_t next = 0;
    bool running = false;
    std::size_t received = 0, received_published = 0;  ///< messages
    double time = 0;                                   ///< when its processor is free
    double ready = 0;                                  ///< when what it has received so far is there
    double ended = 0;                                  ///< when the last has taken what it waits with
    double port_out = 0, port_in = 0;
    double sent = -never;           ///< when it last sent by the host MPI
    std::vector<double> left = {};  ///< bytes that have left its unit, by level
    std::vector<Post> posts = {}, published = {};
    std::size_t first_left = 0;                ///< of `posts`: all before it are taken
    std::vector<std::uint16_t> taken_of = {};  ///< publishes that it has taken, by rank
  };

  Rank& begin_at(int root);
  Rank* look_at(int rank);
  void run(Rank& rank, const Rank* until, bool published);
  void send(Rank& self, const Op& op);
  void receive(Rank& self, const Op& op);
  Post* find(Rank& sender, Rank& reader, bool published);
  Post guessed(const Rank& self, const Op& op, const LevelCosts& level, double bytes) const;
  void note_leaving(Rank& self, std::uint8_t level, double bytes, int messages);
  double busiest() const;
  const LevelCosts& level_between(int a, int b, std::uint8_t* number = nullptr) const;

  const MachineCosts& machine_;
  const Placement& placement_;
  const Curve& gamma_;
  std::vector<std::uint8_t> level_of_;
  std::optional<std::size_t> widest_memory_;  // of the placement
  std::vector<std::vector<int>> sizes_;       // [level][unit]: ranks

  // Of the estimate under way.
  const Choice* choice_ = nullptr;
  Problem problem_;
  double block_bytes_ = 0;
  int work_ = 0;
  std::vector<std::unique_ptr<Rank>> seen_;
  std::vector<Rank*> by_rank_;
};

}  // namespace omnes::model
