// A thread that looks for ranks that do not come.
#pragma once

#include <mutex>

#include "interpose/check/check.hpp"

namespace omnes::interpose::check {

/// A call in which this rank waits, or will: until it is done with.
struct Waiting {
  std::shared_ptr<Watched> watched;
  std::uint64_t number = 0;
  std::int64_t since = 0;  ///< ns
};

void start_watching();
void stop_watching();
/// In a blocking call, or not any more. Cheap.
void wait_in(Watched* watched, std::uint64_t number);
/// Where this thread is in a blocking call; null: it is not.
Watched* waited_in();
/// A nonblocking or persistent operation is under way. Returns what stop_waiting() takes.
std::uint64_t start_waiting(std::shared_ptr<Watched> watched, std::uint64_t number);
void stop_waiting(std::uint64_t waiting);
/// While it is held, no Watched of a blocking call goes away.
std::mutex& watch_mutex();

}  // namespace omnes::interpose::check
