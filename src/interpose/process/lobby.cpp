// How they find each other. Open MPI hands a variable on to what a program starts. MPICH's launcher does not: there the lobby is named after the
// launcher, which all have among their ancestors.
#include "interpose/process/lobby.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>

#include "interpose/host/host.hpp"
#include "interpose/process/local_socket.hpp"
#include "transport/shm/nonce.hpp"

extern char** environ;

namespace omnes::interpose {

namespace {

constexpr const char* variable = "OMPI_MCA_omnes_lobby";  // those that begin with OMPI_MCA_ are handed on
int waiting = -1;                                         // this process, at the lobby

int parent_of(int process, std::string& name) {
  std::ifstream stat("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(stat, text);
  const std::size_t open = text.find('('), close = text.rfind(')');
  if (close == std::string::npos) return 0;
  name = text.substr(open + 1, close - open - 1);
  std::istringstream rest(text.substr(close + 1));
  char state = 0;
  int parent = 0;
  rest >> state >> parent;
  return parent;
}

/// Empty: none is found.
std::string name_by_launcher() {
  std::string name;
  for (int process = getppid(); process > 1;) {
    const int parent = parent_of(process, name);
    if (name.starts_with("mpiexec") || name.starts_with("mpirun")) return "omnes-lobby-" + std::to_string(process);
    process = parent;
  }
  return {};
}

/// For the processes that are started: where to call, and the settings, which Open MPI's launcher hands on to the first ones only.
void tell(const std::string& name) {
  std::string text = name;
  for (char** each = environ; *each; ++each) {
    const std::string_view setting = *each;
    const bool of_this_job = setting.starts_with("OMNES_STATS") || setting.starts_with("OMNES_RECORD") ||
                             setting.starts_with("OMNES_NOTICES");
    if (setting.starts_with("OMNES_") && !of_this_job && setting.find('\n') == setting.npos) (text += '\n') += setting;
  }
  setenv(variable, text.c_str(), 1);
}

/// Empty: nobody has started this process by MPI_Comm_spawn.
std::string name_told() {
  if (built_for != Family::ompi) return std::getenv("PMI_SPAWNED") ? name_by_launcher() : std::string();
  const char* const told = std::getenv(variable);
  if (!told) return {};
  std::istringstream lines(told);
  unsetenv(variable);  // what this process starts in other ways has nothing to do with it
  std::string name, setting;
  std::getline(lines, name);
  while (std::getline(lines, setting))
    if (const std::size_t is = setting.find('='); is != std::string::npos)
      setenv(setting.substr(0, is).c_str(), setting.c_str() + is + 1, 0);
  return name;
}

}  // namespace

std::unique_ptr<Lobby> Lobby::open() {
  const bool told = built_for == Family::ompi;
  const std::string name =
      told ? "omnes-lobby-" + std::to_string(getpid()) + "-" + std::to_string(shm::new_nonce()) : name_by_launcher();
  const int made = listen_at(name);
  if (made < 0) return nullptr;
  std::unique_ptr<Lobby> lobby(new Lobby(made));
  if (told) tell(name);
  return lobby;
}

Lobby::~Lobby() {
  if (built_for == Family::ompi) unsetenv(variable);
  for (const int visitor : visitors_) close(visitor);
  close(socket_);
}

bool Lobby::has(int count) {
  for (int visitor; (visitor = next_visitor(socket_)) >= 0;) visitors_.push_back(visitor);
  // What they say was sent with the call.
  return static_cast<int>(visitors_.size()) == count && std::ranges::all_of(visitors_, is_of_same_build);
}

void Lobby::admit() {
  for (const int visitor : visitors_) answer(visitor, true);
}

void call_at_lobby() {
  waiting = call_at(name_told());
  if (waiting >= 0 && !say_build(waiting)) close(std::exchange(waiting, -1));
}

bool admitted() {
  if (waiting < 0) return false;
  const bool let_in = is_answered(waiting, [] {}, std::chrono::hours(24));
  close(std::exchange(waiting, -1));
  return let_in;
}

}  // namespace omnes::interpose
