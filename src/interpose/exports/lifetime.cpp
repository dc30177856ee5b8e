// MPI_Init and MPI_Finalize. Not every way to initialise MPI passes through here (see startup.cpp).
#include "interpose/communicator/report.hpp"
#include "interpose/exports/spawning.hpp"
#include "interpose/exports/startup.hpp"
#include "interpose/host/export.hpp"
#include "interpose/process/lobby.hpp"
#include "interpose/process/unattended.hpp"

namespace omnes::interpose {

namespace {

/// Calls `init`, by which the host is initialised.
template <class Init>
int initialise(Init init) {
  const bool serves = find_host() == built_for;
#ifndef OMNES_ABI_SMPI
  if (serves) call_at_lobby();
#endif
  int code = init();
  if (serves && code == MPI_SUCCESS) code = initialised();
#ifndef OMNES_ABI_SMPI
  if (serves && code == MPI_SUCCESS) code = meet_parents();
#endif
  return code;
}

}  // namespace

OMNES_EXPORT(Init, int* argc, char*** argv) {
  return initialise([&] {
    int provided = 0;
    if (find_host() == built_for)
      if (const int level = level_to_ask_for(MPI_THREAD_SINGLE); level != MPI_THREAD_SINGLE)
        return host.Init_thread(argc, argv, level, &provided);
    return host.Init(argc, argv);
  });
}

OMNES_EXPORT(Init_thread, int* argc, char*** argv, int required, int* provided) {
  return initialise([&] {
    if (find_host() == built_for) required = level_to_ask_for(required);
    return host.Init_thread(argc, argv, required, provided);
  });
}

OMNES_EXPORT(Finalize, void) {
  if (find_host() == built_for)
    begin_end(OMNES_CALLER);
  else
    report_wrong_family(find_host());
  const int code = host.Finalize();
  finalised();
  return code;
}

}  // namespace omnes::interpose
