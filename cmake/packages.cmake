# `make package`: veche (program, library, modules), libveche-dev (headers, link, CMake's and pkg-config's files) and
# python3-veche.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME veche)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "${VECHE_MAINTAINER}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL ${VECHE_PACKAGES})
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)

set(CPACK_DEBIAN_VECHE_PACKAGE_NAME veche)
set(CPACK_DEBIAN_VECHE_PACKAGE_SECTION science)
# Which package programs need that are linked to libveche; ldconfig runs after the package is installed.
configure_file(cmake/debian/shlibs ${PROJECT_BINARY_DIR}/debian/shlibs @ONLY)
set(CPACK_DEBIAN_VECHE_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/debian/shlibs ${PROJECT_SOURCE_DIR}/cmake/debian/triggers)
set(CPACK_COMPONENT_VECHE_DESCRIPTION "trains neural networks on many nodes
Nodes that each have a part of the data agree on a model by consensus, gossip,
parameter servers or collective sums, as threads of one machine or as ranks of
an MPI job. This package has the program, the library and its engines.")
# Of the engines: what_modules_need.cmake.
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/what_modules_need.cmake)

set(CPACK_DEBIAN_LIBVECHE-DEV_PACKAGE_NAME libveche-dev)
set(CPACK_DEBIAN_LIBVECHE-DEV_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_LIBVECHE-DEV_DESCRIPTION "headers of Veche, a program that trains neural networks
For programs that train models, data sets and strategies of their own.")
set(CPACK_DEBIAN_LIBVECHE-DEV_PACKAGE_DEPENDS "veche (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_LIBVECHE-DEV_PACKAGE_SUGGESTS "libtorch-dev")

set(CPACK_DEBIAN_PYTHON3-VECHE_PACKAGE_NAME python3-veche)
set(CPACK_DEBIAN_PYTHON3-VECHE_PACKAGE_SECTION python)
set(CPACK_COMPONENT_PYTHON3-VECHE_DESCRIPTION "Python interface of Veche, which trains neural networks
Trains, simulates and compares from Python what the program veche trains, and
builds graphs with the weights that make nodes agree.")
# And what the extension is linked to: what_modules_need.cmake. An extension is for one version of Python.
set(CPACK_DEBIAN_PYTHON3-VECHE_PACKAGE_DEPENDS "veche (= ${PROJECT_VERSION}), python3-numpy")
if(TARGET veche_python)
  math(EXPR VECHE_NEXT_PYTHON "${VECHE_PYTHON_MINOR} + 1")
  string(APPEND CPACK_DEBIAN_PYTHON3-VECHE_PACKAGE_DEPENDS
         ", python3 (>= 3.${VECHE_PYTHON_MINOR}~), python3 (<< 3.${VECHE_NEXT_PYTHON})")
endif()
set(CPACK_DEBIAN_PYTHON3-VECHE_PACKAGE_SUGGESTS "python3-matplotlib")
include(CPack)
