// Cross-memory attach by process_vm_readv and process_vm_writev.
#include "transport/shm/cma.hpp"

#include <sys/uio.h>

#include <cerrno>

namespace omnes::shm {

namespace {

// One call copies at most 2 GiB, and fewer bytes when it meets a page that it may not touch.
template <class Call>
int copy_all(Call call, std::int64_t pid, std::uint64_t address, char* local, std::size_t bytes) {
  for (std::size_t done = 0; done < bytes;) {
    const iovec here{local + done, bytes - done};
    const iovec there{reinterpret_cast<void*>(address + done), bytes - done};
    const ssize_t n = call(static_cast<pid_t>(pid), &here, 1, &there, 1, 0);
    if (n < 0) return errno;
    if (n == 0) return EFAULT;
    done += static_cast<std::size_t>(n);
  }
  return 0;
}

}  // namespace

int read_process(std::int64_t pid, std::uint64_t address, void* to, std::size_t bytes) {
  return copy_all(process_vm_readv, pid, address, static_cast<char*>(to), bytes);
}

int write_process(std::int64_t pid, std::uint64_t address, const void* data, std::size_t bytes) {
  return copy_all(process_vm_writev, pid, address, const_cast<char*>(static_cast<const char*>(data)), bytes);
}

}  // namespace omnes::shm
