// Where processes that are started by a program (MPI_Comm_spawn) say that they have this library.
//
// How, by sockets (local_socket.hpp): who starts processes opens a socket of a name that they can tell. They call there before the host is initialised, so before
// MPI_Comm_spawn returns: who has not come until then lacks this library, or runs on another node.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace omnes::interpose {

class Lobby {
 public:
  /// Null: there can be none, or another process that has the same launcher starts some at this moment.
  static std::unique_ptr<Lobby> open();
  /// Who is still there is told that nothing comes of it.
  ~Lobby();
  /// Whether so many processes have come, of the same build, and nobody else.
  bool has(int count);
  /// Tells all that they shall meet with those that have started them.
  void admit();

 private:
  explicit Lobby(int socket) : socket_(socket) {}
  int socket_;
  std::vector<int> visitors_;
};

/// Before the host is initialised: calls where the one waits who has started this process, if there is one.
void call_at_lobby();
/// After it. Whether all those who were started with this process, and those that have started them, shall meet; asked once.
bool admitted();

}  // namespace omnes::interpose
