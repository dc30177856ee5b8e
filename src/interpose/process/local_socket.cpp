// Sockets of Linux's own kind of names, which are no files.
#include "interpose/process/local_socket.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string_view>

#include "interpose/process/world.hpp"
#include "select/table.hpp"

namespace omnes::interpose {

namespace {

constexpr char yes = 1, no = 0;

/// What all must have alike to understand each other.
std::uint64_t build() {
  return std::hash<std::string_view>{}(default_table) * 31 + std::hash<std::string_view>{}(__VERSION__) * 7 +
         sizeof(Introduction);
}

/// Calls use(socket, address, its length); unless that returns 0, there is no socket: -1. Also where the name is too long.
template <class Use>
int socket_at(const std::string& name, int flags, Use use) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.empty() || name.size() + 1 > sizeof address.sun_path) return -1;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
  if (made < 0 || use(made, reinterpret_cast<sockaddr*>(&address), length) == 0) return made;
  close(made);
  return -1;
}

/// Processes of other users are not let in, and not called at.
bool is_ours(int socket) {
  ucred who{};
  socklen_t length = sizeof who;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &length) == 0 && who.uid == geteuid();
}

}  // namespace

int listen_at(const std::string& name) {
  return socket_at(name, SOCK_NONBLOCK, [](int made, const sockaddr* address, socklen_t length) {
    return bind(made, address, length) != 0 || listen(made, SOMAXCONN) != 0;
  });
}

int call_at(const std::string& name) {
  return socket_at(name, 0, [](int made, const sockaddr* address, socklen_t length) {
    return connect(made, address, length) != 0 || !is_ours(made);
  });
}

int next_visitor(int socket) {
  for (int visitor; (visitor = accept4(socket, nullptr, nullptr, SOCK_CLOEXEC)) >= 0; close(visitor))
    if (is_ours(visitor)) return visitor;
  return -1;
}

bool say_build(int socket) {
  const std::uint64_t mine = build();
  return send(socket, &mine, sizeof mine, MSG_NOSIGNAL) == sizeof mine;
}

bool is_of_same_build(int socket) {
  std::uint64_t theirs = 0;
  return recv(socket, &theirs, sizeof theirs, MSG_DONTWAIT) == sizeof theirs && theirs == build();
}

bool answer(int socket, bool agreed) { return send(socket, agreed ? &yes : &no, 1, MSG_NOSIGNAL) == 1; }

bool is_answered(int socket, void (*look)(), std::chrono::seconds patience) {
  constexpr int between_looks = 1;  // ms
  pollfd waiting{socket, POLLIN, 0};
  const auto since = std::chrono::steady_clock::now();
  while (poll(&waiting, 1, between_looks) <= 0) {
    if (std::chrono::steady_clock::now() - since > patience) break;
    look();
  }
  shutdown(socket, SHUT_RD);  // what has come until now is still read
  char said = no;
  while (recv(socket, &said, sizeof said, 0) < 0 && errno == EINTR) {
  }
  return said == yes;
}

}  // namespace omnes::interpose
