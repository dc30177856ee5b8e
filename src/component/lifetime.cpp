// From MPI_Init to MPI_Finalize, and what the program starts and frees in between.
#include "component/bridge.h"
#include "interpose/exports/startup.hpp"
#include "interpose/host/export.hpp"
#include "interpose/host/failure.hpp"
#include "interpose/host/host.hpp"
#include "interpose/progress/engine.hpp"

using namespace omnes::interpose;

extern "C" int omnes_initialised() { return find_host() == built_for ? initialised() : MPI_SUCCESS; }

extern "C" void omnes_begin_end() { begin_end(OMNES_CALLER); }

extern "C" int omnes_start(MPI_Request request) {
  try {
    engine::start(request);
    return MPI_SUCCESS;
  } catch (...) {
    return raise_current(handles.comm_world);
  }
}

extern "C" void omnes_forget(MPI_Request request) { engine::forget(request); }
