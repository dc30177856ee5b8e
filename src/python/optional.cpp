// Modules of ours that need not be there.
#include <dlfcn.h>

#include <stdexcept>
#include <string>

#include "python/bindings.hpp"

namespace omnes::python {

nb::module_ import_optional(const Optional& wanted) {
  // Its names become everybody's, as the module takes them from wherever they are.
  std::string reason;
  if (wanted.object && !dlopen(wanted.object, RTLD_NOW | RTLD_GLOBAL)) reason = dlerror();
  try {
    return nb::module_::import_(wanted.module);
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_ImportError)) throw;
    if (error.matches(PyExc_ModuleNotFoundError))
      throw std::invalid_argument(std::string("omnes was built without ") + wanted.library +
                                  ": install it (Debian: " + wanted.headers + "), and omnes again");
    throw std::invalid_argument(std::string(wanted.library) +
                                " cannot be loaded: " + (reason.empty() ? nb::str(error.value()).c_str() : reason) +
                                "; install it (Debian: " + wanted.package + ")");
  }
}

}  // namespace omnes::python
