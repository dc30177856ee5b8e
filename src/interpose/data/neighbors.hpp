// The edges of a communicator's topology, as schedules want them.
#pragma once

#include <memory>
#include <vector>

#include "interpose/host/host.hpp"
#include "schedule/schedule.hpp"

namespace omnes::interpose {

/// MPI counts a Cartesian topology's open borders as neighbors, to which nothing is sent: they have places in the program's buffers, but are no
/// edges. So each edge has a place.
struct Edges {
  Neighbors neighbors;
  int sources = 0, destinations = 0;  ///< places
  std::vector<int> source_places, destination_places;
};

/// Null when the communicator has no topology. Throws Failure.
std::unique_ptr<Edges> edges_of(MPI_Comm comm, int rank);

}  // namespace omnes::interpose
