// Who listens, who calls, and who has come.
#include "interpose/process/ports.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string_view>

#include "interpose/process/local_socket.hpp"

namespace omnes::interpose {

namespace {

// From when one of two hosts has connected until the other one has; who is stopped for longer is left to the host, as is who is accepted by another process
// than the one that has opened the port.
constexpr std::chrono::seconds patience{2};
constexpr int between_looks = 1;  // ms

std::string name_at(const char* kind, const std::string& what) {
  return std::string("omnes-") + kind + "-" + std::to_string(std::hash<std::string>{}(what));
}

/// An end of a connection; empty: it is none that has a name.
template <class Get>
std::string end_of(int socket, Get get) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  const bool found = get(socket, reinterpret_cast<sockaddr*>(&address), &length) == 0;
  const bool named = found && (address.ss_family == AF_INET || address.ss_family == AF_INET6);
  return named ? std::string(reinterpret_cast<const char*>(&address), length) : std::string();
}

}  // namespace

std::unique_ptr<Port> Port::open(const std::string& name) {
  const int made = listen_at(name_at("port", name));
  return std::unique_ptr<Port>(made < 0 ? nullptr : new Port(made));
}

Port::~Port() {
  for (const int visitor : visitors_) close(visitor);
  close(socket_);
}

bool Port::takes(bool willing, void (*look)()) {
  const auto end = std::chrono::steady_clock::now() + patience;
  for (int visitor; (visitor = next_visitor(socket_)) >= 0;) visitors_.push_back(visitor);
  for (bool late = false; !late && !visitors_.empty(); look()) {
    late = std::chrono::steady_clock::now() > end;
    std::vector<pollfd> all;
    for (const int visitor : visitors_) all.push_back({visitor, POLLIN, 0});
    poll(all.data(), all.size(), between_looks);
    for (std::size_t i = all.size(); i-- > 0;) {
      if (all[i].revents == 0) continue;
      visitors_.erase(visitors_.begin() + static_cast<std::ptrdiff_t>(i));
      char first;
      const bool is_gone = recv(all[i].fd, &first, sizeof first, MSG_PEEK | MSG_DONTWAIT) <= 0;
      const bool taken = !is_gone && is_of_same_build(all[i].fd) && willing;
      const bool is_heard = !is_gone && answer(all[i].fd, taken);
      close(all[i].fd);
      if (!is_gone) return taken && is_heard;
    }
  }
  for (const int visitor : visitors_) close(visitor);
  visitors_.clear();
  return false;
}

std::unique_ptr<Caller> Caller::at_port(const std::string& name) {
  const int called = call_at(name_at("port", name));
  if (called < 0) return nullptr;
  std::unique_ptr<Caller> made(new Caller);
  made->port_ = called;
  return made;
}

std::unique_ptr<Caller> Caller::by_socket(int socket) {
  const std::string here = end_of(socket, getsockname), there = end_of(socket, getpeername);
  if (here.empty() || there.empty() || here == there) return nullptr;
  std::unique_ptr<Caller> made(new Caller);
  made->own_ = name_at("join", here + there);
  made->other_ = name_at("join", there + here);
  made->listens_ = listen_at(made->own_);
  return made->listens_ < 0 ? nullptr : std::move(made);
}

Caller::~Caller() {
  for (const int socket : {port_, listens_})
    if (socket >= 0) close(socket);
}

bool Caller::is_taken(void (*look)()) {
  if (listens_ >= 0) {
    port_ = call_at(other_);
    if (port_ < 0) return false;
    // The other one calls here as well, and both say yes or both no.
    pollfd all[] = {{listens_, POLLIN, 0}, {port_, POLLIN, 0}};
    say_build(port_);
    while (poll(all, 1, between_looks) <= 0) {
      if (poll(all + 1, 1, 0) > 0 && all[1].revents & POLLHUP) return false;
      look();
    }
    const int visitor = next_visitor(listens_);
    if (visitor < 0) return false;
    pollfd said{visitor, POLLIN, 0};
    while (poll(&said, 1, between_looks) <= 0) look();
    const bool alike = is_of_same_build(visitor);
    close(visitor);
    return alike;
  }
  return say_build(port_) && is_answered(port_, look, patience);
}

}  // namespace omnes::interpose
