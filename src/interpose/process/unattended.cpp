// What the host has for it.
#include "interpose/process/unattended.hpp"

#include <cstdlib>
#include <exception>
#include <string_view>

#include "interpose/host/host.hpp"
#include "select/settings.hpp"

namespace omnes::interpose {

namespace {

// The level that the program wants: without threads of its own, its functions may not be safe in ours.
int asked_for = MPI_THREAD_SINGLE;  // before there is a thread

/// The host allows calls from any thread.
bool calls_from_any_thread() {
  int level = 0;
  return host.Query_thread(&level) == MPI_SUCCESS && level == MPI_THREAD_MULTIPLE;
}

}  // namespace

#if defined(OMNES_ABI_OMPI)
bool has_full_hook() {
  static const bool has = host_data("opal_progress_register") != nullptr;
  return has;
}
bool has_hook() { return has_full_hook(); }
#elif defined(OMNES_ABI_MPICH)
bool has_hook() {
  static const bool has = host_data("PMPIX_Async_start") != nullptr;
  return has;
}
/// It goes by libfabric: while it waits in one-sided functions, it calls nothing that we see (exports/ucx.cpp).
static bool waits_unseen() {
  static const bool unseen = [] {
    if (const char* const chosen = std::getenv("MPIR_CVAR_CH4_NETMOD")) return std::string_view(chosen) == "ofi";
    const auto version = reinterpret_cast<int (*)(char*, int*)>(host_data("PMPI_Get_library_version"));
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    return version && version(text, &length) == MPI_SUCCESS &&
           std::string_view(text).find("ch4:ofi") != std::string_view::npos;
  }();
  return unseen;
}
bool has_full_hook() { return has_hook() && host.Request_is_complete && !calls_from_any_thread() && !waits_unseen(); }
#else
bool has_full_hook() { return false; }
bool has_hook() { return false; }
#endif

Unattended unattended_by_thread() {
  if (!calls_from_any_thread()) return Unattended::shared_memory;
  return asked_for == MPI_THREAD_MULTIPLE ? Unattended::everything : Unattended::host_calls;
}

Unattended unattended() {
  if (simulated || has_full_hook()) return Unattended::everything;  // in simulations there are no others
  return unattended_by_thread();
}

bool host_lets_others_go_on() { return simulated || built_for == Family::ompi; }

int level_to_ask_for(int level) {
  asked_for = level;
  try {
    if (Settings::from_environment().async) return MPI_THREAD_MULTIPLE;
  } catch (const std::exception&) {
    // the complaint follows
  }
  return level;
}

}  // namespace omnes::interpose
