// Requests that are under way or wait for their next start, and all the ways to complete them.
#pragma once

#include <algorithm>
#include <deque>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "calls.hpp"

namespace random_programs {

struct Outstanding {
  MPI_Request request = MPI_REQUEST_NULL;
  bool persistent = false, active = true;
  std::shared_ptr<bool> freed;  ///< whether the communicator is: then there are no more starts
  std::shared_ptr<Call> call;
  std::string step;         ///< that made it
  bool of_session = false;  ///< see Communicator
  /// Its result is there.
  void over() {
    active = false;
    const std::string now = where.step;
    where.step = step + ", found in step " + now;
    if (call) call->check();
    where.step = now;
  }
};

/// Completes these, all of one session or of the world, by a way that need not be that of other ranks.
inline void complete_alike(std::vector<Outstanding*> which, Draw draw) {
  const int n = static_cast<int>(which.size());
  if (n == 0) return;
  std::vector<MPI_Request> requests;
  for (const Outstanding* one : which) requests.push_back(one->request);
  std::vector<int> indices(n);
  std::vector<MPI_Status> statuses(n);
  int done = 0, index = 0, count = 0;
  int way = draw.below(9);
#ifdef MPICH
  // Left out: with a persistent collective among others MPICH's own MPI_Testall reports errors, or forgets to take what is
  // complete for inactive (4.0.2, seed 1795590239 of 3 ranks with --single).
  const bool persistent = std::ranges::any_of(which, [](const Outstanding* one) { return one->persistent; });
  if (persistent && (way == 3 || way == 8)) way = 2;
#endif
  switch (way) {
    case 0:
      for (int i = n; i-- > 0;) must(MPI_Wait(&requests[i], MPI_STATUS_IGNORE), "MPI_Wait");
      break;
    case 1:
      for (int i = 0; i < n; i += done) must(MPI_Test(&requests[i], &done, &statuses[i]), "MPI_Test");
      break;
    case 2: must(MPI_Waitall(n, requests.data(), MPI_STATUSES_IGNORE), "MPI_Waitall"); break;
    case 3:
      while (!done) must(MPI_Testall(n, requests.data(), &done, statuses.data()), "MPI_Testall");
      break;
    case 4:
      for (int i = 0; i < n; ++i) {
        must(MPI_Waitany(n, requests.data(), &index, &statuses[0]), "MPI_Waitany");
        if (index == MPI_UNDEFINED) fail("MPI_Waitany finds %d of %d requests", i, n);
      }
      break;
    case 5:
      for (int left = n; left > 0; left -= done && index != MPI_UNDEFINED)
        must(MPI_Testany(n, requests.data(), &index, &done, MPI_STATUS_IGNORE), "MPI_Testany");
      break;
    case 6:
      for (int left = n; left > 0; left -= count)
        must(MPI_Waitsome(n, requests.data(), &count, indices.data(), statuses.data()), "MPI_Waitsome");
      break;
    case 7:
      for (int left = n; left > 0; left -= count)
        must(MPI_Testsome(n, requests.data(), &count, indices.data(), MPI_STATUSES_IGNORE), "MPI_Testsome");
      break;
    default:
      for (int i = 0; i < n; i += done)
        must(MPI_Request_get_status(requests[i], &done, MPI_STATUS_IGNORE), "MPI_Request_get_status");
      must(MPI_Testall(n, requests.data(), &done, MPI_STATUSES_IGNORE), "MPI_Testall");
      if (!done) fail("MPI_Request_get_status says that all are done, MPI_Testall does not");
  }
  for (int i = 0; i < n; ++i) {
    if (!which[i]->persistent && requests[i] != MPI_REQUEST_NULL) fail("a completed request is not MPI_REQUEST_NULL");
    which[i]->request = requests[i];
    which[i]->over();
  }
}

/// Completes any. What is of a session and what is not shall not be in one call (MPI 4.1, 11.3), and Open MPI 5 says so.
inline void complete(const std::vector<Outstanding*>& which, Draw draw) {
  for (const bool of_session : {false, true}) {
    std::vector<Outstanding*> alike;
    std::ranges::copy_if(which, std::back_inserter(alike),
                         [&](const Outstanding* one) { return one->of_session == of_session; });
    complete_alike(std::move(alike), draw);
  }
}

}  // namespace random_programs
