// Asks the host for the ranks that have failed.
#include "interpose/progress/failures.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "interpose/process/world.hpp"

namespace omnes::interpose::failures {

namespace {

constexpr std::int64_t between_looks = 200'000;  // ns; a look takes about 1 us

OMNES_FAST_THREAD_LOCAL const State* watched;
OMNES_FAST_THREAD_LOCAL MPI_Comm watched_comm;
OMNES_FAST_THREAD_LOCAL Pace pace_of_watch;

constexpr int was_revoked = built_for == Family::ompi ? 77 : MPI_ERR_OTHER;

/// Of that world, the ranks that have failed as far as the host says.
std::vector<int> failed_ranks(const World& world) {
  MPI_Group failed;
  if (host.Comm_get_failed(world.comm, &failed) != MPI_SUCCESS) return {};
  int count = 0;
  if (host.Group_size(failed, &count) != MPI_SUCCESS) count = 0;
  std::vector<int> numbers(count), ranks(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  if (count > 0 && host.Group_translate_ranks(failed, count, numbers.data(), world.group, ranks.data()) != MPI_SUCCESS)
    ranks.clear();
  host.Group_free(&failed);
  return ranks;
}

bool revoked(MPI_Comm comm) {
  int flag = 0;
  return host.Comm_is_revoked(comm, &flag) == MPI_SUCCESS && flag;
}

bool has_failed_member(const State& state) {
  const std::vector<int> failed = failed_ranks(*state.world);
  return std::ranges::any_of(failed,
                             [&](int rank) { return std::ranges::find(state.ranks, rank) != state.ranks.end(); });
}

}  // namespace

bool are_survived() { return host.Comm_get_failed && host.survives_failures && *host.survives_failures; }

bool are_known() { return are_survived() && !failed_ranks(*world()).empty(); }

int code_for(const State& state, MPI_Comm comm) {
  if (!may_be_revoked.load(std::memory_order_relaxed)) [[likely]]
    return 0;
  if (!state.detached && revoked(comm)) return was_revoked;
  return are_survived() && has_failed_member(state) ? proc_failed : 0;
}

bool Pace::is_time() {
  const std::int64_t now = monotonic_ns();
  if (now < next_) return false;
  next_ = now + between_looks;
  return true;
}

void Watch::begin(const State& state, MPI_Comm comm) {
  begun_ = true;
  state_before_ = std::exchange(watched, &state);
  comm_before_ = std::exchange(watched_comm, comm);
}

void Watch::end() {
  watched = state_before_;
  watched_comm = comm_before_;
}

void look_for_watched() {
  if (!watched || !pace_of_watch.is_time()) [[likely]]
    return;
  if (const int code = code_for(*watched, watched_comm)) throw Failure{code};
}

}  // namespace omnes::interpose::failures
