# Run by CPack when the files of the packages lie in their places: the packages that hold the libraries they are linked to. The
# engines of clusters and of simulations, and the table of OpenDHT, are for those who want one: what they need is recommended, and other runs do not miss it.
set(ROOT ${CPACK_TEMPORARY_DIRECTORY}/veche${CPACK_PACKAGING_INSTALL_PREFIX})
file(GLOB_RECURSE WANTED ${ROOT}/*/veche/veche_openmpi.so ${ROOT}/*/veche/veche_mpich.so ${ROOT}/*/veche/veche_simgrid.so
     ${ROOT}/*/veche/veche_dht.so)
file(GLOB_RECURSE NEEDED ${ROOT}/bin/veche ${ROOT}/*/libveche.so.*.* ${ROOT}/*/veche/veche_*.so)
list(REMOVE_ITEM NEEDED ${WANTED})
find_program(SHLIBDEPS dpkg-shlibdeps REQUIRED)

# dpkg-shlibdeps wants to be where a source package is.
set(HERE ${CPACK_TEMPORARY_DIRECTORY}/shlibdeps)
file(WRITE ${HERE}/debian/control "Source: veche\n\nPackage: veche\nArchitecture: any\n")
# What modules need of Veche is in the program that loads them: no library has it.
execute_process(COMMAND ${SHLIBDEPS} --warnings=0 -O -dDepends ${NEEDED} -dRecommends ${WANTED}
                WORKING_DIRECTORY ${HERE} OUTPUT_VARIABLE FOUND ERROR_VARIABLE SAID)
string(REGEX MATCH "shlibs:Depends=([^\n]*)" IGNORED "${FOUND}")
set(CPACK_DEBIAN_VECHE_PACKAGE_DEPENDS "${CMAKE_MATCH_1}")
if(NOT CPACK_DEBIAN_VECHE_PACKAGE_DEPENDS MATCHES "libc6")
  message(FATAL_ERROR "dpkg-shlibdeps found no libraries: ${FOUND}${SAID}")
endif()
# The demo's images, and the BLAS that libtorch is quick with: with the one it depends on a step takes many times as long.
set(RECOMMENDED "dataset-fashion-mnist, libopenblas0")
if(FOUND MATCHES "shlibs:Recommends=([^\n]*)")
  string(PREPEND RECOMMENDED "${CMAKE_MATCH_1}, ")
endif()
set(CPACK_DEBIAN_VECHE_PACKAGE_RECOMMENDS "${RECOMMENDED}")

# Of the extension for Python; libveche is in a package of this build, which its dependencies name already.
set(ROOT ${CPACK_TEMPORARY_DIRECTORY}/python3-veche${CPACK_PACKAGING_INSTALL_PREFIX})
file(GLOB_RECURSE NEEDED ${ROOT}/*/_veche.*.so)
if(NEEDED)
  file(GLOB_RECURSE LIBRARY ${CPACK_TEMPORARY_DIRECTORY}/veche${CPACK_PACKAGING_INSTALL_PREFIX}/*/libveche.so.*.*)
  get_filename_component(LIBRARY ${LIBRARY} DIRECTORY)
  execute_process(COMMAND ${SHLIBDEPS} --warnings=0 --ignore-missing-info -l${LIBRARY} -O -dDepends ${NEEDED}
                  WORKING_DIRECTORY ${HERE} OUTPUT_VARIABLE FOUND ERROR_VARIABLE SAID)
  string(REGEX MATCH "shlibs:Depends=([^\n]*)" IGNORED "${FOUND}")
  set(LIBRARIES "${CMAKE_MATCH_1}")
  if(NOT LIBRARIES MATCHES "libc6")
    message(FATAL_ERROR "dpkg-shlibdeps found no libraries of the extension: ${FOUND}${SAID}")
  endif()
  string(APPEND CPACK_DEBIAN_PYTHON3-VECHE_PACKAGE_DEPENDS ", ${LIBRARIES}")
endif()
