// Errors reach the program as those of the host do.
#include "interpose/failure.hpp"

#include <exception>
#include <new>

#include "interpose/export.hpp"

namespace omnes::interpose {

std::atomic<bool> may_be_revoked = false;

#ifdef OMNES_ABI_OMPI
OMNES_EXPORT_EXTENSION(Comm_revoke, Wide comm) {
  if (find_host() == built_for) may_be_revoked = host.Comm_is_revoked != nullptr;
  return call_host(host.Comm_revoke, comm);
}
#endif

int raise(MPI_Comm comm, int code) {
  // SMPI's default handler is none, and may not be called.
  if constexpr (simulated) {
    host.Abort(comm, code);
  } else {
    host.Comm_call_errhandler(comm, code);
  }
  return code;
}

int code_saying(const std::string& line) {
  int error_class = MPI_ERR_OTHER;
  int code = MPI_ERR_OTHER;
  const std::string text = line.substr(0, MPI_MAX_ERROR_STRING - 1);
  if (host.Add_error_class(&error_class) == MPI_SUCCESS && host.Add_error_code(error_class, &code) == MPI_SUCCESS)
    host.Add_error_string(code, const_cast<char*>(text.c_str()));  // SMPI takes no const
  return code;
}

int raise(MPI_Comm comm, const std::string& line) { return raise(comm, code_saying(line)); }

int raise_current(MPI_Comm comm) {
  try {
    throw;
  } catch (const Failure& failure) {
    return failure.raised ? failure.code : raise(comm, failure.code);
  } catch (const std::bad_alloc&) {
    return raise(comm, MPI_ERR_NO_MEM);
  } catch (const std::exception& error) {
    return raise(comm, error.what());
  }
}

}  // namespace omnes::interpose
