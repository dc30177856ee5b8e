// Modules of ours that need not be there.
#include <stdexcept>

#include "python/bindings.hpp"

namespace omnes::python {

nb::module_ import_optional(const Optional& wanted) {
  try {
    return nb::module_::import_(wanted.module);
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_ImportError)) throw;
    if (error.matches(PyExc_ModuleNotFoundError))
      throw std::invalid_argument(std::string("omnes was built without ") + wanted.library +
                                  ": install it (Debian: " + wanted.headers + "), and omnes again");
    throw std::invalid_argument(std::string(wanted.library) + " cannot be loaded: " + nb::str(error.value()).c_str() +
                                "; install it (Debian: " + wanted.package + ")");
  }
}

}  // namespace omnes::python
