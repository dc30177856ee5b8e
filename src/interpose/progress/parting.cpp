// The rounds.
#include "interpose/progress/parting.hpp"

#include <utility>

#include "base/clock.hpp"
#include "interpose/host/failure.hpp"
#include "interpose/host/inside.hpp"
#include "interpose/process/world.hpp"

namespace omnes::interpose::engine {

namespace {

// Transports change their way after some hundred looks in vain.
constexpr int max_looks = 1024;
constexpr std::int64_t longest_delay = 10'000'000'000;  // ns

}  // namespace

bool Parting::is_still(const Left& left) {
  const std::int64_t now = monotonic_ns();
  if (std::exchange(seen_, left.moved) != left.moved || since_ == 0) {
    since_ = now;
    looks_ = 0;
  }
  return ++looks_ > max_looks && (!left.others_may_be_late || now - since_ > longest_delay);
}

bool Parting::is_over(const Left& left) {
  if (asking_) {
    int flag = 0;
    check_own(host.Test(&request_, &flag, MPI_STATUS_IGNORE));
    if (!flag) return false;
    if (of_all_) return true;
    asking_ = false;
    looks_ = 0;
  }
  if (told_ && left.something && !is_still(left)) return false;
  own_ = told_ ? *told_ == left.moved : !left.something;
  told_ = left.moved;
  const InsideHost guard;
  check_own(host.Iallreduce(&own_, &of_all_, 1, handles.integer, handles.min, world()->comm, &request_));
  asking_ = true;
  return false;
}

}  // namespace omnes::interpose::engine
