// Found out by asking the host.
#include "interpose/communicator/members.hpp"

#include <algorithm>
#include <numeric>

#include "interpose/host/failure.hpp"
#include "interpose/process/world.hpp"

namespace omnes::interpose {

int size_of(MPI_Comm comm) {
  int inter = 0, p = 0;
  check_raised(host.Comm_test_inter(comm, &inter));
  if (!inter) check_raised(host.Comm_size(comm, &p));
  return p;
}

namespace {

/// Of a group of p ranks that `get(&group)` brings.
template <class Get>
std::vector<int> translated(const World& world, int p, Get get) {
  MPI_Group group;
  check_raised(get(&group));
  std::vector<int> ranks(p), in_world(p);
  std::iota(ranks.begin(), ranks.end(), 0);
  const int code = host.Group_translate_ranks(group, p, ranks.data(), world.group, in_world.data());
  host.Group_free(&group);
  check_raised(code);
  if (std::find(in_world.begin(), in_world.end(), MPI_UNDEFINED) != in_world.end()) in_world.clear();
  return in_world;
}

}  // namespace

std::vector<int> ranks_in(const World& world, MPI_Comm comm, int p) {
  return translated(world, p, [&](MPI_Group* group) { return host.Comm_group(comm, group); });
}

BothGroups ranks_of_both(const World& world, MPI_Comm comm) {
#ifdef OMNES_ABI_SMPI
  (void)world, (void)comm;
  return {};
#else
  int own_size = 0, remote_size = 0;
  check_raised(host.Comm_size(comm, &own_size));
  check_raised(host.Comm_remote_size(comm, &remote_size));
  std::vector<int> first = ranks_in(world, comm, own_size);
  std::vector<int> second =
      translated(world, remote_size, [&](MPI_Group* group) { return host.Comm_remote_group(comm, group); });
  if (first.empty() || second.empty()) return {};
  const bool in_first = *std::ranges::min_element(first) < *std::ranges::min_element(second);
  if (!in_first) first.swap(second);
  BothGroups both{std::move(first), 0, in_first};
  both.first_group = static_cast<int>(both.ranks.size());
  both.ranks.insert(both.ranks.end(), second.begin(), second.end());
  return both;
#endif
}

std::vector<int> ranks_in_world(MPI_Comm comm, int p) { return ranks_in(*world(), comm, p); }

bool ranks_are_threads(MPI_Comm comm) {
  int flag = 0;
  if (host.Comm_test_threadcomm) {
    check_raised(host.Comm_test_threadcomm(comm, &flag));
    return flag;
  }
  // MPICH 4.2 cannot be asked, but the group of such a communicator has its processes only.
  MPI_Group group;
  int ranks = 0, processes = 0;
  check_raised(host.Comm_size(comm, &ranks));
  check_raised(host.Comm_group(comm, &group));
  const int code = host.Group_size(group, &processes);
  host.Group_free(&group);
  check_raised(code);
  return processes < ranks;
}

}  // namespace omnes::interpose
