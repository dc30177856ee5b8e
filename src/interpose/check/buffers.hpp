// The memory of calls: what they read must not change meanwhile, and what they write must be nobody else's.
//
// Of data with gaps, and in a device's memory, nothing is known here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "interpose/check/check.hpp"
#include "interpose/check/results.hpp"

namespace omnes::interpose::check {

struct Interval {
  std::uintptr_t from, to;
};

struct Buffers {
  std::vector<Interval> sent, received;  ///< in the order of addresses
  std::uint8_t function = 0;
  std::uint64_t number = 0, site = 0;
  std::shared_ptr<Watched> watched;
  std::shared_ptr<Twin> twin;  ///< where results are compared
  std::string algorithm;

  // While it is under way:
  bool active = false, persistent = false;
  std::uint64_t checksum = 0;
  std::uint64_t waiting = 0;
  std::uint64_t starts = 0;             ///< persistent
  std::shared_ptr<Watched> its_starts;  ///< persistent: where these are counted
};

/// Whether it is worth a closer look, which takes longer.
bool may_overlap(const Call& call);
/// Where the data lie that must not overlap, if they are in a row. False: they are not.
bool reach(Reach& sent, Reach& received, const Call& call, const void* send, const void* recv);
/// Where the call's data lie.
void find_buffers(Buffers& buffers, const Call& call);
/// Says where they overlap, with each other or with those of operations under way.
void check_overlaps(const Buffers& buffers);

/// It is under way from now on, until the program completes that request.
void keep_buffers(std::shared_ptr<Buffers> buffers, MPI_Request request, bool persistent);
/// None: it is not one of those.
std::shared_ptr<Buffers> kept_buffers(MPI_Request request);
void forget_buffers(MPI_Request request);
/// For a call that may complete the request, after which another thread may have another one with its handle. Those of
/// persistent operations stay where they are, too.
std::shared_ptr<Buffers> take_buffers(MPI_Request request);
/// It has not completed it.
void return_buffers(std::shared_ptr<Buffers> buffers, MPI_Request request);
/// Its data are in use, and are in use no more: says if they have changed.
void activate(Buffers& buffers);
void complete(Buffers& buffers);
/// The operation has ended, or may have, with an error: nothing is compared.
void abandon(Buffers& buffers);
/// Waits for the host's result. `ours`: omnes has one, too: says if they differ.
void compare_result(Buffers& buffers, bool ours);
/// One that nobody waits for now; and in the end.
void leave_twin(std::shared_ptr<Twin> twin);
void finish_twins();
/// Those of a communicator. Other threads go on meanwhile.
void finish_twins_of(MPI_Comm comm);

}  // namespace omnes::interpose::check
