// OMNES_CHECK=results: the host MPI makes each call, too, on copies, and its results are compared with those of omnes.
//
// How: the host's nonblocking operation starts before ours and is waited for after it. All ranks make the same calls in the same order, so
// these match. What is only moved is packed, and the host moves bytes; what is combined is copied element by element.
// What counts as equal: bit by bit all that is moved, and reductions of integers, of bits, of truth values, maxima and minima. Any order of a sum of p
// numbers is within (p - 1) u S of the true one, with u the unit roundoff and S the sum of absolute values (Higham, Accuracy and Stability of
// Numerical Algorithms, 4.2), so two differ by at most twice that; the host sums the absolute values, too. Products likewise, relative to themselves. Of the program's
// own operations on numbers with a fraction nothing is known: relative differences of up to the root of the precision pass.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "interpose/check/call.hpp"

namespace omnes::interpose::check {

struct Twin {
  Twin(State& state, MPI_Comm comm, const Call& call);
  ~Twin();
  Twin(const Twin&) = delete;
  Twin& operator=(const Twin&) = delete;
  /// Starts it. Null: the call's arguments are wrong, or ask for more than an int can count.
  static std::shared_ptr<Twin> start(State& state, MPI_Comm comm, Operation operation, const Call& call);
  /// Waits for the host; several threads may. Copies go with it.
  void finish();
  /// Once finished, and ours is: what differs; empty: nothing.
  std::string difference() const;

  /// For v-operations: bytes of each part, and before it.
  struct Row {
    std::vector<std::byte> data;
    std::vector<int> bytes, starts;
    void add(std::size_t more);
    std::byte* first() { return data.data(); }
  };

  std::shared_ptr<State> state;
  MPI_Comm comm;
  Call call;
  std::vector<MPI_Datatype> held;
  bool works = false;  ///< the host has taken the call
  Row send, recv;
  std::vector<int> counts;  ///< of a reduce_scatter: the host may read them until the end
  Row magnitudes, sums;     ///< of the numbers that are summed
  MPI_Request requests[2];
  std::mutex finishing;
};

}  // namespace omnes::interpose::check
