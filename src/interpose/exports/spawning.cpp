// MPI_Comm_spawn: those that start processes and those that are started meet before the program gets a communicator of both.
#include "interpose/exports/spawning.hpp"

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "interpose/communicator/membership.hpp"
#include "interpose/communicator/origins.hpp"
#include "interpose/communicator/record.hpp"
#include "interpose/exports/startup.hpp"
#include "interpose/host/export.hpp"
#include "interpose/host/failure.hpp"
#include "interpose/process/lobby.hpp"
#include "interpose/process/process.hpp"
#include "interpose/process/world.hpp"

namespace omnes::interpose {

void meet_between(MPI_Comm inter, bool are_second) {
  MPI_Comm all;
  check_raised(host.Intercomm_merge(inter, are_second, &all));
  std::unique_ptr<World> made;
  const int code = meet(all, made);
  host.Comm_free(&all);
  check_raised(code);
  keep_origin(inter, origin_between(kept(std::move(made))));
}

bool have_met(MPI_Comm comm) {
  const int size = size_of(comm);
  if (size == 0) return false;
  if (!ranks_in_world(comm, size).empty()) return true;
  const Origin origin = origin_of(comm);
  return origin.met && !ranks_in(*origin.met, comm, size).empty();
}

namespace {

/// What the host is given to start processes by: Open MPI 5 loads this library, and what else LD_PRELOAD names, into the first ones only.
class Infos {
 public:
  Infos(const MPI_Info* infos, int count) : given_(infos, infos + count) {
    const char* const preload = std::getenv("LD_PRELOAD");
    const bool is_open_mpi_5 = built_for == Family::ompi && host.Comm_create_from_group;
    if (!is_open_mpi_5 || !preload) return;
    for (MPI_Info& info : given_) add(info, "LD_PRELOAD=" + std::string(preload));
  }
  ~Infos() {
    for (MPI_Info& info : made_) host.Info_free(&info);
  }
  Infos(const Infos&) = delete;
  Infos& operator=(const Infos&) = delete;
  const MPI_Info* data() const { return given_.data(); }

 private:
  void add(MPI_Info& info, std::string variables) {
    char said[MPI_MAX_INFO_VAL + 1];
    int found = 0;
    constexpr const char* key = "PMIX_ENVAR";  // variables, by lines
    const bool is_null = info == handles.info_null;
    const auto says = [&](const char* name) {
      return !is_null && host.Info_get(info, name, MPI_MAX_INFO_VAL, said, &found) == MPI_SUCCESS && found;
    };
    if (says("env")) return;  // deprecated: the host need not take both
    if (says(key) && std::string(said).find("LD_PRELOAD=") != std::string::npos) return;
    if (found) variables = std::string(said) + "\n" + variables;
    if (variables.size() >= MPI_MAX_INFO_VAL) return;
    MPI_Info more;
    if ((is_null ? host.Info_create(&more) : host.Info_dup(info, &more)) != MPI_SUCCESS) return;
    made_.push_back(more);
    if (host.Info_set(more, key, variables.c_str()) == MPI_SUCCESS) info = more;
  }

  std::vector<MPI_Info> given_, made_;
};

/// Calls `start(infos)`, by which the host starts them.
template <class Start>
int spawn(MPI_Comm comm, int root, const MPI_Info* infos, int count, void* made, Start start) try {
  int rank = 0, agreed = 0, number = 0;
  const record::Within within;
  if (prepare_process() || !world() || !have_met(comm) || host.Comm_rank(comm, &rank) != MPI_SUCCESS)
    return start(infos);
  std::unique_ptr<Lobby> lobby;
  int code;
  if (rank != root) {
    code = start(infos);
  } else {
    if (!checking() && !recording()) lobby = Lobby::open();
    const Infos with_preload(infos, count);
    code = start(with_preload.data());
  }
  if (code != MPI_SUCCESS) return code;
  const MPI_Comm inter = *static_cast<MPI_Comm*>(made);
  check_raised(host.Comm_remote_size(inter, &number));
  agreed = lobby && lobby->has(number);
  check_raised(host.Bcast(&agreed, 1, handles.integer, root, comm));
  if (!agreed) return code;
  if (lobby) lobby->admit();
  meet_between(inter, false);
  return code;
} catch (...) {
  return raise_current(comm);
}

}  // namespace

int meet_parents() try {
  MPI_Comm parents;
  if (!admitted()) return MPI_SUCCESS;
  check_raised(host.Comm_get_parent(&parents));
  meet_between(parents, true);
  return MPI_SUCCESS;
} catch (...) {
  return raise_current(handles.comm_world);
}

OMNES_EXPORT(Comm_spawn, Wide command, Wide arguments, int count, Wide info, int root, Wide comm, void* made,
             Wide codes) {
  const auto start = [&](const MPI_Info* infos) {
    return call_host(host.Comm_spawn, command, arguments, count, infos ? (Wide)*infos : info, root, comm, made, codes);
  };
  if (find_host() != built_for || !made) return start(nullptr);
  const auto own = narrow<MPI_Info>(info);
  return spawn(narrow<MPI_Comm>(comm), root, &own, 1, made, start);
}

OMNES_EXPORT(Comm_spawn_multiple, int programs, Wide commands, Wide arguments, Wide counts, const void* infos, int root,
             Wide comm, void* made, Wide codes) {
  const auto start = [&](const void* all) {
    return call_host(host.Comm_spawn_multiple, programs, commands, arguments, counts, all, root, comm, made, codes);
  };
  if (find_host() != built_for || !made) return start(infos);
  const auto* const all = static_cast<const MPI_Info*>(infos);
  return spawn(narrow<MPI_Comm>(comm), root, all, all && programs > 0 ? programs : 0, made, start);
}

}  // namespace omnes::interpose
