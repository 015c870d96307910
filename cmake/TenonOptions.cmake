# SPDX-License-Identifier: Apache-2.0
# Options, compiler flags and output folders that hold for the whole tree.
option(TENON_BUILD_TESTS "Build unit and integration tests" ${PROJECT_IS_TOP_LEVEL})
option(TENON_BUILD_BENCH "Build micro-benchmarks" OFF)
option(TENON_BUILD_FUZZERS "Build libFuzzer targets (clang only)" OFF)
option(TENON_MINIMAL "Core alone: no framework, graph, runtime or device" OFF)
option(TENON_UNITY "Compile up to 24 sources of a library at once: a build from nothing takes half as long" OFF)
option(TENON_QUICK "Optimise only what tests spend their time in: a build from nothing takes two thirds of the time; ./dev ci has it" OFF)
option(TENON_JOIN_TESTS "Compile five sources of a test at once, with a precompiled header that all tests share" ON)
option(TENON_WHEEL "Only what the Python package holds: no other bindings, no headers of other APIs, no examples" OFF)
option(TENON_WERROR "Warnings are errors: on in CI and in every preset that only developers build" OFF)
set(TENON_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize= (address,undefined or thread)")

# Folders of this name hold what another system than this build's is for.
set(TENON_THIS_SYSTEM posix)
set(TENON_OTHER_SYSTEM windows)
if(WIN32)
  set(TENON_THIS_SYSTEM windows)
  set(TENON_OTHER_SYSTEM posix)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# Half of a source's compile time is its headers. The preset clang compiles every source alone, and so finds an include that is missing.
set(CMAKE_UNITY_BUILD ${TENON_UNITY})
set(CMAKE_UNITY_BUILD_BATCH_SIZE 24)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# GLib's flags have it; it defines a macro that the C++ library reads, so precompiled headers are shared only where all have it.
if(NOT WIN32)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-pthread>)
endif()
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
# -O3 is only for kernels, whose folders add TENON_KERNELS: elsewhere it costs compile time and gains nothing. Folders add TENON_COLD whose own
# speed a user does not notice. With TENON_QUICK only TENON_HOT, in which tests spend their time, and kernels are optimised.
set(level -O2)
set(TENON_KERNELS -O3)
set(TENON_COLD $<$<CONFIG:Release>:-O1>)
set(TENON_HOT "")
if(TENON_QUICK)
  set(level -Og)
  set(TENON_KERNELS -O2)
  set(TENON_COLD "")
  set(TENON_HOT -O2)
endif()
string(REPLACE "-O3" "${level}" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
# For sanitizers, whose build takes almost twice as long with -O1.
string(REPLACE "-O2 -g" "-Og -g1" CMAKE_CXX_FLAGS_RELWITHDEBINFO "${CMAKE_CXX_FLAGS_RELWITHDEBINFO}")
# What tests make once and keep: models, outputs of other runtimes. It survives the build folder.
set(TENON_DATA_DIR "${PROJECT_SOURCE_DIR}/build/data" CACHE PATH "Folder of models and reference outputs that tests keep")
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
include(GNUInstallDirs)
# What is installed is a part: runtime, bindings, tools, drivers, gstreamer, python; all that names none is for developers.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME dev)
# A Python package has no links, and libraries look for each other by the name with one number.
set(TENON_FILE_VERSION ${PROJECT_VERSION})
if(TENON_WHEEL)
  set(TENON_FILE_VERSION ${PROJECT_VERSION_MAJOR})
endif()
# Libraries lie in one folder; its subfolder `tenon` has third-party ones that no package manager installed. The build tree, which has the
# same layout with the folder `lib`, uses the same path: see tenon_install_binary.
set(CMAKE_INSTALL_RPATH "$ORIGIN;$ORIGIN/tenon;$ORIGIN/../${CMAKE_INSTALL_LIBDIR};$ORIGIN/../lib;$ORIGIN/../tenon")
list(REMOVE_DUPLICATES CMAKE_INSTALL_RPATH)
# For libraries outside this tree. Those of a Python package lie in it, and its build's environment is gone afterwards.
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
if(TENON_WHEEL)
  set(CMAKE_INSTALL_RPATH_USE_LINK_PATH OFF)
endif()

# Headers are included as <tenon/core/tensor.hpp> here and when installed; in the build this is a link to the tree.
set(TENON_INCLUDE_DIR "${CMAKE_BINARY_DIR}/include")
file(MAKE_DIRECTORY "${TENON_INCLUDE_DIR}")
file(CREATE_LINK "${PROJECT_SOURCE_DIR}" "${TENON_INCLUDE_DIR}/tenon" SYMBOLIC)

# Tested once, by compiling with it (its folder may not be writable). A ccache installed later would rebuild everything.
if(NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(TENON_CCACHE ccache)
  set(launcher "")
  if(TENON_CCACHE)
    file(WRITE "${PROJECT_BINARY_DIR}/probes/ccache_probe.cpp" "int main() {}\n")
    tenon_probe_command(TENON_CCACHE_WORKS "${TENON_CCACHE}" "${CMAKE_CXX_COMPILER}" -c ccache_probe.cpp -o ccache_probe.o)
    if(TENON_CCACHE_WORKS)
      # Without this ccache takes no source that uses a precompiled header.
      set(launcher env CCACHE_SLOPPINESS=pch_defines,time_macros "${TENON_CCACHE}")
    else()
      message(STATUS "Tenon: ccache is off: ${TENON_CCACHE} cannot compile, see probes/TENON_CCACHE_WORKS.log")
    endif()
  endif()
  set(CMAKE_C_COMPILER_LAUNCHER "${launcher}" CACHE STRING "Runs C compilers: ccache where it works")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${launcher}" CACHE STRING "Runs C++ compilers: ccache where it works")
endif()

add_library(tenon_flags INTERFACE)
if(PROJECT_IS_TOP_LEVEL)
  target_compile_options(tenon_flags INTERFACE -Wall -Wextra -Wpedantic -Wno-unused-parameter
    $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual> $<$<BOOL:${TENON_WERROR}>:-Werror>)
  # g++ 12 and 13 see overlapping copies in std::string's operator+ where there are none (GCC bug 105651), and with -Og uninitialised members of
  # the C++ library.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(tenon_flags INTERFACE -Wno-restrict $<$<BOOL:${TENON_QUICK}>:-Wno-maybe-uninitialized>)
    if(TENON_UNITY)
      # The compiler collects its garbage over and over where it could take more memory: 3 to 12 % of a joined source's time, for up to a third
      # more memory. Not where sources are apart, because clang-tidy, which reads those commands, does not know the option.
      add_compile_options($<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=1048576>)
      # Entities in an anonymous namespace of a joined source look as if they came from a header.
      target_compile_options(tenon_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
    endif()
  endif()
  if(TENON_SANITIZE)
    add_compile_options(-fsanitize=${TENON_SANITIZE} -fno-omit-frame-pointer -g1)
    add_link_options(-fsanitize=${TENON_SANITIZE})
    # In instrumented code g++ 12 warns of uninitialised members in ~std::variant and of overlaps in std::string.
    add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized> $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>)
    foreach(sanitizer address thread)  # g++ defines these itself; tests check for sanitizers by these names.
      if(TENON_SANITIZE MATCHES "${sanitizer}" AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
        string(TOUPPER "__SANITIZE_${sanitizer}__" macro)
        add_compile_definitions(${macro})
      endif()
    endforeach()
    if(TENON_SANITIZE MATCHES "undefined")
      add_compile_options(-fno-sanitize-recover=undefined)
    endif()
  endif()
endif()
if(TENON_BUILD_FUZZERS)
  # Libraries too, or fuzzers cannot see into them. The second counts for llvm-cov, of which scripts/fuzz.py makes its report.
  add_compile_options(-fsanitize=fuzzer-no-link -fprofile-instr-generate -fcoverage-mapping)
  add_link_options(-fprofile-instr-generate)
endif()
if(TENON_BUILD_TESTS)
  set(CMAKE_VERIFY_INTERFACE_HEADER_SETS ON)  # all_verify_interface_header_sets compiles each public header alone.
  enable_testing()
  find_package(GTest REQUIRED)
endif()
if(TENON_BUILD_BENCH)
  find_package(benchmark REQUIRED)
endif()
