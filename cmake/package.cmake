# A Debian package of what `cmake --install` puts into /usr: `scripts/debian-package` makes it.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "The omnes developers <omnes@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "fast collective operations for unmodified MPI programs")
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# The compiled core is for one version of Python.
math(EXPR next "${Python_VERSION_MINOR} + 1")
set(CPACK_DEBIAN_PACKAGE_DEPENDS "python3 (>= 3.${Python_VERSION_MINOR}), python3 (<< 3.${next}), python3-click, python3-rich")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libhwloc15, openmpi-bin | mpich")
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)  # what is packed has been built before
include(CPack)
