// A team: the state of one communicator on one rank. Runs collectives; keeps plans.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/port.hpp"
#include "runtime/reduction.hpp"
#include "schedule/schedule.hpp"
#include "select/select.hpp"
#include "transport/shm/endpoint.hpp"
#include "transport/shm/waiting.hpp"

namespace omnes {

/// One collective call, with bytes instead of datatypes. Data are contiguous: what is not, the caller packs.
struct Call {
  Operation operation = Operation::barrier;
  int root = 0;
  bool in_place = false;
  const void* send = nullptr;
  void* recv = nullptr;     ///< bcast: the buffer
  std::size_t count = 0;    ///< elements of one part; with unequal parts of this rank's own, where it has one
  std::size_t element = 1;  ///< bytes of an element; parts are cut between elements
  const Reduction* reduction = nullptr;
  /// Elements of each part of that buffer, for operations with unequal parts; else empty. Parts lie one behind the other.
  std::span<const std::size_t> send_counts, recv_counts;
  const Neighbors* neighbors = nullptr;  ///< for operations along a topology; outlives the team
};

struct TeamSetup {
  int p = 1;
  int rank = 0;
  /// For every rank the node it is on (any number, equal for ranks that share memory). Empty: all on one.
  std::vector<int> node;
  /// Of the ranks on this rank's node, in rank order; null: all traffic goes through the port.
  std::unique_ptr<shm::Endpoint> shm;
  MessagePort port;  ///< isend may be null when shm reaches everybody
  shm::WaitPolicy waiting;
  const Selector* selector = nullptr;  ///< must outlive the team
};

/// What ran, for statistics: one entry for each distinct (operation, bytes rounded down to a power of two, algorithm).
struct Ran {
  Operation operation;
  std::size_t bytes;      ///< of one part, rounded down to a power of two; 0 stays 0
  std::string algorithm;  ///< with parameters, as OMNES_... takes it
  std::uint64_t calls = 0;
  double seconds = 0;
};

class Team {
 public:
  explicit Team(TeamSetup setup);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int p() const;
  int rank() const;
  /// Runs the call to its end. Returns 0, the host's error code, or `truncated` when ranks disagree about a message's length.
  int run(const Call& call);
  static constexpr int truncated = -1;
  /// What the last call ran, as OMNES_<OPERATION> takes it, and why; for explaining.
  std::string last_choice() const;
  /// Counts calls and their time from now on.
  void keep_statistics();
  std::vector<Ran> statistics() const;

 private:
  int finish(int result) const;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace omnes
