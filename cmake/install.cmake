include(CMakePackageConfigHelpers)

install(TARGETS veche_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS veche EXPORT veche-targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/veche DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
get_property(MODULES GLOBAL PROPERTY VECHE_MODULES)
install(TARGETS ${MODULES} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/veche)

configure_package_config_file(cmake/veche-config.cmake.in ${PROJECT_BINARY_DIR}/veche-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/veche)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/veche-config-version.cmake COMPATIBILITY SameMinorVersion)
install(EXPORT veche-targets NAMESPACE veche:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/veche)
install(FILES ${PROJECT_BINARY_DIR}/veche-config.cmake ${PROJECT_BINARY_DIR}/veche-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/veche)
