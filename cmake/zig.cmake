# A toolchain that builds for x86-64 or arm64 with glibc 2.28 and newer, on any machine: Zig's Clang brings the C library's symbols of
# each version, and its own C++ library, which is linked in. Found in the Python package ziglang, or as `zig` on PATH.
#
#   cmake -S . -B build/arm64 --toolchain cmake/zig.cmake -DOMNES_TARGET=aarch64-linux-gnu.2.28
set(OMNES_TARGET x86_64-linux-gnu.2.28 CACHE STRING "Zig's name of the machine to build for, and its oldest glibc")
set(OMNES_INCLUDE "" CACHE PATH "Folder with more headers that each file may include")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES OMNES_TARGET OMNES_ZIG OMNES_INCLUDE)

if(NOT OMNES_ZIG)
  find_program(python NAMES python3 python NO_CACHE REQUIRED)
  execute_process(COMMAND ${python} -c "import os, ziglang; print(os.path.join(os.path.dirname(ziglang.__file__), 'zig'))"
    OUTPUT_VARIABLE zig OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE missing)
  if(missing)
    find_program(zig zig NO_CACHE REQUIRED)
  endif()
  set(OMNES_ZIG ${zig} CACHE FILEPATH "The program zig")
endif()

set(CMAKE_SYSTEM_NAME Linux)
string(REGEX MATCH "^[^-]+" CMAKE_SYSTEM_PROCESSOR ${OMNES_TARGET})
set(CMAKE_CXX_COMPILER ${CMAKE_CURRENT_LIST_DIR}/zig-c++ ${OMNES_ZIG} -target ${OMNES_TARGET})
set(CMAKE_CXX_FLAGS_INIT "-g0 -include \"${CMAKE_CURRENT_LIST_DIR}/zig-glibc.h\"")
set(CMAKE_CXX_STANDARD_INCLUDE_DIRECTORIES ${OMNES_INCLUDE})
set(CMAKE_CXX_COMPILER_LAUNCHER "")  # Zig caches by itself
set(CMAKE_CXX_ARCHIVE_CREATE "\"${OMNES_ZIG}\" ar qc <TARGET> <OBJECTS>")
set(CMAKE_CXX_ARCHIVE_FINISH "\"${OMNES_ZIG}\" ranlib <TARGET>")
set(CMAKE_SHARED_LINKER_FLAGS_INIT -s)
set(CMAKE_MODULE_LINKER_FLAGS_INIT -s)
set(CMAKE_STRIP "" CACHE FILEPATH "")

# Nothing of the system that builds.
set(CMAKE_FIND_ROOT_PATH ${CMAKE_CURRENT_LIST_DIR}/nowhere)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
