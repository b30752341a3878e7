# veche_module(NAME files... LINK libraries...): a heavy engine in a shared object of its own (base/module/module.h). What it needs of
# Veche it finds in the program or library that loads it.
function(veche_module NAME)
  cmake_parse_arguments(M "" "" "LINK" ${ARGN})
  add_library(${NAME} MODULE ${M_UNPARSED_ARGUMENTS})
  target_link_libraries(${NAME} PRIVATE veche_headers veche_warnings ${M_LINK})
  set_target_properties(${NAME} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${VECHE_MODULE_DIRECTORY})
  set_property(GLOBAL APPEND PROPERTY VECHE_MODULES ${NAME})
endfunction()
