// How the ranks know in MPI_Finalize that nothing more can come of what is under way, as some of them have never begun it.
//
// In rounds of the host each says whether anything has moved there since the round before. Why it is right: nobody begins anything
// now, and what has moved before a round everyone sees after it; so once nothing has moved anywhere from one round to the next,
// nothing ever will. But a message of the host may be late: where ranks wait for such, nothing moves for long.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "interpose/host/host.hpp"

namespace omnes::interpose::engine {

/// What is left to do on this rank.
struct Left {
  bool something = false;
  bool others_may_be_late = false;  ///< it may wait for messages of the host, or for ranks of other jobs
  struct Moved {
    unsigned times = 0;
    std::size_t bytes = 0;
    bool operator==(const Moved&) const = default;
  } moved{};  ///< so far
};

class Parting {
 public:
  /// To be asked again and again, by all ranks of MPI_COMM_WORLD, while what is left goes on. Returns whether nothing more can come, on
  /// all alike. Throws Failure.
  bool is_over(const Left& left);

 private:
  bool is_still(const Left& left);

  bool asking_ = false;
  MPI_Request request_{};
  int own_ = 0, of_all_ = 0;           // whether nothing has moved: the least one counts
  std::optional<Left::Moved> told_{};  // in the last round
  Left::Moved seen_{};                 // at the last look
  int looks_ = 0;                      // in vain, since the last round
  std::int64_t since_ = 0;             // ns: when something moved
};

}  // namespace omnes::interpose::engine
