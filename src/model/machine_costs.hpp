// What a machine costs: the measured figures that predictions rest on, and the file that holds them.
//
// Seconds and bytes throughout. docs/models.md says what each figure means and how `omnes measure` finds it. Levels are named as in
// Placement, nearest first; the last, "network", is for ranks that share none of the others.
#pragma once

#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace omnes::model {

/// Seconds as a function of bytes, in straight pieces: starting at so many bytes, alpha + beta * bytes.
struct Curve {
  struct Piece {
    double from = 0, alpha = 0, beta = 0;
    bool operator==(const Piece&) const = default;
  };
  std::vector<Piece> pieces;  ///< ascending; the first starts at 0

  double operator()(double bytes) const {
    if (pieces.empty()) return 0;
    std::size_t i = pieces.size() - 1;
    while (i > 0 && pieces[i].from > bytes) --i;
    return pieces[i].alpha + pieces[i].beta * bytes;
  }
};

inline constexpr double never = std::numeric_limits<double>::infinity();  ///< as a number of bytes

/// What a message costs between two ranks whose nearest common unit is of this level.
struct LevelCosts {
  std::string name;
  bool memory = false;  ///< messages pass through shared memory; else the host MPI carries them
  double send = 0;      ///< the sender's work for a message, whatever its size
  double recv = 0;      ///< the receiver's
  double latency = 0;   ///< from the end of that to where the receiver may begin
  double shared = 0;    ///< memory: per byte of all that the ranks of one unit of this level copy together
  double out =
      0;  ///< per byte of all that leaves one unit of this level (its network card, its uplink), in one direction

  // The host MPI's messages.
  Curve wire;                       ///< on the way, beyond latency; a rank sends one message after the other
  double exchange = 1;              ///< times as long while the other end sends to us as well
  double exchange_latency = 0;      ///< and so much later, whatever its size
  double synchronous_from = never;  ///< bytes from which the sender waits for the receiver
  Curve held;                       ///< from when the message is on its way until its sender's data may change

  // Shared memory.
  Curve copy;                  ///< the receiver's of two copies, out of the slots
  Curve copy_in;               ///< the sender's, into them; what it writes is mostly in its cache
  double fragment = 8192;      ///< bytes; the receiver follows the sender one fragment behind
  double single_from = never;  ///< bytes from which the receiver copies straight out of the sender's buffer
  Curve single;                ///< that copy, by one side alone; both share it where the sender has nothing else to do
  Curve single_publish;        ///< the same of a publish: its buffer often holds what has just come
  Curve single_reduce;         ///< the same with a reduction, all by the receiver

  /// Whether two messages, sent at these times by two ranks to each other, were on the way at once.
  bool crossed(double sent, double other) const {
    return sent < other + latency + recv && other < sent + latency + recv;
  }
  /// When the sender of a long message goes on, which was on its way from `begin` and there at `arrived`.
  double sender_free(double begin, double arrived, double bytes) const {
    return held.pieces.empty() ? arrived : begin + held(bytes);
  }
  /// Of what is copied, the share before the other side can follow.
  double first_share(double bytes) const { return bytes > fragment ? fragment / bytes : 1; }
};

struct MachineCosts {
  std::string name;
  std::string source;  ///< where the figures come from
  int ranks_per_node = 1;
  double call = 0;  ///< what an operation costs beyond its steps
  double step = 0;  ///< what a step costs beyond its work
  Curve copy;
  std::map<std::string, Curve> reduce;  ///< by "type operation", such as "f64 sum", which is always there
  std::vector<LevelCosts> levels;       ///< nearest first; the last is the network

  /// What it costs to combine, such as "f64 max"; where that was not measured, as a sum of doubles.
  const Curve& reduction(const std::string& name) const {
    const auto found = reduce.find(name);
    return found != reduce.end() ? found->second : reduce.at("f64 sum");
  }
};

/// Throws std::invalid_argument: one line that says where the file is wrong and what is valid.
MachineCosts parse_machine(std::string_view toml);

/// src/model/default.toml, compiled in: for those who have not measured.
extern const std::string_view default_machine;
/// That, read once in a process: it takes longer than renumbering an algorithm.
std::shared_ptr<const MachineCosts> known_default();

}  // namespace omnes::model
