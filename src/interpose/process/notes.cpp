// Keeps them.
#include "interpose/process/notes.hpp"

#include <mutex>

namespace omnes::interpose {

namespace {

struct Notes {
  std::mutex mutex;
  std::set<std::string> all;
};

Notes& notes() {
  static Notes* const the = new Notes;  // never destroyed: MPI may be finalised by a destructor
  return *the;
}

}  // namespace

void note(const std::string& text) {
  const std::lock_guard lock(notes().mutex);
  notes().all.insert(text);
}

std::set<std::string> all_notes() {
  const std::lock_guard lock(notes().mutex);
  return notes().all;
}

}  // namespace omnes::interpose
