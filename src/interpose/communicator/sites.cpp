// Walks the stack to the first function outside of MPI.
//
// Cost: some microseconds, of calls that are timed only (runtime/sample.hpp).
#include "interpose/communicator/sites.hpp"

#include <dlfcn.h>
#include <unwind.h>

#include <mutex>
#include <string_view>
#include <unordered_map>

namespace omnes::interpose {

namespace {

struct Sites {
  std::mutex mutex;
  std::unordered_map<std::uintptr_t, std::uint32_t> numbers;
  std::vector<Site> all;
};

Sites& known_sites() {
  static Sites* const the = new Sites;  // never destroyed: MPI may be finalised by a destructor
  return *the;
}

/// libmpi.so, libmpifort.so, libmpi_mpifh.so, libpmpi.so, ...; and this library.
bool lies_in_mpi(const Dl_info& info) {
  static const void* const own = [] {
    Dl_info here;
    return dladdr(reinterpret_cast<const void*>(&find_site), &here) ? here.dli_fbase : nullptr;
  }();
  if (info.dli_fbase == own) return true;
  const std::string_view path = info.dli_fname ? info.dli_fname : "";
  const std::string_view file = path.substr(path.rfind('/') + 1);
  return file.starts_with("libmpi") || file.starts_with("libpmpi");
}

_Unwind_Reason_Code look(_Unwind_Context* context, void* found) {
  const std::uintptr_t next = _Unwind_GetIP(context);
  const std::uintptr_t address = next - 1;  // a return address may be the next function's
  if (next == 0 || is_of_mpi(address)) return _URC_NO_REASON;
  *static_cast<std::uintptr_t*>(found) = address;
  return _URC_END_OF_STACK;
}

}  // namespace

bool is_of_mpi(std::uintptr_t address) {
  static auto& mutex = *new std::mutex;
  static auto& known = *new std::unordered_map<std::uintptr_t, bool>;
  const std::lock_guard lock(mutex);
  const auto [at, is_new] = known.try_emplace(address, false);
  if (is_new) {
    Dl_info info;
    at->second = dladdr(reinterpret_cast<const void*>(address), &info) && lies_in_mpi(info);
  }
  return at->second;
}

std::uintptr_t call_outside_mpi() {
  std::uintptr_t address = 0;
  _Unwind_Backtrace(look, &address);
  return address;
}

std::uint32_t find_site() {
  const std::uintptr_t address = call_outside_mpi();
  if (address == 0) return 0;
  Sites& t = known_sites();
  const std::lock_guard lock(t.mutex);
  const auto [at, is_new] = t.numbers.try_emplace(address, static_cast<std::uint32_t>(t.all.size() + 1));
  if (is_new) {
    Dl_info info{};
    dladdr(reinterpret_cast<const void*>(address), &info);
    t.all.push_back({address, info.dli_fname ? info.dli_fname : "",
                     address - reinterpret_cast<std::uintptr_t>(info.dli_fbase), info.dli_sname ? info.dli_sname : ""});
  }
  return at->second;
}

std::vector<Site> sites() {
  const std::lock_guard lock(known_sites().mutex);
  return known_sites().all;
}

}  // namespace omnes::interpose
