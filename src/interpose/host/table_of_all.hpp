// What every rank of a communicator has to say, in a simulation: all ranks are one process, so that one table serves
// them all. Exchanging it by messages would take memory for p * p entries.
#pragma once

#include <memory>
#include <vector>

#include "interpose/host/host.hpp"

namespace omnes::interpose {

/// Collective. Every rank keeps a share in the table that rank 0 has made.
template <class Entry>
std::shared_ptr<std::vector<Entry>> table_of_all(const Entry& mine, int rank, int size, MPI_Comm comm) {
  std::shared_ptr<std::vector<Entry>> made;
  if (rank == 0) made = std::make_shared<std::vector<Entry>>(size);
  std::shared_ptr<std::vector<Entry>>* at_rank_0 = &made;
  host.Bcast(&at_rank_0, sizeof at_rank_0, handles.byte, 0, comm);
  const std::shared_ptr<std::vector<Entry>> table = *at_rank_0;
  (*table)[rank] = mine;
  host.Barrier(comm);  // all have come, so that rank 0 may leave
  return table;
}

}  // namespace omnes::interpose
