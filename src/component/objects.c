/* Datatypes and operations of Open MPI, where its interface for programs has nothing for us. */
#include "ompi_config.h"

#include "component/bridge.h"
#include "ompi/datatype/ompi_datatype.h"

bool omnes_has_envelope(void* type) {
  const ompi_datatype_t* const datatype = type;
  return ompi_datatype_is_predefined(datatype) || datatype->args != NULL;
}

void omnes_retain(void* object) { OBJ_RETAIN(object); }

void omnes_release(void* object) { OBJ_RELEASE(object); }
