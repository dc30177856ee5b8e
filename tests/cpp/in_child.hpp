// For tests of what a fork does.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace omnes {

/// The exit code of a child that runs this; 0 is success.
inline int in_child(const std::function<int()>& run) {
  const pid_t child = fork();
  if (child == 0) _exit(run());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace omnes
