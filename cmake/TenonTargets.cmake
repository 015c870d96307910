# SPDX-License-Identifier: Apache-2.0
# The functions that a folder's CMakeLists.txt calls: layer, framework, device, test, benchmark, fuzzer.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set_property(GLOBAL PROPERTY TENON_COMPONENTS "")
# What the demo needs; what runs under the sanitizers in every change; what runs under the thread sanitizer.
add_custom_target(tenon_demo)
add_custom_target(tenon_sanitized_tests)
add_custom_target(tenon_fuzzers)
add_custom_target(tenon_threaded_tests)

# Adds every folder below <parent> that has a CMakeLists.txt: deleting one needs no edit.
function(tenon_add_each parent)
  file(GLOB lists CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${parent}/*/CMakeLists.txt")
  # The hubs first, cpu before dmabuf, which stands on it: others may name them as dependencies.
  foreach(hub dmabuf cpu)
    set(list "${PROJECT_SOURCE_DIR}/${parent}/${hub}/CMakeLists.txt")
    if(parent STREQUAL "frameworks" AND list IN_LIST lists)
      list(REMOVE_ITEM lists "${list}")
      list(PREPEND lists "${list}")
    endif()
  endforeach()
  foreach(list IN LISTS lists)
    get_filename_component(folder "${list}" DIRECTORY)
    get_filename_component(name "${folder}" NAME)
    add_subdirectory("${folder}" "${PROJECT_BINARY_DIR}/cmake/${parent}/${name}")
  endforeach()
endfunction()

function(tenon_add_layer_if_present layer)
  if(EXISTS "${PROJECT_SOURCE_DIR}/${layer}/CMakeLists.txt")
    add_subdirectory("${PROJECT_SOURCE_DIR}/${layer}" "${PROJECT_BINARY_DIR}/cmake/${layer}")
  endif()
endfunction()

# Says that a folder is off and why, at configure time.
function(tenon_switched_off name reason)
  message(STATUS "Tenon: ${name} is off: ${reason}")
endfunction()

# All *.hpp and *.h of the calling folder and below are public and installed, except *_internal.hpp and what tests use.
function(_tenon_public_headers target scope)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.hpp" "${CMAKE_CURRENT_SOURCE_DIR}/*.h")
  list(FILTER headers EXCLUDE REGEX "_internal\\.hpp$|_test\\.hpp$|/conformance[^/]*\\.hpp$|/header_only\\.hpp$")
  target_sources(${target} ${scope} FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}" FILES ${headers})
endfunction()

# tenon_add_library(NAME core SOURCES a.cpp [PUBLIC targets] [PRIVATE targets])
# Makes tenon::<name> (shared, what programs link) and tenon::<name>_static from the same objects (for islands such as
# drivers, which share no symbol with their client).
function(tenon_add_library)
  cmake_parse_arguments(A "" "NAME" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(tenon_${A_NAME}_objects OBJECT ${A_SOURCES})
  target_include_directories(tenon_${A_NAME}_objects PUBLIC "${TENON_INCLUDE_DIR}")
  target_link_libraries(tenon_${A_NAME}_objects PRIVATE tenon_flags ${A_PRIVATE} ${A_PUBLIC})
  add_library(tenon_${A_NAME} SHARED)
  add_library(tenon_${A_NAME}_static STATIC EXCLUDE_FROM_ALL)
  foreach(target tenon_${A_NAME} tenon_${A_NAME}_static)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:tenon_${A_NAME}_objects>)
    target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${TENON_INCLUDE_DIR}>
                                                $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_compile_features(${target} PUBLIC cxx_std_20)
  endforeach()
  _tenon_public_headers(tenon_${A_NAME} PUBLIC)
  target_link_libraries(tenon_${A_NAME} PUBLIC ${A_PUBLIC} PRIVATE ${A_PRIVATE})
  set(static_public ${A_PUBLIC})
  list(TRANSFORM static_public REPLACE "^(tenon::(core|graph|runtime|vision))$" "\\1_static")
  target_link_libraries(tenon_${A_NAME}_static PUBLIC ${static_public} PRIVATE ${A_PRIVATE})
  set_target_properties(tenon_${A_NAME} PROPERTIES EXPORT_NAME ${A_NAME} SOVERSION ${PROJECT_VERSION_MAJOR}
                        VERSION ${PROJECT_VERSION})
  add_library(tenon::${A_NAME} ALIAS tenon_${A_NAME})
  add_library(tenon::${A_NAME}_static ALIAS tenon_${A_NAME}_static)
  tenon_install_component(${A_NAME} tenon_${A_NAME})
endfunction()

# One export set per component, so that find_package(Tenon COMPONENTS x) needs only what x needs.
# tenon_install_component(name target [DEPENDS "find_dependency(..) lines"])
function(tenon_install_component name target)
  cmake_parse_arguments(A "" "" "DEPENDS" ${ARGN})
  install(TARGETS ${target} EXPORT Tenon_${name} FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/tenon"
          LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  install(EXPORT Tenon_${name} NAMESPACE tenon:: FILE Tenon_${name}.cmake
          DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/Tenon")
  set_property(GLOBAL APPEND PROPERTY TENON_COMPONENTS ${name})
  set_property(GLOBAL PROPERTY TENON_COMPONENT_${name}_DEPENDS "${A_DEPENDS}")
endfunction()

# tenon_add_framework(NAME x [NEEDS pkg-config modules or imported targets] [PKGCONFIG m...] [DEPENDS cpu])
# Bridges too: they depend on the frameworks that they join.
#   [FIND_MODULES FindY.cmake: the folder's own find modules for PACKAGES, installed with the package]
# Makes the option TENON_WITH_X (AUTO|ON|OFF) and the header-only target tenon::x. Returns in the caller's scope
# TENON_X_ENABLED, so that the folder adds its tests only when it is on.
function(tenon_add_framework)
  cmake_parse_arguments(A "" "NAME" "PKGCONFIG;PACKAGES;FIND_MODULES;DEPENDS;LINK" ${ARGN})
  string(TOUPPER "${A_NAME}" upper)
  set(TENON_WITH_${upper} AUTO CACHE STRING "Framework ${A_NAME}: AUTO, ON or OFF")
  set_property(CACHE TENON_WITH_${upper} PROPERTY STRINGS AUTO ON OFF)
  set(TENON_${upper}_ENABLED OFF PARENT_SCOPE)
  if(TENON_MINIMAL OR TENON_WITH_${upper} STREQUAL "OFF")
    tenon_switched_off("${A_NAME}" "TENON_WITH_${upper}=OFF")
    return()
  endif()
  set(missing "")
  set(links ${A_LINK})
  set(find_lines "")
  if(A_PKGCONFIG)
    find_package(PkgConfig QUIET)
    if(PkgConfig_FOUND)
      pkg_check_modules(TENON_${upper} QUIET IMPORTED_TARGET GLOBAL ${A_PKGCONFIG})
    endif()
    if(TENON_${upper}_FOUND)
      list(APPEND links PkgConfig::TENON_${upper})
      list(JOIN A_PKGCONFIG " " modules)
      list(APPEND find_lines "find_dependency(PkgConfig)"
           "pkg_check_modules(TENON_${upper} REQUIRED IMPORTED_TARGET GLOBAL ${modules})")
    else()
      list(APPEND missing "pkg-config modules ${A_PKGCONFIG}")
    endif()
  endif()
  if(A_FIND_MODULES)
    list(PREPEND CMAKE_MODULE_PATH "${CMAKE_CURRENT_SOURCE_DIR}")
    list(APPEND find_lines "list(PREPEND CMAKE_MODULE_PATH \"\${CMAKE_CURRENT_LIST_DIR}\")")
  endif()
  foreach(package IN LISTS A_PACKAGES)
    find_package(${package} QUIET)
    if(${package}_FOUND)
      list(APPEND find_lines "find_dependency(${package})")
    else()
      list(APPEND missing "CMake package ${package}")
    endif()
  endforeach()
  foreach(dep IN LISTS A_DEPENDS)
    if(NOT TARGET tenon::${dep})
      list(APPEND missing "framework ${dep}")
    endif()
  endforeach()
  if(missing)
    list(JOIN missing ", " missing)
    if(TENON_WITH_${upper} STREQUAL "ON")
      message(FATAL_ERROR "Tenon: TENON_WITH_${upper}=ON, but missing: ${missing}. Install them, or use AUTO.")
    endif()
    tenon_switched_off("${A_NAME}" "missing ${missing}")
    return()
  endif()
  add_library(tenon_${A_NAME} INTERFACE)
  add_library(tenon::${A_NAME} ALIAS tenon_${A_NAME})
  _tenon_public_headers(tenon_${A_NAME} INTERFACE)
  target_include_directories(tenon_${A_NAME} INTERFACE $<BUILD_INTERFACE:${TENON_INCLUDE_DIR}>
                             $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  set(dep_targets ${A_DEPENDS})
  list(TRANSFORM dep_targets PREPEND tenon::)
  target_link_libraries(tenon_${A_NAME} INTERFACE tenon::core ${dep_targets} ${links})
  set_target_properties(tenon_${A_NAME} PROPERTIES EXPORT_NAME ${A_NAME})
  set(component_deps "")
  foreach(dep IN LISTS A_DEPENDS)
    list(APPEND component_deps "tenon_component(${dep})")
  endforeach()
  tenon_install_component(${A_NAME} tenon_${A_NAME} DEPENDS ${component_deps} ${find_lines})
  install(FILES ${A_FIND_MODULES} DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/Tenon")
  set_property(GLOBAL APPEND PROPERTY TENON_FRAMEWORKS ${A_NAME})
  set(TENON_${upper}_ENABLED ON PARENT_SCOPE)
  message(STATUS "Tenon: ${A_NAME} is on")
endfunction()

# tenon_generate_contexts(target): compiles into <target> a function tenon::known_contexts(), which asks each framework
# and bridge that is on and has a contexts.hpp (tenon::x::contexts(): what exists of it on this machine). No list of frameworks anywhere.
function(tenon_generate_contexts target)
  get_property(frameworks GLOBAL PROPERTY TENON_FRAMEWORKS)
  set(includes "")
  set(calls "")
  foreach(framework IN LISTS frameworks)
    foreach(parent frameworks bridges)
      if(EXISTS "${PROJECT_SOURCE_DIR}/${parent}/${framework}/contexts.hpp")
        string(APPEND includes "#include <tenon/${parent}/${framework}/contexts.hpp>\n")
        string(APPEND calls "  for (auto& context : ${framework}::contexts()) all.push_back(context);\n")
      endif()
    endforeach()
    target_link_libraries(${target} PRIVATE tenon::${framework})
  endforeach()
  file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/known_contexts.cpp" CONTENT
"// Generated by tenon_generate_contexts().
#include <vector>
#include <tenon/core/context.hpp>
${includes}
namespace tenon {
std::vector<Context> known_contexts() {
  std::vector<Context> all;
${calls}  return all;
}
}  // namespace tenon
" @ONLY)
  target_sources(${target} PRIVATE "${CMAKE_CURRENT_BINARY_DIR}/known_contexts.cpp")
endfunction()

# tenon_add_device(NAME cpu SOURCES ... LINK ... [EXAMPLE]): a module libtenon_device_<name>.so that the runtime loads by
# name. An EXAMPLE lies in lib/examples and is not installed.
function(tenon_add_device)
  cmake_parse_arguments(A "EXAMPLE" "NAME" "SOURCES;LINK" ${ARGN})
  add_library(tenon_device_${A_NAME} MODULE ${A_SOURCES})
  target_link_libraries(tenon_device_${A_NAME} PRIVATE tenon_flags tenon::runtime ${A_LINK})
  if(NOT TENON_SANITIZE)  # Whose functions come with the program.
    target_link_options(tenon_device_${A_NAME} PRIVATE LINKER:-z,defs)  # What is missing fails here, not when it is loaded.
  endif()
  set_target_properties(tenon_device_${A_NAME} PROPERTIES CXX_VISIBILITY_PRESET hidden)
  if(A_EXAMPLE)
    set_target_properties(tenon_device_${A_NAME} PROPERTIES
                          LIBRARY_OUTPUT_DIRECTORY "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/examples")
    return()
  endif()
  add_dependencies(tenon_demo tenon_device_${A_NAME})
  install(TARGETS tenon_device_${A_NAME} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endfunction()

# tenon_add_test(NAME x_test SOURCES ... LINK ... [LABELS core] [ENV A=1] [TIMEOUT s])
function(tenon_add_test)
  cmake_parse_arguments(A "NO_MAIN" "NAME;TIMEOUT" "SOURCES;LINK;LABELS;ENV;DEPENDS" ${ARGN})
  if(NOT TENON_BUILD_TESTS)
    return()
  endif()
  add_executable(${A_NAME} ${A_SOURCES})
  target_compile_options(${A_NAME} PRIVATE $<$<CONFIG:Release,RelWithDebInfo>:-O1>)  # Tests wait for the compiler, not for loops.
  target_include_directories(${A_NAME} PRIVATE "${PROJECT_SOURCE_DIR}/tests")  # For "support/...".
  target_link_libraries(${A_NAME} PRIVATE tenon_flags ${A_LINK} GTest::gtest GTest::gmock)
  if(NOT A_NO_MAIN)
    target_link_libraries(${A_NAME} PRIVATE GTest::gtest_main)
  endif()
  set_target_properties(${A_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  if(A_DEPENDS)
    add_dependencies(${A_NAME} ${A_DEPENDS})
  endif()
  add_test(NAME ${A_NAME} COMMAND ${A_NAME})
  foreach(label IN LISTS A_LABELS)
    if(label MATCHES "^(core|frameworks|parsers)$")
      add_dependencies(tenon_sanitized_tests ${A_NAME})
    endif()
    if(label MATCHES "^(core|frameworks|runtime|drivers)$")
      add_dependencies(tenon_threaded_tests ${A_NAME})
    endif()
  endforeach()
  if(NOT A_TIMEOUT)
    set(A_TIMEOUT 120)
  endif()
  if(TENON_SANITIZE)
    math(EXPR A_TIMEOUT "${A_TIMEOUT} * 10")  # Sanitizers are slow; a hang still ends.
  endif()
  # Where every test of a binary was skipped, and none failed, ctest says so: green would be a claim.
  set_tests_properties(${A_NAME} PROPERTIES TIMEOUT ${A_TIMEOUT} LABELS "${A_LABELS}" ENVIRONMENT "${A_ENV}"
                       SKIP_RETURN_CODE 77 SKIP_REGULAR_EXPRESSION
                       "\\[  PASSED  \\] 0 tests\\.\n\\[  SKIPPED \\] [0-9]+ tests?, listed below:\n(\\[  SKIPPED \\] [^\n]*\n?)+$")
endfunction()

# tenon_add_bench(NAME x_bench SOURCES ... LINK ...): Google Benchmark, built with TENON_BUILD_BENCH.
function(tenon_add_bench)
  cmake_parse_arguments(A "" "NAME" "SOURCES;LINK" ${ARGN})
  if(NOT TENON_BUILD_BENCH)
    return()
  endif()
  add_executable(${A_NAME} ${A_SOURCES})
  target_link_libraries(${A_NAME} PRIVATE tenon_flags ${A_LINK} benchmark::benchmark benchmark::benchmark_main)
  set_target_properties(${A_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bench")
endfunction()

# tenon_add_fuzzer(NAME x_fuzz SOURCES ... LINK ...): libFuzzer, clang only, built with TENON_BUILD_FUZZERS.
function(tenon_add_fuzzer)
  cmake_parse_arguments(A "" "NAME" "SOURCES;LINK" ${ARGN})
  if(NOT TENON_BUILD_FUZZERS)
    return()
  endif()
  add_executable(${A_NAME} ${A_SOURCES})
  target_compile_options(${A_NAME} PRIVATE -fsanitize=fuzzer)
  target_link_options(${A_NAME} PRIVATE -fsanitize=fuzzer)
  target_link_libraries(${A_NAME} PRIVATE tenon_flags ${A_LINK})
  set_target_properties(${A_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/fuzz")
  add_dependencies(tenon_fuzzers ${A_NAME})
endfunction()
