// Set up by startup.cpp.
#include "interpose/process/process.hpp"

namespace omnes::interpose {

std::atomic<int> under_way{0};
bool check_on = false;

Process& process() {
  static Process* const the = new Process;  // never destroyed: MPI may be finalised by a destructor
  return *the;
}

}  // namespace omnes::interpose
