// MPI_Comm_accept, MPI_Comm_connect and MPI_Comm_join: jobs that were started apart meet before the program gets a communicator of both.
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "interpose/communicator/record.hpp"
#include "interpose/exports/spawning.hpp"
#include "interpose/exports/startup.hpp"
#include "interpose/host/export.hpp"
#include "interpose/host/failure.hpp"
#include "interpose/process/ports.hpp"
#include "interpose/process/process.hpp"
#include "interpose/process/world.hpp"
#include "interpose/progress/engine.hpp"

namespace omnes::interpose {

namespace {

/// Those that this process has opened, by their names.
struct Ports {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<Port>> open;
  std::shared_ptr<Port> find(const char* name) {
    const std::lock_guard lock(mutex);
    const auto found = name ? open.find(name) : open.end();
    return found == open.end() ? nullptr : found->second;
  }
};
Ports& ports() {
  static Ports* const the = new Ports;  // never destroyed: MPI may be finalised by a destructor
  return *the;
}

/// Alike in all ranks of a job.
bool can_meet() { return find_host() == built_for && !prepare_process() && world() && !checking() && !recording(); }
void look() { poke(nullptr); }

/// Calls `start()`, by which the host makes a communicator of both jobs; then all of them meet, if `agrees(whether this one can)` at the root
/// and at that of the other job. `second`: this is the other one of the two.
template <class Start, class Agree>
int meet_by(MPI_Comm comm, int root, const void* made, bool second, Start start, Agree agrees) try {
  const record::Within within;
  int rank = 0;
  const bool can = have_met(comm) && host.Comm_rank(comm, &rank) == MPI_SUCCESS;
  if (const int code = start(); code != MPI_SUCCESS) return code;
  int agreed = agrees(can);
  if (!can) return MPI_SUCCESS;
  check_raised(host.Bcast(&agreed, 1, handles.integer, root, comm));
  if (agreed) meet_between(*static_cast<const MPI_Comm*>(made), second);
  return MPI_SUCCESS;
} catch (...) {
  return raise_current(comm);
}

/// Who connects or joins; at the root, `caller` is made before the host begins.
template <class Start>
int call_and_meet(MPI_Comm comm, int root, const void* made, std::unique_ptr<Caller> caller, Start start) {
  const bool second = !caller || caller->is_second();
  return meet_by(comm, root, made, second, start, [&](bool can) { return can && caller && caller->is_taken(look); });
}

bool is_root(MPI_Comm comm, int root) {
  int rank = -1;
  return host.Comm_rank(comm, &rank) == MPI_SUCCESS && rank == root;
}

}  // namespace

OMNES_EXPORT(Open_port, Wide info, char* name) {
  const bool listens = can_meet();
  const int code = call_host(host.Open_port, info, name);
  if (!listens || code != MPI_SUCCESS) return code;
  try {
    if (std::shared_ptr<Port> made = Port::open(name)) {
      const std::lock_guard lock(ports().mutex);
      ports().open[name] = std::move(made);
    }
  } catch (const std::bad_alloc&) {  // who connects is left to the host
  }
  return code;
}

OMNES_EXPORT(Close_port, const char* name) {
  find_host();
  if (name) {
    const std::lock_guard lock(ports().mutex);
    ports().open.erase(name);
  }
  return call_host(host.Close_port, name);
}

OMNES_EXPORT(Comm_accept, const char* name, Wide info, int root, Wide comm, void* made) {
  const auto start = [&] { return call_host(host.Comm_accept, name, info, root, comm, made); };
  if (!can_meet() || !made) return start();
  const auto on = narrow<MPI_Comm>(comm);
  const std::shared_ptr<Port> port = is_root(on, root) ? ports().find(name) : nullptr;
  std::unique_lock<std::mutex> one_at_a_time;
  if (port) one_at_a_time = std::unique_lock(port->accepting);
  return meet_by(on, root, made, false, start, [&](bool can) { return port && port->takes(can, look); });
}

OMNES_EXPORT(Comm_connect, const char* name, Wide info, int root, Wide comm, void* made) {
  const auto start = [&] { return call_host(host.Comm_connect, name, info, root, comm, made); };
  if (!can_meet() || !made) return start();
  const auto on = narrow<MPI_Comm>(comm);
  return call_and_meet(on, root, made, is_root(on, root) ? Caller::at_port(name) : nullptr, start);
}

OMNES_EXPORT(Comm_join, int socket, void* made) {
  const auto start = [&] { return call_host(host.Comm_join, socket, made); };
  if (!can_meet() || !made) return start();
  return call_and_meet(handles.comm_self, 0, made, Caller::by_socket(socket), start);
}

}  // namespace omnes::interpose
