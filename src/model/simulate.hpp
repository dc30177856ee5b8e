// How long a recorded collective takes on a machine: a discrete-event simulation over all steps, and what its critical path consists of.
//
// Overview: a step becomes due when the steps before it are complete and, for a receive, its message is there. Due steps are taken in the order of
// time; each occupies its rank's processor (copies, reductions, the work for a message), and the host MPI's messages also their sender's and
// receiver's ports and what they share with others: a node's network card, uplinks. Nothing is random: the same input gives the same output.
// * The host MPI's messages (LogGP: Culler et al. 1993, Alexandrov et al. 1995): o on both sides, latency, time on the wire; long ones wait for their
//   receiver first.
// * Shared memory: the sender copies in, the receivers copy out one fragment behind; a publish is copied in once. Long messages are copied once, by
//   the receiver, and by both sides where the sender is idle.
// Cost: O(steps * log(steps due at once)); no allocation per step, and none at all in a further run of tapes no longer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/tape.hpp"

namespace omnes::model {

/// Where the time on a path goes, in seconds. `bandwidth`: on wires, and waiting for them; `overhead`: the work for messages and calls.
struct Split {
  double latency = 0, bandwidth = 0, overhead = 0, reduction = 0, copy = 0;
  double total() const { return latency + bandwidth + overhead + reduction + copy; }
};

struct Outcome {
  double seconds = 0;
  Split path;  ///< of the path that determines `seconds`; adds up to it
};

class Simulator {
 public:
  /// The machine must stay. `reduction`: which of its curves, such as "f64 sum"; one that it lacks is taken to be "f64 sum".
  explicit Simulator(const MachineCosts& machine, const std::string& reduction = "f64 sum");

  /// Of parts of so many bytes.
  Outcome run(const Tape& tape, double part_bytes);
  /// Seconds after which each simulated rank was done in the last run.
  const std::vector<double>& finished() const { return finished_; }

 private:
  struct State {
    double due = 0;   ///< when the latest of what it waits for has come
    double from = 0;  ///< when the path entered it from `cause`
    double done = 0;
    std::uint32_t cause = nothing;
    std::uint32_t waits = 0;  ///< before it is due; of a send whose messages are not taken yet: readers
  };
  struct Post {           ///< of a message
    double first = 0;     ///< when its first fragment can be read
    double last = 0;      ///< and its last; of the host MPI's: when it was sent
    bool single = false;  ///< its sender waits until it has been taken
  };
  struct Event {
    double time;
    std::uint32_t step;
    bool operator<(const Event& other) const {  // the heap has the earliest on top
      return time != other.time ? time > other.time : step > other.step;
    }
  };

  void take(std::uint32_t step);
  void send(std::uint32_t step);
  double publish_far(std::uint32_t step, double time, double bytes, double& held);
  void receive(std::uint32_t step);
  double claim(std::uint32_t step);
  double occupy(std::uint32_t step, double until);
  struct Way {
    double begin, end;
  };
  Way cross(int from, int to, int level, double begin, double bytes);
  double copied_together(int rank, const LevelCosts* level, double done, double begin, double bytes);
  std::uint32_t near_takers(const TapeMessage& message) const;
  void hand_over(const TapeMessage& message, std::uint32_t sender, double time, double path, bool near);
  void release(std::uint32_t step, double time, std::uint32_t cause, double from);
  void complete(std::uint32_t step, double time);
  void ease(std::uint32_t reader, double time);
  void split(const TapeStep& step, bool by_message, double seconds, Split& path) const;
  double bytes_of(const TapeStep& step) const { return step.blocks * block_bytes_; }

  const MachineCosts& machine_;
  const Curve& gamma_;
  const Tape* tape_ = nullptr;
  double block_bytes_ = 0;
  std::vector<State> states_;
  std::vector<Post> posts_;
  std::vector<Event> heap_;
  std::vector<double> finished_;
  std::vector<double> idle_from_;         // of each rank's processor
  std::vector<std::uint32_t> last_step_;  // that occupied it
  std::vector<double> port_out_, port_in_;
  std::vector<double> sent_;                            // when each rank last sent by the host MPI
  std::vector<std::vector<double>> out_, in_, memory_;  // [placement level][unit]: when what its ranks share is free
};

}  // namespace omnes::model
