// The kernel's request, which the headers of older systems do not have.
#include "transport/shm/heap/mappings.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>

namespace omnes::shm {

namespace {

// As <linux/fs.h> has it since Linux 6.11.
struct Query {
  std::uint64_t size, flags, address;
  std::uint64_t begin, end, permissions, page_bytes, offset, inode;
  std::uint32_t device_major, device_minor, name_bytes, build_id_bytes;
  std::uint64_t name, build_id;
};
constexpr unsigned long request = _IOWR('f', 17, Query);
constexpr std::uint64_t readable = 1, writable = 2, executable = 4, shared = 8, or_next = 16, of_file = 32;

std::uint64_t device(std::uint32_t major, std::uint32_t minor) { return std::uint64_t{major} << 32 | minor; }

constexpr const char* file_of_all = "/proc/self/maps";

bool answer_of(int fd, Query& query) {
  query.size = sizeof query;
  if (ioctl(fd, request, &query) == 0) return true;
  if (errno == ENOENT) return false;  // nothing is mapped there
  // A program may have closed what it did not open, and have another file there.
  const int own = open(file_of_all, O_RDONLY | O_CLOEXEC);
  const bool answered = ioctl(own, request, &query) == 0;
  if (own >= 0) close(own);
  return answered;
}

std::optional<Mapping> ask(int fd, std::uint64_t address, std::uint64_t flags) {
  Query query{};
  query.flags = flags;
  query.address = address;
  if (!answer_of(fd, query)) return std::nullopt;
  const auto may = [&](std::uint64_t permission) { return (query.permissions & permission) != 0; };
  return Mapping{.begin = query.begin,
                 .end = query.end,
                 .offset = query.offset,
                 .inode = query.inode,
                 .device = device(query.device_major, query.device_minor),
                 .readable = may(readable),
                 .writable = may(writable),
                 .executable = may(executable),
                 .shared = may(shared)};
}

}  // namespace

int Mapping::protection() const {
  return (readable ? PROT_READ : 0) | (writable ? PROT_WRITE : 0) | (executable ? PROT_EXEC : 0);
}

std::uint64_t device_of(std::uint64_t st_dev) { return device(major(st_dev), minor(st_dev)); }

Mappings::Mappings() : fd_(open(file_of_all, O_RDONLY | O_CLOEXEC)) {}

Mappings::~Mappings() {
  if (fd_ >= 0) close(fd_);
}

bool Mappings::answer() const {
  const auto own = reinterpret_cast<std::uintptr_t>(this);
  const auto found = at(own);
  return found && found->begin <= own && own < found->end && found->writable;
}

std::optional<Mapping> Mappings::at(std::uintptr_t address) const { return ask(fd_, address, 0); }

std::optional<Mapping> Mappings::of_file_from(std::uintptr_t address) const {
  return ask(fd_, address, or_next | of_file);
}

std::string Mappings::name_at(std::uintptr_t address) const {
  char name[128] = "";
  Query query{};
  query.address = address;
  query.name = reinterpret_cast<std::uintptr_t>(name);
  query.name_bytes = sizeof name;
  return answer_of(fd_, query) ? name : "";
}

}  // namespace omnes::shm
