// Communicators are freed and revoked, get names and attributes, and choices of their own: by the info key
// omnes_<operation>, with what OMNES_<OPERATION> accepts as value.
#include <new>
#include <stdexcept>
#include <string>

#include "interpose/check/check.hpp"
#include "interpose/communicator/record.hpp"
#include "interpose/communicator/report.hpp"
#include "interpose/communicator/spares.hpp"
#include "interpose/communicator/state.hpp"
#include "interpose/exports/startup.hpp"
#include "interpose/host/export.hpp"
#include "interpose/host/failure.hpp"

namespace omnes::interpose {

namespace {

/// Throws std::invalid_argument, and Failure.
void force_what_is_asked_for(MPI_Comm comm, MPI_Info info) {
  State* state = nullptr;
  for (int i = 0; i < operation_count; ++i) {
    const auto operation = static_cast<Operation>(i);
    const std::string key = "omnes_" + std::string(name(operation));
    char value[MPI_MAX_INFO_VAL + 1];
    int found = 0;
    if (host.Info_get(info, key.c_str(), MPI_MAX_INFO_VAL, value, &found) != MPI_SUCCESS || !found) continue;
    const Choice wish = [&] {
      try {
        return parse_wish(operation, value);
      } catch (const std::invalid_argument& error) {
        throw std::invalid_argument(key + ": " + error.what());
      }
    }();
    if (!state) state = find_state(comm, Form::persistent).state;
    if (!state) return;  // the host serves this communicator
    state->force(operation, wish);
  }
}

/// MPI_Comm_free, or MPI_Comm_disconnect.
int free_by(int (*Host::*function)(MPI_Comm*), void* comm) {
  if (find_host() != built_for || !comm) return call_host(host.*function, comm);
  const MPI_Comm handle = *static_cast<MPI_Comm*>(comm);
  if (handle == handles.comm_world || handle == handles.comm_self)
    return call_host(host.*function, comm);  // which says what is wrong
  if (spares::is_kept(handle)) {             // to the program it is none any more
    MPI_Comm none = handles.comm_null;
    return call_host(host.*function, &none);
  }
  const record::Within within;
  if (recording()) record::freed(handle);
  if (checking()) check::freed(handle);
  retire(handle);
  spares::leave(handle);
  return free_communicator(handle, [&] { return call_host(host.*function, comm); });
}

/// What a communicator that is made anew would not have.
template <class Change>
void note_change(Wide comm, Change change) {
  if (find_host() != built_for) return;
  try {
    change(narrow<MPI_Comm>(comm));
  } catch (const std::bad_alloc&) {  // then nothing of it is kept
    spares::stop();
  }
}

}  // namespace

OMNES_EXPORT(Comm_free, void* comm) {
  if (comm && spares::keep(*static_cast<MPI_Comm*>(comm))) {
    *static_cast<MPI_Comm*>(comm) = handles.comm_null;
    return MPI_SUCCESS;
  }
  return free_by(&Host::Comm_free, comm);
}

OMNES_EXPORT(Comm_disconnect, void* comm) { return free_by(&Host::Comm_disconnect, comm); }

#ifndef OMNES_ABI_SMPI
OMNES_EXPORT_EXTENSION(Comm_revoke, Wide comm) {
  note_change(comm, spares::changed);
  if (checking()) check::revoked(narrow<MPI_Comm>(comm));
  if (find_host() == built_for) may_be_revoked = host.Comm_is_revoked != nullptr;
  return call_host(host.Comm_revoke, comm);
}

OMNES_EXPORT(Comm_set_name, Wide comm, const char* name) {
  note_change(comm, spares::changed);
  return call_host(host.Comm_set_name, comm, name);
}

OMNES_EXPORT(Comm_set_attr, Wide comm, int key, void* value) {
  note_change(comm, spares::has_attributes);
  return call_host(host.Comm_set_attr, comm, key, value);
}

#ifdef OMNES_LARGE_COUNTS  // as MPI 4.1 came after these
OMNES_EXPORT(Comm_attach_buffer, Wide comm, void* buffer, int size) {
  note_change(comm, spares::changed);
  return call_host(host.Comm_attach_buffer, comm, buffer, size);
}

OMNES_EXPORT(Comm_attach_buffer_c, Wide comm, void* buffer, MPI_Count size) {
  note_change(comm, spares::changed);
  return call_host(host.Comm_attach_buffer_c, comm, buffer, size);
}
#endif

OMNES_EXPORT(Attr_put, Wide comm, int key, void* value) {
  note_change(comm, spares::has_attributes);
  return call_host(host.Attr_put, comm, key, value);
}
#endif

OMNES_EXPORT(Comm_set_info, Wide comm, Wide info) {
  note_change(comm, spares::changed);
  const bool usable = find_host() == built_for;
  const int code = call_host(host.Comm_set_info, comm, info);
  if (!usable || code != MPI_SUCCESS) return code;
  try {
    force_what_is_asked_for(narrow<MPI_Comm>(comm), narrow<MPI_Info>(info));
  } catch (const Failure& failure) {
    return failure.raised ? failure.code : raise(narrow<MPI_Comm>(comm), failure.code);
  } catch (const std::exception& error) {
    return raise(narrow<MPI_Comm>(comm), error.what());
  }
  return code;
}

}  // namespace omnes::interpose
