include(CMakePackageConfigHelpers)

install(TARGETS veche veche_cli EXPORT veche-targets
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY src/veche/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/veche FILES_MATCHING PATTERN "*.h"
        PATTERN "torch" EXCLUDE PATTERN "post_office.h" EXCLUDE)
foreach(module veche_torch veche_cairo veche_archive veche_curl veche_openmpi veche_mpich)
  if(TARGET ${module})
    install(TARGETS ${module} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/veche)
  endif()
endforeach()

configure_package_config_file(cmake/veche-config.cmake.in ${PROJECT_BINARY_DIR}/veche-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/veche)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/veche-config-version.cmake COMPATIBILITY SameMinorVersion)
install(EXPORT veche-targets NAMESPACE veche:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/veche)
install(FILES ${PROJECT_BINARY_DIR}/veche-config.cmake ${PROJECT_BINARY_DIR}/veche-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/veche)
