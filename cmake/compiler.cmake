set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
# Of programs: modules find there what they need of Veche.
add_link_options($<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-rdynamic>)
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

# ccache cannot see through a precompiled header unless told what may be ignored.
find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} ${CCACHE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-fpch-preprocess)
  endif()
endif()
find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# For what takes longer to optimise than to run: tests, the command line and what calls the library in benches.
set(VECHE_QUICKLY $<$<CONFIG:Release>:-O1>)

# What every target of ours is compiled with; not passed on to users of the library.
add_library(veche_warnings INTERFACE)
target_compile_options(veche_warnings INTERFACE -Wall -Wextra -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Both are wrong about std::string in GCC 12 (bug 105651).
  target_compile_options(veche_warnings INTERFACE -Wno-restrict -Wno-stringop-overflow)
endif()

# Several files are compiled as one (preset `release`): a header is read once for all of them. What a file alone may name is
# then named in the others too, so such names differ; a file with flags of its own stays alone.
if(CMAKE_UNITY_BUILD)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 24)
  # A class of one file that holds a type of that file: seen as if it stood in a header.
  target_compile_options(veche_warnings INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endif()

if(VECHE_SANITIZE)
  add_compile_options(-fsanitize=${VECHE_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${VECHE_SANITIZE})
  # GCC 12 misreads the code that a sanitizer adds: it takes values for uninitialised, lists of strings for too short, and
  # Asio's allocation of coroutine frames, of which it inlines one half only, for a mismatch.
  target_compile_options(veche_warnings INTERFACE
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized -Wno-array-bounds -Wno-mismatched-new-delete>)
endif()
