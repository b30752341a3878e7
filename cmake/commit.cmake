# VECHE_BUILT_COMMIT: what `veche --version` tells. A packager who builds from an archive gives -DVECHE_COMMIT=...; a checkout asks
# git each time it is configured.
set(VECHE_COMMIT "" CACHE STRING "The commit that is built; empty: git tells")
set(VECHE_BUILT_COMMIT "${VECHE_COMMIT}")
find_program(GIT git)
if(NOT VECHE_BUILT_COMMIT AND GIT AND EXISTS ${PROJECT_SOURCE_DIR}/.git)
  execute_process(COMMAND ${GIT} describe --always --exclude=* --abbrev=8 --dirty=-changed WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
                  OUTPUT_VARIABLE VECHE_BUILT_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT VECHE_BUILT_COMMIT)
  set(VECHE_BUILT_COMMIT unknown)
endif()
