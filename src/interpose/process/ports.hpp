// Where processes of jobs that were started apart say that they have this library, before they get a communicator of both.
//
// How, by sockets (local_socket.hpp), whose names follow from what both know:
// * Who opens a port listens. Who connects to it calls there first, and says so when its host has connected. So whom a host has accepted has called
//   before, if he has this library, and says it soon. If none of those who have called does, the host has accepted somebody else; then all are sent
//   away, as nobody can tell any more whom that one has been taken for.
// * Each of two processes that join by a socket of the program listens before its host does anything, and calls the other one when its host has done.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace omnes::interpose {

/// One that this process has opened.
class Port {
 public:
  /// Null: it cannot listen.
  static std::unique_ptr<Port> open(const std::string& name);
  ~Port();
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;
  /// The host has accepted somebody: whether he shall meet this one. `willing`: whether this one can. Calls `look` every now and then.
  bool takes(bool willing, void (*look)());
  std::mutex accepting;  ///< taken before the host accepts

 private:
  explicit Port(int socket) : socket_(socket) {}
  const int socket_;
  std::vector<int> visitors_;
};

/// Who has called at a port, or waits to be called by whom it joins.
class Caller {
 public:
  /// Null: nobody of this machine listens there, or he lacks this library.
  static std::unique_ptr<Caller> at_port(const std::string& name);
  /// Of two that are connected by this socket; null: it has no names.
  static std::unique_ptr<Caller> by_socket(int socket);
  ~Caller();
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;
  /// The host has connected: whether both shall meet.
  bool is_taken(void (*look)());
  bool is_second() const { return listens_ < 0 || other_ < own_; }  ///< of the two

 private:
  Caller() = default;
  int port_ = -1, listens_ = -1;
  std::string own_, other_;
};

}  // namespace omnes::interpose
