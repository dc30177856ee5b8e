// Cross-memory attach by process_vm_readv.
#include "transport/shm/cma.hpp"

#include <sys/uio.h>

#include <cerrno>

namespace omnes::shm {

int read_process(std::int64_t pid, std::uint64_t address, void* to, std::size_t bytes) {
  // One call copies at most 2 GiB, and fewer when it meets a page that it may not read.
  for (std::size_t done = 0; done < bytes;) {
    const iovec local{static_cast<char*>(to) + done, bytes - done};
    const iovec remote{reinterpret_cast<void*>(address + done), bytes - done};
    const ssize_t n = process_vm_readv(static_cast<pid_t>(pid), &local, 1, &remote, 1, 0);
    if (n < 0) return errno;
    if (n == 0) return EFAULT;
    done += static_cast<std::size_t>(n);
  }
  return 0;
}

}  // namespace omnes::shm
