// How they find each other. Open MPI hands a variable on to what a program starts. MPICH's launcher does not: there the lobby is named after the
// launcher, which all have among their ancestors.
#include "interpose/process/lobby.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <sstream>
#include <string_view>
#include <utility>

#include "interpose/host/host.hpp"
#include "interpose/process/world.hpp"
#include "select/table.hpp"
#include "transport/shm/nonce.hpp"

extern char** environ;

namespace omnes::interpose {

namespace {

constexpr const char* variable = "OMPI_MCA_omnes_lobby";  // those that begin with OMPI_MCA_ are handed on
constexpr char yes = 1;

int waiting = -1;  // this process, at the lobby

/// What all must have alike to understand each other.
std::uint64_t build() {
  return std::hash<std::string_view>{}(default_table) * 31 + std::hash<std::string_view>{}(__VERSION__) * 7 +
         sizeof(Introduction);
}

/// A name of Linux's own, which is no file; false: too long.
bool address_of(const std::string& name, sockaddr_un& address, socklen_t& length) {
  address = {};
  address.sun_family = AF_UNIX;
  if (name.size() + 1 > sizeof address.sun_path) return false;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return true;
}

/// Processes of other users are not let in, and not called at.
bool is_ours(int socket) {
  ucred who{};
  socklen_t length = sizeof who;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &length) == 0 && who.uid == geteuid();
}

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
  sockaddr_un address;
  socklen_t length = 0;
  if (name.empty() || !address_of(name, address, length)) return nullptr;
  const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made < 0) return nullptr;
  std::unique_ptr<Lobby> lobby(new Lobby(made));
  if (bind(made, reinterpret_cast<sockaddr*>(&address), length) != 0 || listen(made, SOMAXCONN) != 0) return nullptr;
  if (told) tell(name);
  return lobby;
}

Lobby::~Lobby() {
  if (built_for == Family::ompi) unsetenv(variable);
  for (const int visitor : visitors_) close(visitor);
  close(socket_);
}

bool Lobby::has(int count) {
  for (int visitor; (visitor = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) visitors_.push_back(visitor);
  bool alike = static_cast<int>(visitors_.size()) == count;
  for (const int visitor : visitors_) {
    std::uint64_t theirs = 0;  // it was sent with the call
    alike = alike && is_ours(visitor) && recv(visitor, &theirs, sizeof theirs, MSG_DONTWAIT) == sizeof theirs &&
            theirs == build();
  }
  return alike;
}

void Lobby::admit() {
  for (const int visitor : visitors_) send(visitor, &yes, sizeof yes, MSG_NOSIGNAL);
}

void call_at_lobby() {
  const std::string name = name_told();
  sockaddr_un address;
  socklen_t length = 0;
  if (name.empty() || !address_of(name, address, length)) return;
  const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (made < 0) return;
  const std::uint64_t mine = build();
  if (connect(made, reinterpret_cast<sockaddr*>(&address), length) == 0 && is_ours(made) &&
      send(made, &mine, sizeof mine, MSG_NOSIGNAL) == sizeof mine)
    waiting = made;
  else
    close(made);
}

bool admitted() {
  if (waiting < 0) return false;
  char answer = 0;
  while (recv(waiting, &answer, sizeof answer, 0) < 0 && errno == EINTR) {
  }
  close(std::exchange(waiting, -1));
  return answer == yes;
}

}  // namespace omnes::interpose
