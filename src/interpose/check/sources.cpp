// Addresses are those of the object's file, so that another process can look them up; addr2line does.
#include "interpose/check/sources.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "interpose/communicator/sites.hpp"
#include "interpose/host/handle_cache.hpp"

namespace omnes::interpose::check {

namespace {

constexpr int offset_bits = 48;
constexpr std::uint64_t unknown = ~std::uint64_t{0};
constexpr std::uint64_t in_mpi = unknown - 1;  // it is not the program that calls, but the MPI

struct Place {
  std::string object;
  std::uint64_t offset;
};

bool locate(const void* address, Place& place) {
  Dl_info info;
  link_map* map = nullptr;
  if (!dladdr1(address, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) || !map) return false;
  place.object = map->l_name && *map->l_name ? map->l_name : "/proc/self/exe";
  place.offset = reinterpret_cast<std::uint64_t>(address) - map->l_addr;
  if (place.object == "/proc/self/exe") {
    char name[Area::name_bytes];
    const ssize_t length = readlink("/proc/self/exe", name, sizeof name - 1);
    if (length > 0) place.object.assign(name, static_cast<std::size_t>(length));
  }
  return true;
}

/// Where the first caller outside of the MPI is returned to.
const void* outer_caller() {
  const std::uintptr_t call = call_outside_mpi();
  return call == 0 ? nullptr : reinterpret_cast<const void*>(call + 1);
}

/// The number of the object's name in this rank's area; -1: there is no room.
int object_number(const std::string& object) {
  Area& area = own_area();
  const std::string name = object.substr(0, Area::name_bytes - 1);
  for (std::size_t i = 0; i < Area::max_objects; ++i) {
    if (area.objects[i][0] == 0) std::memcpy(area.objects[i], name.c_str(), name.size() + 1);
    if (name == area.objects[i]) return static_cast<int>(i);
  }
  return -1;
}

/// What a command prints on its standard output, for some seconds.
std::string output_of(const std::vector<std::string>& command) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  std::vector<char*> arguments, environment;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  for (char** variable = environ; *variable; ++variable)
    if (!std::string_view(*variable).starts_with("LD_PRELOAD=")) environment.push_back(*variable);
  environment.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = 0;
  const bool started = posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environment.data()) == 0;
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text;
  constexpr int patience = 5000;  // ms: debugging information of large programs takes seconds to read
  pollfd readable{ends[0], POLLIN, 0};
  char some[512];
  while (started && poll(&readable, 1, patience) > 0) {
    const ssize_t bytes = ::read(ends[0], some, sizeof some);
    if (bytes <= 0) break;
    text.append(some, static_cast<std::size_t>(bytes));
  }
  close(ends[0]);
  if (started) {
    kill(pid, SIGKILL);  // it has ended, or takes too long
    int status = 0;
    waitpid(pid, &status, 0);
  }
  return text;
}

std::uint64_t look_up_site(const void* caller) {
  static auto& mutex = *new std::mutex;
  static auto& known = *new std::unordered_map<const void*, std::uint64_t>;
  const std::lock_guard lock(mutex);
  const auto [at, is_new] = known.try_emplace(caller, unknown);
  if (is_new && caller && is_of_mpi(reinterpret_cast<std::uintptr_t>(caller) - 1)) {
    at->second = in_mpi;
  } else if (Place place; is_new && caller && locate(caller, place)) {
    const int object = object_number(place.object);
    if (object >= 0) at->second = static_cast<std::uint64_t>(object) << offset_bits | place.offset;
  }
  return at->second;
}

}  // namespace

std::uint64_t site_of(const void* caller) {
  struct Known {
    const void* caller;
    std::uint64_t site;
  };
  constexpr std::size_t places = 64;
  OMNES_FAST_THREAD_LOCAL static Known known[places] = {};
  const auto number = reinterpret_cast<std::uintptr_t>(caller);
  Known& place = known[(number >> 2 ^ number >> 8) % places];
  if (place.caller != caller) place = {caller, look_up_site(caller)};
  return place.site == in_mpi ? look_up_site(outer_caller()) : place.site;
}

std::string source_line(const Area& area, std::uint64_t site) {
  if (site == unknown) return "an unknown place";
  const std::string object = area.objects[site >> offset_bits];
  const std::uint64_t at = (site & ((std::uint64_t{1} << offset_bits) - 1)) - 1;  // within the call
  char offset[24];
  std::snprintf(offset, sizeof offset, "0x%llx", static_cast<unsigned long long>(at));
  const std::string name = object.substr(object.rfind('/') + 1);
  const std::string text = output_of({"addr2line", "-f", "-C", "-e", object, offset});
  const std::size_t end = text.find('\n');
  if (end == text.npos) return name + "+" + offset;
  const std::string function = text.substr(0, end);
  std::string line =
      text.substr(end + 1, text.find_first_of(" \n", end + 1) - end - 1);  // " (discriminator 2)" may follow
  if (!line.starts_with("??") && !line.ends_with("?")) return line.substr(line.rfind('/') + 1);
  return function.starts_with("??") ? name + "+" + offset : function + " in " + name;
}

}  // namespace omnes::interpose::check
