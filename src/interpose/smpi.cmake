# The family of SimGrid's simulated MPI: a static library, so that every simulated rank gets globals of its own with the program.
#
# Only blocking collectives are served: what lets others progress meanwhile is left out.
find_path(smpi_include smpi/mpi.h REQUIRED)
set(smpi_sources ${interpose_sources} host/host_smpi.cpp)
foreach(left_out host/host_loaded exports/requests exports/messages exports/makers exports/connecting exports/spawning exports/windows exports/tools communicator/origins communicator/spares exports/fortran process/lobby process/local_socket process/ports)
  list(REMOVE_ITEM smpi_sources ${CMAKE_CURRENT_SOURCE_DIR}/${left_out}.cpp)
endforeach()

add_library(omnes-smpi STATIC ${smpi_sources} $<TARGET_OBJECTS:omnes_core>)
target_include_directories(omnes-smpi PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_include_directories(omnes-smpi SYSTEM PRIVATE ${smpi_include}/smpi ${smpi_include})
target_compile_definitions(omnes-smpi PRIVATE OMNES_ABI_SMPI)
target_precompile_headers(omnes-smpi PRIVATE ${omnes_precompiled} ${omnes_precompiled_interposer})
omnes_compile_by_folder(omnes-smpi)
set_target_properties(omnes-smpi PROPERTIES ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
install(TARGETS omnes-smpi ARCHIVE DESTINATION ${OMNES_LIBDIR})
