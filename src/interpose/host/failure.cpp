// Errors reach the program as those of the host do.
#include "interpose/host/failure.hpp"

#include <exception>
#include <new>

namespace omnes::interpose {

namespace {

/// What is too long ends behind an entry of its list, or a word, and says where the rest is told.
std::string fitting(const std::string& line) {
  constexpr std::size_t most = 255;  // bytes: MPI_MAX_ERROR_STRING of Open MPI, the shortest there is, less the zero
  const std::string rest = " ... (see omnes list, omnes info)";
  if (line.size() <= most) return line;
  const std::size_t room = most - rest.size();
  std::size_t end = line.rfind(", ", room - 1);
  if (end == line.npos || end < room / 2) end = line.rfind(' ', room);
  if (end == line.npos || end < room / 2) end = room;
  return line.substr(0, line[end] == ',' ? end + 1 : end) + rest;
}

}  // namespace

int raise(MPI_Comm comm, int code) {
  if constexpr (component) return code;  // the host calls the handler
  // SMPI's default handler is none, and may not be called.
  if constexpr (simulated) {
    host.Abort(comm, code);
  } else {
    host.Comm_call_errhandler(comm, code);
  }
  return code;
}

int code_saying(const std::string& line) try {
  int error_class = MPI_ERR_OTHER;
  int code = MPI_ERR_OTHER;
  const std::string text = fitting(line);
  if (host.Add_error_class(&error_class) == MPI_SUCCESS && host.Add_error_code(error_class, &code) == MPI_SUCCESS)
    host.Add_error_string(code, const_cast<char*>(text.c_str()));  // SMPI takes no const
  return code;
} catch (const std::bad_alloc&) {
  return MPI_ERR_NO_MEM;
}

int raise(MPI_Comm comm, const std::string& line) { return raise(comm, code_saying(line)); }

static int code_saying_what(const std::exception& error) try {
  return code_saying(error.what());
} catch (const std::bad_alloc&) {  // for the line
  return MPI_ERR_NO_MEM;
}

int raise_current(MPI_Comm comm) {
  try {
    throw;
  } catch (const Failure& failure) {
    return failure.raised ? failure.code : raise(comm, failure.code);
  } catch (const std::bad_alloc&) {
    return raise(comm, MPI_ERR_NO_MEM);
  } catch (const std::exception& error) {
    return raise(comm, code_saying_what(error));
  }
}

}  // namespace omnes::interpose
