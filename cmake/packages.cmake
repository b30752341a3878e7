# `make package`: veche (program, library, modules) and libveche-dev (headers, link, CMake's and pkg-config's files).
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME veche)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "the makers of Veche <veche@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL veche libveche-dev)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)

set(CPACK_DEBIAN_VECHE_PACKAGE_NAME veche)
set(CPACK_DEBIAN_VECHE_PACKAGE_SECTION science)
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
include(CPack)
