// The calls that a program makes, in order, when OMNES_RECORD asks for them: omnes bench --replay makes them again.
//
// Overview. Each rank has a list of events: collective calls as they were described, communicators made and freed,
// persistent operations started, and the places where the program was told that an operation is complete. Calls that are alike
// share a description, so an event is three numbers. MPI_Finalize writes the list to a file.
// Why a replay cannot wait for itself: events are in the order in which they began, and a completion lies where the program
// completed it. So the replay is as correct an MPI program as the recorded one.
// While nothing is recorded, calls that repeat cost what they did: while something is, no communicator is put into the
// threads' caches, no call is kept, and no request goes straight to the host, so that all pass through what records them.
#pragma once

#include <cstdint>
#include <vector>

#include "interpose/communicator/state.hpp"
#include "interpose/data/job.hpp"

namespace omnes::interpose {

namespace record {

extern bool on;  ///< from MPI_Init on

/// The process is set up: recording begins.
void begin();
/// Where MPI_Finalize begins: writes the file.
void end();

/// A call of the program, in which events may happen: what passes between two such calls is the program's own time.
class Within {
 public:
  Within() {
    if (on) [[unlikely]]
      enter();
  }
  ~Within() {
    if (entered_) [[unlikely]]
      leave();
  }
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;

 private:
  friend struct Recorder;
  void enter();
  void leave();
  bool entered_ = false;
  bool has_events_ = false;
  bool has_call_ = false;
  Within* outer_ = nullptr;
  std::int64_t since_ = 0;  // ns
};

/// A collective call, before anything of it is communicated. `operation`: the one that the program has called.
void call(const State& state, MPI_Comm comm, Operation operation, Form form, const Job& job);
/// The request that the call has made.
void requested(MPI_Request request);
/// The host does it; counted unless the call was noted before.
void left_out(Operation operation, Form form, const char* reason);

/// Out of `parent`, by all of its members; `id`: of the new one, see Origin; 0: nobody knows.
void made(MPI_Comm parent, std::uint64_t id, bool same_members, MPI_Comm comm);
/// Before it is freed.
void freed(MPI_Comm comm);

/// Before the start of a persistent operation.
void started(MPI_Request request);
/// Before the program frees the request of one.
void released(MPI_Request request);

/// Requests that a call may complete: those of ours among them, noted when the call says which it has completed.
class Watched {
 public:
  Watched(int count, const MPI_Request* requests);
  void all() const;
  void some(int count, const int* indices) const;

 private:
  struct Of {
    int index;
    MPI_Request request;
  };
  Within within_;
  std::vector<Of> ours_;
};

}  // namespace record

inline bool recording() { return record::on; }

}  // namespace omnes::interpose
