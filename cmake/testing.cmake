# What `make sanitize` builds.
add_custom_target(sanitized_tests)

# A sanitizer slows a program down two to fifteen times: time limits of tests are multiplied by this.
set(VECHE_TIMEOUT_FACTOR 1)
if(VECHE_SANITIZE)
  set(VECHE_TIMEOUT_FACTOR 6)
endif()

# veche_test(NAME files... [LABELS ...] [TIMEOUT seconds]): one GoogleTest program, one ctest entry per program.
# Tests lie beside the code they test and are named *_test.cc. The label `sanitize` also runs it under `make sanitize`.
function(veche_test NAME)
  if(NOT VECHE_TESTS)
    return()
  endif()
  cmake_parse_arguments(T "" "TIMEOUT" "LABELS;LINK" ${ARGN})
  add_executable(${NAME} ${T_UNPARSED_ARGUMENTS})
  target_include_directories(${NAME} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${NAME} PRIVATE veche_core veche_warnings GTest::gtest_main ${T_LINK})
  target_precompile_headers(${NAME} REUSE_FROM veche_test_headers)
  target_compile_options(${NAME} PRIVATE ${VECHE_QUICKLY})
  set_target_properties(${NAME} PROPERTIES UNITY_BUILD OFF)
  if("sanitize" IN_LIST T_LABELS)
    add_dependencies(sanitized_tests ${NAME})
  endif()
  add_test(NAME ${NAME} COMMAND ${NAME})
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 120)
  endif()
  math(EXPR T_TIMEOUT "${T_TIMEOUT} * ${VECHE_TIMEOUT_FACTOR}")
  set_tests_properties(${NAME} PROPERTIES TIMEOUT ${T_TIMEOUT} LABELS "${T_LABELS}")
endfunction()

# One program whose precompiled header all test programs share.
function(veche_test_headers)
  if(VECHE_TESTS)
    # A program and not a library: the header must be compiled as the tests are (-fPIE).
    file(WRITE ${PROJECT_BINARY_DIR}/test_headers.cc "")
    add_executable(veche_test_headers EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/test_headers.cc)
    target_link_libraries(veche_test_headers PRIVATE veche_core veche_warnings GTest::gtest_main)
    target_compile_options(veche_test_headers PRIVATE ${VECHE_QUICKLY})
    target_precompile_headers(veche_test_headers PRIVATE <gtest/gtest.h> <string> <vector> <memory>)
  endif()
endfunction()
