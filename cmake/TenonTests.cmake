# SPDX-License-Identifier: Apache-2.0
# The functions that a folder's CMakeLists.txt calls for what it needs and for what is run: tests, programs of tests, examples.

# Compile time matters more than a test's speed, most of all where sanitizers make it long; but with -O0 engine_test runs over twice as long
# as with -O1 (50 s of processor time). For -Og, g++ takes a quarter less time than for -O1, and warns of the C++ library's own members.
# OpenVINO's flags define macros that the C++ library reads: all tests have them, so that they can share a precompiled header.
set(TENON_TEST_OPTIONS $<$<CONFIG:Release,RelWithDebInfo>:-Og> $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized>)
if(TENON_SANITIZE)
  string(REPLACE "-Og" "-O0" TENON_TEST_OPTIONS "${TENON_TEST_OPTIONS}")
endif()
set(TENON_TEST_DEFINITIONS $<$<TARGET_EXISTS:openvino::runtime>:$<TARGET_PROPERTY:openvino::runtime,INTERFACE_COMPILE_DEFINITIONS>>)
set(TENON_TEST_HEADERS gmock/gmock.h gtest/gtest.h algorithm atomic chrono cmath condition_variable cstring filesystem fstream functional map
    memory mutex optional random set sstream string thread utility vector)

# Sets <variable> to what is missing among targets (x::y, z) and files of the tree (x/y), joined for a message.
function(_tenon_missing variable)
  set(missing "")
  foreach(needed IN LISTS ARGN)
    if(needed MATCHES "/" AND NOT EXISTS "${PROJECT_SOURCE_DIR}/${needed}" OR NOT needed MATCHES "/" AND NOT TARGET "${needed}")
      get_property(modules GLOBAL PROPERTY "TENON_MODULES_OF_${needed}")
      if(modules)
        list(JOIN modules ", " modules)
        set(needed "pkg-config modules ${modules}")
      endif()
      list(APPEND missing "${needed}")
    endif()
  endforeach()
  list(JOIN missing ", " missing)
  set(${variable} "${missing}" PARENT_SCOPE)
endfunction()

# tenon_needs(name targets, files...): leaves the calling CMakeLists.txt, and says why, where one of them is missing.
macro(tenon_needs _tenon_name)
  _tenon_missing(_tenon_lacks ${ARGN})
  if(_tenon_lacks)
    tenon_switched_off("${_tenon_name}" "missing ${_tenon_lacks}")
    return()
  endif()
endmacro()

# tenon_needs_no_sanitizer(name why): the same in a sanitized build.
macro(tenon_needs_no_sanitizer _tenon_name _tenon_why)
  if(TENON_SANITIZE)
    tenon_switched_off("${_tenon_name}" "${_tenon_why}")
    return()
  endif()
endmacro()

# tenon_find_modules(VARIABLE modules...): makes the target PkgConfig::VARIABLE and sets VARIABLE_FOUND, if pkg-config has all modules.
function(tenon_find_modules variable)
  find_package(PkgConfig QUIET)
  if(PkgConfig_FOUND)
    pkg_check_modules(${variable} QUIET IMPORTED_TARGET ${ARGN})
  endif()
  set_property(GLOBAL PROPERTY "TENON_MODULES_OF_PkgConfig::${variable}" ${ARGN})
endfunction()

# tenon_sources(variable patterns...): the sources of these patterns that are neither tests, benchmarks nor probes.
function(tenon_sources variable)
  file(GLOB sources CONFIGURE_DEPENDS ${ARGN})
  list(FILTER sources EXCLUDE REGEX "_(test|bench)\\.cpp$|/probe\\.cpp$")
  set(${variable} ${sources} PARENT_SCOPE)
endfunction()

# _tenon_precompile(test): the headers that most tests include, of GoogleTest, the C++ library and core's tensors, are parsed once for all tests:
# that takes 3 s, a sixth to a half of a unit's compile time. All others of Tenon's stay out of them, so that a change of one rebuilds only the
# tests that include it. The preset clang compiles tests without them, and so finds an include that is missing.
function(_tenon_precompile test)
  if(NOT TARGET tenon_test_headers)
    file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/generated/test_headers.cpp" CONTENT "// The target of a precompiled header needs a source.\n")
    add_library(tenon_test_headers OBJECT EXCLUDE_FROM_ALL "${PROJECT_BINARY_DIR}/generated/test_headers.cpp")
    # As in programs: a compiler takes no precompiled header that was made with other options of this kind.
    set_target_properties(tenon_test_headers PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(tenon_test_headers PRIVATE ${CMAKE_CXX_COMPILE_OPTIONS_PIE} ${TENON_TEST_OPTIONS})
    target_compile_definitions(tenon_test_headers PRIVATE ${TENON_TEST_DEFINITIONS})
    target_include_directories(tenon_test_headers PRIVATE "${TENON_INCLUDE_DIR}")
    target_link_libraries(tenon_test_headers PRIVATE tenon_flags GTest::gtest GTest::gmock)
    list(TRANSFORM TENON_TEST_HEADERS REPLACE "(.+)" "$<$<COMPILE_LANGUAGE:CXX>:<\\1$<ANGLE-R>>")
    target_precompile_headers(tenon_test_headers PRIVATE ${TENON_TEST_HEADERS})
  endif()
  target_precompile_headers(${test} REUSE_FROM tenon_test_headers)
endfunction()

# tenon_add_test(NAME x_test SOURCES ... LINK ... [LABELS core] [ENV A=1] [TIMEOUT s] [DEPENDS targets] [FIXTURES f] [NO_MAIN]
#                [EXPORTS: its functions answer those of libraries] [EIGHTHS: of its cases, CI and ./dev test run an eighth each day]);
# does nothing without SOURCES.
function(tenon_add_test)
  cmake_parse_arguments(A "NO_MAIN;EXPORTS;EIGHTHS" "NAME;TIMEOUT" "SOURCES;LINK;LABELS;ENV;DEPENDS;FIXTURES" ${ARGN})
  if(NOT TENON_BUILD_TESTS OR NOT A_SOURCES)
    return()
  endif()
  if(A_EIGHTHS)
    list(APPEND A_SOURCES "${PROJECT_SOURCE_DIR}/tests/support/eighth.cpp")
  endif()
  add_executable(${A_NAME} ${A_SOURCES})
  target_compile_options(${A_NAME} PRIVATE ${TENON_TEST_OPTIONS})
  target_compile_definitions(${A_NAME} PRIVATE ${TENON_TEST_DEFINITIONS})
  if(TENON_JOIN_TESTS)
    _tenon_precompile(${A_NAME})
  endif()
  target_include_directories(${A_NAME} PRIVATE "${PROJECT_SOURCE_DIR}/tests")  # For "support/...".
  if(NOT A_LINK MATCHES "tenon")  # A client of a driver, say, links no library of Tenon's.
    target_include_directories(${A_NAME} PRIVATE "${TENON_INCLUDE_DIR}")
  endif()
  target_link_libraries(${A_NAME} PRIVATE tenon_flags ${A_LINK} GTest::gtest GTest::gmock)
  if(NOT A_NO_MAIN)
    target_link_libraries(${A_NAME} PRIVATE GTest::gtest_main)
  endif()
  # Headers are most of a test's compile time, so several sources of a test are compiled as one; each has a namespace of its own.
  # What replaces functions of the C++ library stays apart.
  set_target_properties(${A_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests" UNITY_BUILD ${TENON_JOIN_TESTS}
                        UNITY_BUILD_BATCH_SIZE 5)
  if(A_EXPORTS)
    set_target_properties(${A_NAME} PROPERTIES ENABLE_EXPORTS ON)
  endif()
  set(apart ${A_SOURCES})
  list(FILTER apart INCLUDE REGEX "allocation_count\\.cpp$|/testing/")
  set_source_files_properties(${apart} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  if(A_DEPENDS)
    add_dependencies(${A_NAME} ${A_DEPENDS})
  endif()
  add_test(NAME ${A_NAME} COMMAND ${A_NAME})
  foreach(label IN LISTS A_LABELS)
    if(label MATCHES "^(core|frameworks|parsers)$")
      add_dependencies(tenon_sanitized_tests ${A_NAME})
    endif()
    if(label MATCHES "^(core|frameworks|runtime|drivers|elements)$")
      add_dependencies(tenon_threaded_tests ${A_NAME})
    endif()
  endforeach()
  if(NOT A_TIMEOUT)
    set(A_TIMEOUT 120)
  endif()
  if(TENON_SANITIZE)
    math(EXPR A_TIMEOUT "${A_TIMEOUT} * 10")  # Sanitizers are slow; a hang still has to end.
  endif()
  # TIMEOUT is the time that a test may take on an idle machine. Beside other work it takes several times as long; only a hang is to end,
  # and soon enough that CI can say which test hung.
  math(EXPR limit "${A_TIMEOUT} * 5")
  if(limit GREATER 1500 AND NOT TENON_SANITIZE)
    set(limit 1500)
  endif()
  # A binary whose tests were all skipped is reported as skipped by ctest, not as passed.
  # The longest begin first: a long test at the end would leave processors idle.
  set_tests_properties(${A_NAME} PROPERTIES TIMEOUT ${limit} COST ${A_TIMEOUT} LABELS "${A_LABELS}" ENVIRONMENT "${A_ENV}"
                       SKIP_RETURN_CODE 77 SKIP_REGULAR_EXPRESSION
                       "\\[  PASSED  \\] 0 tests\\.\n\\[  SKIPPED \\] [0-9]+ tests?, listed below:\n(\\[  SKIPPED \\] [^\n]*\n?)+$")
  if(A_FIXTURES)
    set_tests_properties(${A_NAME} PROPERTIES FIXTURES_REQUIRED "${A_FIXTURES}")
  endif()
endfunction()

# tenon_test_run(name COMMAND program arguments... [NEEDS targets, files] [LABELS l] [TIMEOUT s, 300] [ENV A=1] [PASS regular expression]
#                [COST s: it begins before those of less] [SKIPS: exit code 77 is no failure] [FAILS: it is to fail] [FIXTURES f]
#                [SETUP fixture] [VARIANT] [UNSANITIZED: left out of sanitized builds])
# A test that runs a program, where the program and what it NEEDS are there; these are built before it. A VARIANT runs a suite again under
# another setting: CI runs an eighth of the variants, ./dev check --all each.
function(tenon_test_run name)
  cmake_parse_arguments(PARSE_ARGV 1 A "SKIPS;FAILS;VARIANT;UNSANITIZED" "TIMEOUT;COST;PASS;SETUP" "COMMAND;NEEDS;LABELS;ENV;FIXTURES")
  _tenon_missing(missing ${A_NEEDS})
  if(NOT TENON_BUILD_TESTS OR missing OR (A_UNSANITIZED AND TENON_SANITIZE))
    return()
  endif()
  list(GET A_COMMAND 0 program)
  foreach(needed IN LISTS A_NEEDS)
    if(TARGET "${program}" AND TARGET "${needed}" AND NOT needed STREQUAL program)
      add_dependencies(${program} ${needed})
    endif()
  endforeach()
  add_test(NAME ${name} COMMAND ${A_COMMAND})
  if(NOT A_TIMEOUT)
    set(A_TIMEOUT 300)
  endif()
  set(cost 0)
  if(A_COST)
    set(cost ${A_COST})
  endif()
  if(A_VARIANT)
    list(APPEND A_LABELS variant)
    set(cost 600)  # Whole suites: they begin among the first, as in tenon_add_test.
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${A_LABELS}" TIMEOUT ${A_TIMEOUT} COST ${cost})
  foreach(each ENV=ENVIRONMENT PASS=PASS_REGULAR_EXPRESSION FIXTURES=FIXTURES_REQUIRED SETUP=FIXTURES_SETUP)
    string(REPLACE "=" ";" each "${each}")
    list(POP_FRONT each argument)
    if(A_${argument})
      set_tests_properties(${name} PROPERTIES ${each} "${A_${argument}}")
    endif()
  endforeach()
  if(A_SKIPS)
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
  endif()
  if(A_FAILS)
    set_tests_properties(${name} PROPERTIES WILL_FAIL TRUE)
  endif()
endfunction()

# tenon_intel_opencl_test(name COMMAND ... [ENV ...] ...): tenon_test_run on Intel's OpenCL runtime for CPUs. Where that is not installed, the
# test says so and is skipped.
function(tenon_intel_opencl_test name)
  cmake_parse_arguments(PARSE_ARGV 1 A "" "" "COMMAND;ENV")
  find_library(TENON_INTEL_OPENCL NAMES intelocl PATHS "${PROJECT_SOURCE_DIR}/build/venv/lib" NO_DEFAULT_PATH)
  if(TENON_INTEL_OPENCL)
    list(PREPEND A_ENV "OCL_ICD_VENDORS=${TENON_INTEL_OPENCL}")
  else()
    set(A_COMMAND sh -c "echo 'skipped: no Intel OpenCL runtime in build/venv, ./dev test installs it' && exit 77")
    set(A_ENV "")
  endif()
  tenon_test_run(${name} COMMAND ${A_COMMAND} ENV ${A_ENV} LABELS frameworks TIMEOUT 1500 SKIPS UNSANITIZED ${A_UNPARSED_ARGUMENTS})
endfunction()

# tenon_program(name SOURCES ... [LINK ...] [DEPENDS targets]): a program for tests, in <build>/tests.
function(tenon_program name)
  cmake_parse_arguments(A "" "" "SOURCES;LINK;DEPENDS" ${ARGN})
  add_executable(${name} ${A_SOURCES})
  target_link_libraries(${name} PRIVATE tenon_flags ${A_LINK})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  if(A_DEPENDS)
    add_dependencies(${name} ${A_DEPENDS})
  endif()
endfunction()

# tenon_peer(name SOURCES ... [LINK ...] [DEPENDS targets] [PEER_OPENVINO]): a program that ./dev bench builds and runs, in <build>/peers; not
# part of `all`. With PEER_OPENVINO the source is compiled against OpenVINO, where that is found.
function(tenon_peer name)
  cmake_parse_arguments(A "PEER_OPENVINO" "" "SOURCES;LINK;DEPENDS" ${ARGN})
  if(A_PEER_OPENVINO AND NOT TARGET openvino::runtime)
    return()
  endif()
  tenon_program(${name} ${A_UNPARSED_ARGUMENTS} SOURCES ${A_SOURCES} LINK ${A_LINK} DEPENDS ${A_DEPENDS})
  set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/peers")
  if(A_PEER_OPENVINO)
    target_link_libraries(${name} PRIVATE openvino::runtime)
    target_compile_definitions(${name} PRIVATE PEER_OPENVINO)
    target_include_directories(${name} PRIVATE "${TENON_INCLUDE_DIR}")  # For bench/worker.hpp.
  endif()
endfunction()

# tenon_example(name LINK targets [NEEDS more of them, files]): the program of <name>.cpp or <name>.c; leaves the calling CMakeLists.txt
# where something is missing. Its tests are runs of it, by tenon_test_run.
macro(tenon_example _tenon_name)
  cmake_parse_arguments(_tenon "" "" "LINK;NEEDS" ${ARGN})
  tenon_needs(${_tenon_name} ${_tenon_LINK} ${_tenon_NEEDS})
  if(EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${_tenon_name}.c")
    add_executable(${_tenon_name} ${_tenon_name}.c)
    target_compile_options(${_tenon_name} PRIVATE -Wall -Wextra -Wpedantic)
    target_link_libraries(${_tenon_name} PRIVATE ${_tenon_LINK})
  else()
    add_executable(${_tenon_name} ${_tenon_name}.cpp)
    target_link_libraries(${_tenon_name} PRIVATE tenon_flags ${_tenon_LINK})
  endif()
endmacro()
