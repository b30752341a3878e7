# Three parts, which are also the three packages (packages.cmake): what runs, what programs are built on it with, and the
# package for Python (python/CMakeLists.txt).
include(CMakePackageConfigHelpers)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME libveche-dev)

install(TARGETS veche_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT veche)
install(TARGETS veche EXPORT veche-targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT veche NAMELINK_COMPONENT libveche-dev)
get_property(MODULES GLOBAL PROPERTY VECHE_MODULES)
install(TARGETS ${MODULES} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/veche COMPONENT veche)
install(FILES cli/completion/completion.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT veche
        RENAME veche)
install(FILES cli/completion/completion.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT veche
        RENAME veche.fish)
# Debian's zsh reads another folder for packages than for what an administrator installs.
install(CODE "
  set(FOLDER site-functions)
  if(CMAKE_INSTALL_PREFIX MATCHES \"/usr$\")
    set(FOLDER vendor-completions)
  endif()
  file(INSTALL ${PROJECT_SOURCE_DIR}/cli/completion/completion.zsh RENAME _veche
       DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/zsh/\${FOLDER}\")" COMPONENT veche)

install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DATADIR}/veche COMPONENT veche USE_SOURCE_PERMISSIONS
        PATTERN __pycache__ EXCLUDE)

# An example: the administrator decides whether and for which runs.
install(FILES packaging/veche-member@.service DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/veche/examples COMPONENT veche)

# Packed, as Debian's policy wants it; man reads both. Without a time inside: equal sources make equal files.
find_program(GZIP gzip REQUIRED)
function(veche_packed FROM TO)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${FROM})
  execute_process(COMMAND ${GZIP} -9nc ${FROM} OUTPUT_FILE ${TO} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
veche_packed(${PROJECT_SOURCE_DIR}/docs/veche.1 ${PROJECT_BINARY_DIR}/veche.1.gz)
install(FILES ${PROJECT_BINARY_DIR}/veche.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT veche)

# Licences and changes, for each of the packages.
set(VECHE_PACKAGES veche libveche-dev)
if(TARGET veche_python)
  list(APPEND VECHE_PACKAGES python3-veche)
endif()
configure_file(cmake/debian/copyright ${PROJECT_BINARY_DIR}/debian/copyright @ONLY)
configure_file(cmake/debian/changelog ${PROJECT_BINARY_DIR}/debian/changelog @ONLY)
veche_packed(${PROJECT_BINARY_DIR}/debian/changelog ${PROJECT_BINARY_DIR}/debian/changelog.gz)
foreach(PACKAGE ${VECHE_PACKAGES})
  install(FILES ${PROJECT_BINARY_DIR}/debian/copyright ${PROJECT_BINARY_DIR}/debian/changelog.gz
          DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${PACKAGE} COMPONENT ${PACKAGE})
  if(EXISTS ${PROJECT_SOURCE_DIR}/cmake/debian/${PACKAGE}.lintian-overrides)
    install(FILES cmake/debian/${PACKAGE}.lintian-overrides DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides
            COMPONENT ${PACKAGE} RENAME ${PACKAGE})
  endif()
endforeach()

install(DIRECTORY include/veche DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
configure_package_config_file(cmake/veche-config.cmake.in ${PROJECT_BINARY_DIR}/veche-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/veche)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/veche-config-version.cmake COMPATIBILITY SameMinorVersion)
install(EXPORT veche-targets NAMESPACE veche:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/veche)
install(FILES ${PROJECT_BINARY_DIR}/veche-config.cmake ${PROJECT_BINARY_DIR}/veche-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/veche)
# From lib/pkgconfig back to the prefix, wherever that is.
file(RELATIVE_PATH VECHE_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/veche.pc.in ${PROJECT_BINARY_DIR}/veche.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/veche.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
