# The compiler's options for our own code; what comes from others is included as SYSTEM and stays silent.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)
set(CMAKE_NO_SYSTEM_FROM_IMPORTED OFF)
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release or Debug" FORCE)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g1")
set(CMAKE_C_FLAGS_DEBUG "-O0 -g1")

add_library(requal_options INTERFACE)
target_link_options(requal_options INTERFACE -Wl,--as-needed)
target_compile_options(requal_options INTERFACE
  -Wall -Wextra -Wconversion -Wshadow
  # one result on every machine: no fused multiply-add where the source says multiply, add
  -ffp-contract=off
  # no path of the building machine in the programs; clones at different paths share ccache's results
  "-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=")
if(REQUAL_WERROR)
  target_compile_options(requal_options INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC sees these in std::string, std::optional and std::variant where there are none. They stay visible; clang and the
  # sanitizers look for the real ones.
  target_compile_options(requal_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict> -Wno-error=maybe-uninitialized -Wno-error=array-bounds
    -Wno-error=stringop-overflow -Wno-error=stringop-overread)
  if(CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12)
    target_compile_options(requal_options INTERFACE -Wno-error=dangling-pointer)
  endif()
endif()

if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # part of -Wconversion in clang, not in GCC's C++: one set of warnings for all
  target_compile_options(requal_options INTERFACE -Wno-sign-conversion)
endif()

if(REQUAL_SANITIZE)
  set(_requal_sanitize "-fsanitize=${REQUAL_SANITIZE}" -fno-omit-frame-pointer)
  if(NOT REQUAL_SANITIZE STREQUAL "thread")
    list(APPEND _requal_sanitize -fno-sanitize-recover=all)
  endif()
  target_compile_options(requal_options INTERFACE ${_requal_sanitize} -O1)
  target_link_options(requal_options INTERFACE ${_requal_sanitize})
  target_compile_definitions(requal_options INTERFACE _GLIBCXX_ASSERTIONS)
elseif(CMAKE_BUILD_TYPE STREQUAL "Debug")
  target_compile_definitions(requal_options INTERFACE _GLIBCXX_ASSERTIONS)
else()
  target_compile_options(requal_options INTERFACE -fstack-protector-strong)
  target_compile_definitions(requal_options INTERFACE _FORTIFY_SOURCE=2)
endif()

# ccache where present. Paths below the checkout are rewritten to relative ones, so that two clones share results.
find_program(REQUAL_CCACHE ccache)
if(REQUAL_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(_requal_launcher "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}" CCACHE_NOHASHDIR=1 "${REQUAL_CCACHE}")
  set(CMAKE_C_COMPILER_LAUNCHER ${_requal_launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${_requal_launcher})
endif()

# mold where present and where this compiler knows it
find_program(REQUAL_MOLD mold)
if(REQUAL_MOLD)
  include(CheckLinkerFlag)
  check_linker_flag(CXX "-fuse-ld=mold" REQUAL_LINKS_WITH_MOLD)
  if(REQUAL_LINKS_WITH_MOLD)
    target_link_options(requal_options INTERFACE -fuse-ld=mold)
  endif()
endif()
