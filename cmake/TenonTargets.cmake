# SPDX-License-Identifier: Apache-2.0
# The functions that a folder's CMakeLists.txt calls: layer, framework, device, test, benchmark, fuzzer.
include(CMakePackageConfigHelpers)
set_property(GLOBAL PROPERTY TENON_COMPONENTS "")
# Targets: what the demo needs; tests that run under the address sanitizer; fuzzers; benchmarks; tests that run under the thread sanitizer.
add_custom_target(tenon_demo)
add_custom_target(tenon_sanitized_tests)
add_custom_target(tenon_fuzzers)
add_custom_target(tenon_benches)
add_custom_target(tenon_threaded_tests)

# Adds every folder below <parent> that has a CMakeLists.txt: deleting one needs no edit.
function(tenon_add_each parent)
  file(GLOB lists CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${parent}/*/CMakeLists.txt")
  # Hubs first, cpu before dmabuf, which needs it: the other folders may depend on both.
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

# tenon_needs_system(name system, Linux): leaves the calling CMakeLists.txt where the build is for another system.
macro(tenon_needs_system _tenon_name _tenon_system)
  if(NOT CMAKE_SYSTEM_NAME STREQUAL "${_tenon_system}")
    tenon_switched_off("${_tenon_name}" "it is for ${_tenon_system}, this build is for ${CMAKE_SYSTEM_NAME}")
    return()
  endif()
endmacro()

# Reports at configure time that a folder is off, and why.
function(tenon_switched_off name reason)
  message(STATUS "Tenon: ${name} is off: ${reason}")
endfunction()

# All headers of the calling folder and below are public and installed, except folders internal/ and testing/
# and the folders and files listed in `private`.
function(_tenon_public_headers target scope private)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.hpp" "${CMAKE_CURRENT_SOURCE_DIR}/*.h")
  list(FILTER headers EXCLUDE REGEX "/(internal|testing)/|^${CMAKE_CURRENT_SOURCE_DIR}/(.*/)?${TENON_OTHER_SYSTEM}/")
  foreach(each IN LISTS private)
    string(REPLACE "." "\\." each "${CMAKE_CURRENT_SOURCE_DIR}/${each}")
    list(FILTER headers EXCLUDE REGEX "^${each}(/|$)")
  endforeach()
  target_sources(${target} ${scope} FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}" FILES ${headers})
endfunction()

# Every shared library's exported symbols have the version TENON_<major>: a program that was linked with another first number is refused by
# the loader, with the name. One version for all libraries, because what several of them define (inline variables) must be one thing.
# Functions of the C++ library stay inside: a program in C++17 takes those of strings from whichever library it is linked with first, and a build of
# Tenon whose compiler inlined them would not start it.
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/generated/symbols.map" CONTENT [[
TENON_@PROJECT_VERSION_MAJOR@ {
  global: *;
  local: _ZSt*; _ZNSt*; _ZNKSt*; _ZNSa*; _ZNKSa*; _ZNSs*; _ZNKSs*; _ZN9__gnu_cxx*; _ZNK9__gnu_cxx*;
};
]] @ONLY)
function(_tenon_version_symbols target map)
  if(WIN32)
    return()  # DLLs have no versions of symbols: a program is bound to the names of libraries.
  endif()
  if(NOT map AND NOT TENON_SANITIZE)  # A sanitizer's symbols must be those of the program.
    set(map "${PROJECT_BINARY_DIR}/generated/symbols.map")
  endif()
  if(map)
    target_link_options(${target} PRIVATE "LINKER:--version-script=${map}")
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${map}")
  endif()
endfunction()

# tenon_add_library(NAME core SOURCES a.cpp [OBJECTS object libraries] [PUBLIC targets] [PRIVATE targets]
#                   [PRIVATE_HEADERS folders, files] [PC_CFLAGS what pkg-config adds] [EXPORTS version script])
# Makes tenon::<name> (shared, what programs link) and tenon::<name>_static from the same objects (for islands such as
# drivers, which share no symbol with their client).
function(tenon_add_library)
  cmake_parse_arguments(A "" "NAME;EXPORTS" "SOURCES;OBJECTS;PUBLIC;PRIVATE;PRIVATE_HEADERS;PC_CFLAGS" ${ARGN})
  add_library(tenon_${A_NAME}_objects OBJECT ${A_SOURCES})
  list(APPEND A_OBJECTS tenon_${A_NAME}_objects)
  list(TRANSFORM A_OBJECTS REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>")
  target_include_directories(tenon_${A_NAME}_objects PUBLIC "${TENON_INCLUDE_DIR}")
  target_link_libraries(tenon_${A_NAME}_objects PRIVATE tenon_flags ${A_PRIVATE} ${A_PUBLIC})
  add_library(tenon_${A_NAME} SHARED)
  add_library(tenon_${A_NAME}_static STATIC EXCLUDE_FROM_ALL)
  foreach(target tenon_${A_NAME} tenon_${A_NAME}_static)
    target_sources(${target} PRIVATE ${A_OBJECTS})
    target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${TENON_INCLUDE_DIR}>
                                                $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_compile_features(${target} PUBLIC cxx_std_20)
  endforeach()
  _tenon_public_headers(tenon_${A_NAME} PUBLIC "${A_PRIVATE_HEADERS}")
  target_link_libraries(tenon_${A_NAME} PUBLIC ${A_PUBLIC} PRIVATE ${A_PRIVATE})
  set(static_public ${A_PUBLIC})
  list(TRANSFORM static_public REPLACE "^(tenon::(core|graph|runtime|vision))$" "\\1_static")
  target_link_libraries(tenon_${A_NAME}_static PUBLIC ${static_public} PRIVATE ${A_PRIVATE})
  set_target_properties(tenon_${A_NAME} PROPERTIES EXPORT_NAME ${A_NAME} SOVERSION ${PROJECT_VERSION_MAJOR}
                        VERSION ${TENON_FILE_VERSION})
  _tenon_version_symbols(tenon_${A_NAME} "${A_EXPORTS}")
  add_library(tenon::${A_NAME} ALIAS tenon_${A_NAME})
  add_library(tenon::${A_NAME}_static ALIAS tenon_${A_NAME}_static)
  # Programs link only what its headers use; the others are named too, because the linker searches them.
  get_property(components GLOBAL PROPERTY TENON_COMPONENTS)
  set(depends "")
  set(requires "")
  foreach(component IN LISTS components)
    if("tenon::${component}" IN_LIST A_PUBLIC OR "tenon::${component}" IN_LIST A_PRIVATE)
      list(APPEND depends "tenon_needs_component(${A_NAME} ${component})")
    endif()
    if("tenon::${component}" IN_LIST A_PUBLIC)
      list(APPEND requires tenon-${component})
    endif()
  endforeach()
  tenon_install_component(${A_NAME} tenon_${A_NAME} DEPENDS ${depends} PC_REQUIRES ${requires} PC_LIBS -ltenon_${A_NAME}
                          PC_CFLAGS ${A_PC_CFLAGS})
endfunction()

# tenon_add_private_library(NAME store SOURCES a.cpp [LINK targets])
# Makes tenon::<name>, static and hidden, of which every binary that links it has its own; nothing of it is installed. It is
# silent about which form of the libraries below it (shared, static) the final binary links.
function(tenon_add_private_library)
  cmake_parse_arguments(A "" "NAME" "SOURCES;LINK" ${ARGN})
  add_library(tenon_${A_NAME} STATIC ${A_SOURCES})
  add_library(tenon::${A_NAME} ALIAS tenon_${A_NAME})
  target_include_directories(tenon_${A_NAME} PUBLIC "${TENON_INCLUDE_DIR}")
  target_link_libraries(tenon_${A_NAME} PRIVATE tenon_flags PUBLIC ${A_LINK})
  target_compile_features(tenon_${A_NAME} PUBLIC cxx_std_20)
  set_target_properties(tenon_${A_NAME} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
                        VISIBILITY_INLINES_HIDDEN ON)
endfunction()

# tenon_install_binary(target folder [part, runtime]): installs a library or program, as a part of the package, with the loader's search path
# that it has in the build already. CMake would otherwise lengthen the build's path by colons, to overwrite it at installation, and the loader
# reads an empty element as the current folder. The path is relative, since both trees have the same layout.
function(tenon_install_binary target folder)
  set(part runtime)
  if(ARGC GREATER 2)
    set(part ${ARGV2})
  endif()
  set_target_properties(${target} PROPERTIES BUILD_WITH_INSTALL_RPATH ON)
  install(TARGETS ${target} RUNTIME DESTINATION "${folder}" COMPONENT ${part}
          LIBRARY DESTINATION "${folder}" COMPONENT ${part} NAMELINK_COMPONENT dev)
  if(part MATCHES "^(runtime|tools|drivers)$")  # What the Python package holds: cmake/TenonWheel.cmake.
    set_property(GLOBAL APPEND PROPERTY TENON_WHEEL_TARGETS ${target})
  endif()
endfunction()

# tenon_search_at_run_time(target folder): what links the imported target looks for libraries in that folder of the build, which the paths of
# tenon_install_binary do not name. What is installed does not: tenon_forget_folders_of_the_build.
function(tenon_search_at_run_time target folder)
  set_property(TARGET ${target} APPEND PROPERTY INTERFACE_LINK_OPTIONS "LINKER:-rpath,${folder}")
  set_property(GLOBAL APPEND PROPERTY TENON_FOLDERS_OF_THE_BUILD "${folder}")
endfunction()

# Called after everything else that is installed.
function(tenon_forget_folders_of_the_build)
  get_property(folders GLOBAL PROPERTY TENON_FOLDERS_OF_THE_BUILD)
  foreach(folder IN LISTS folders)
    install(CODE "
      file(GLOB libraries \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/libtenon_*\")
      foreach(library IN LISTS libraries)
        if(IS_SYMLINK \"\${library}\")  # To a library of another part, maybe.
          continue()
        endif()
        file(STRINGS \"\${library}\" found REGEX \"${folder}:\" LIMIT_COUNT 1)
        if(found)
          file(RPATH_CHANGE FILE \"\${library}\" OLD_RPATH \"${folder}:\$ORIGIN\" NEW_RPATH \"\$ORIGIN\")
        endif()
      endforeach()" ALL_COMPONENTS)
  endforeach()
endfunction()

# One export set and one pkg-config module (tenon-<name>) per component, so that find_package(Tenon COMPONENTS x) needs only what x needs.
# TENON_PART, runtime where a folder sets none, is the part of the package that has the library.
# tenon_install_component(name target [DEPENDS lines of TenonConfig.cmake] [PC_REQUIRES modules] [PC_CFLAGS flags] [PC_LIBS flags])
function(tenon_install_component name target)
  cmake_parse_arguments(A "" "" "DEPENDS;PC_REQUIRES;PC_CFLAGS;PC_LIBS" ${ARGN})
  foreach(part REQUIRES CFLAGS LIBS)
    list(JOIN A_PC_${part} " " A_PC_${part})
    set_property(GLOBAL PROPERTY TENON_COMPONENT_${name}_PC_${part} "${A_PC_${part}}")
  endforeach()
  set_target_properties(${target} PROPERTIES BUILD_WITH_INSTALL_RPATH ON)  # As tenon_install_binary says.
  if(NOT TENON_PART)
    set(TENON_PART runtime)
  endif()
  install(TARGETS ${target} EXPORT Tenon_${name} FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/tenon"
          LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT ${TENON_PART} NAMELINK_COMPONENT dev ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  install(EXPORT Tenon_${name} NAMESPACE tenon:: FILE Tenon_${name}.cmake
          DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/Tenon")
  set_property(GLOBAL APPEND PROPERTY TENON_COMPONENTS ${name})
  set_property(GLOBAL PROPERTY TENON_COMPONENT_${name}_DEPENDS "${A_DEPENDS}")
endfunction()

# tenon_add_framework(NAME x [NEEDS pkg-config modules or imported targets] [PKGCONFIG m...] [DEPENDS cpu])
# For bridges too, which depend on the frameworks that they join.
#   [FIND_MODULES FindY.cmake: the folder's own find modules for PACKAGES, installed with the package; they may set Y_PC_REQUIRES,
#    Y_PC_CFLAGS and Y_PC_LIBS, what the framework's pkg-config module says of Y]
# Makes the option TENON_WITH_X (AUTO|ON|OFF) and the target tenon::x, a small shared library of the folder's sources, which can also be
# used header-only: by TENON_HEADER_ONLY and header_only.hpp. Sets TENON_X_ENABLED in the caller's
# scope, so that the folder adds its tests only when it is on.
function(tenon_add_framework)
  cmake_parse_arguments(A "EDGES" "NAME" "PKGCONFIG;PACKAGES;FIND_MODULES;DEPENDS;LINK" ${ARGN})
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
  set(pc_requires "")
  set(pc_cflags "")
  set(pc_libs "")
  if(A_PKGCONFIG)
    find_package(PkgConfig QUIET)
    if(PkgConfig_FOUND)
      pkg_check_modules(TENON_${upper} QUIET IMPORTED_TARGET GLOBAL ${A_PKGCONFIG})
    endif()
    if(TENON_${upper}_FOUND)
      list(APPEND links PkgConfig::TENON_${upper})
      list(JOIN A_PKGCONFIG " " modules)
      list(APPEND find_lines "tenon_needs_modules(${A_NAME} TENON_${upper} ${modules})")
      # In the form of a pkg-config module's Requires.
      set(pc_requires ${A_PKGCONFIG})
      list(TRANSFORM pc_requires REPLACE "(>=|<=|=)" " \\1 ")
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
      list(APPEND find_lines "tenon_needs_package(${A_NAME} ${package})")
      list(APPEND pc_requires ${${package}_PC_REQUIRES})
      list(APPEND pc_cflags ${${package}_PC_CFLAGS})
      list(APPEND pc_libs ${${package}_PC_LIBS})
    else()
      list(APPEND missing "CMake package ${package}")
    endif()
  endforeach()
  foreach(dep IN LISTS A_DEPENDS)
    if(NOT TARGET tenon::${dep})
      list(APPEND missing "framework ${dep}")
    endif()
  endforeach()
  # A library that was found must also work: probe.cpp, or that of the system, tests what the framework needs of it.
  file(GLOB probe "probe.cpp" "${TENON_THIS_SYSTEM}/probe.cpp")
  if(NOT missing AND probe)
    tenon_probe(TENON_${upper}_WORKS SOURCE "${probe}" LINK ${links})
    if(NOT TENON_${upper}_WORKS)
      list(APPEND missing "a version that works: what was found fails its probe.cpp, see probes/TENON_${upper}_WORKS.log")
    endif()
  endif()
  if(missing)
    list(JOIN missing ", " missing)
    if(TENON_WITH_${upper} STREQUAL "ON")
      message(FATAL_ERROR "Tenon: TENON_WITH_${upper}=ON, but missing: ${missing}. Install them, or use AUTO.")
    endif()
    tenon_switched_off("${A_NAME}" "missing ${missing}")
    return()
  endif()
  set(dep_targets ${A_DEPENDS})
  list(TRANSFORM dep_targets PREPEND tenon::)
  # By their full names: contexts.cpp alone may also be the one that _tenon_add_contexts generates.
  file(GLOB sources CONFIGURE_DEPENDS "*.cpp" "*/*.cpp")
  list(FILTER sources EXCLUDE REGEX "(_test|_bench|_oracle|/conformance|/probe)\\.cpp$|/testing/[^/]*$|^${CMAKE_CURRENT_SOURCE_DIR}/(.*/)?${TENON_OTHER_SYSTEM}/")
  set(scope INTERFACE)
  if(sources)
    set(scope PUBLIC)
    set(pc_libs "-ltenon_${A_NAME}" ${pc_libs})
    add_library(tenon_${A_NAME}_objects OBJECT ${sources})
    target_include_directories(tenon_${A_NAME}_objects PRIVATE "${TENON_INCLUDE_DIR}")
    target_link_libraries(tenon_${A_NAME}_objects PRIVATE tenon_flags tenon::core ${dep_targets} ${links})
    # Shared: a framework's contexts and edges exist once in a process, whichever modules use them. The static form is for islands such
    # as drivers, which share nothing with their client.
    add_library(tenon_${A_NAME} SHARED $<TARGET_OBJECTS:tenon_${A_NAME}_objects>)
    add_library(tenon_${A_NAME}_static STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:tenon_${A_NAME}_objects>)
    target_compile_features(tenon_${A_NAME} PUBLIC cxx_std_20)
    set_target_properties(tenon_${A_NAME} PROPERTIES SOVERSION ${PROJECT_VERSION_MAJOR} VERSION ${TENON_FILE_VERSION})
    _tenon_version_symbols(tenon_${A_NAME} "")
    # The header-only variant is headers plus the sources that they pull in.
    file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}")
    foreach(source IN LISTS sources)
      file(RELATIVE_PATH room "${CMAKE_CURRENT_SOURCE_DIR}" "${source}")
      get_filename_component(room "${room}" DIRECTORY)
      install(FILES "${source}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/tenon/${folder}/${room}")
    endforeach()
  else()
    add_library(tenon_${A_NAME} INTERFACE)
  endif()
  add_library(tenon::${A_NAME} ALIAS tenon_${A_NAME})
  _tenon_public_headers(tenon_${A_NAME} ${scope} header_only.hpp)
  if(EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/header_only.hpp")
    install(FILES header_only.hpp DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/tenon/${folder}")
  endif()
  target_include_directories(tenon_${A_NAME} ${scope} $<BUILD_INTERFACE:${TENON_INCLUDE_DIR}>
                             $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(tenon_${A_NAME} ${scope} tenon::core ${dep_targets} ${links})
  set_target_properties(tenon_${A_NAME} PROPERTIES EXPORT_NAME ${A_NAME})
  set(component_deps "")
  foreach(dep IN LISTS A_DEPENDS)
    list(APPEND component_deps "tenon_needs_component(${A_NAME} ${dep})")
    list(PREPEND pc_requires tenon-${dep})
  endforeach()
  tenon_install_component(${A_NAME} tenon_${A_NAME} DEPENDS ${component_deps} ${find_lines} PC_REQUIRES tenon-core ${pc_requires}
                          PC_CFLAGS ${pc_cflags} PC_LIBS ${pc_libs})
  install(FILES ${A_FIND_MODULES} DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/Tenon")
  if(EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/contexts.hpp")
    _tenon_add_contexts(${A_NAME} ${A_EDGES})
  endif()
  set(TENON_${upper}_ENABLED ON PARENT_SCOPE)
  message(STATUS "Tenon: ${A_NAME} is on")
endfunction()

set(TENON_CONTEXTS_SYMBOL "tenon_contexts_${PROJECT_VERSION_MAJOR}_${PROJECT_VERSION_MINOR}")
set(TENON_EDGES_SYMBOL "tenon_edges_${PROJECT_VERSION_MAJOR}_${PROJECT_VERSION_MINOR}")
set(TENON_WHY_NONE_SYMBOL "tenon_why_none_${PROJECT_VERSION_MAJOR}_${PROJECT_VERSION_MINOR}")
# A framework or bridge with a contexts.hpp (tenon::x::contexts(): its contexts on this machine) also becomes a module
# libtenon_contexts_<name>.so, which programs that want every framework (the tool) load if its library is present.
# With EDGES, tenon::x::edges() too: the edges of a bridge, which belong to no context. The header of a framework that not every
# machine supports also declares tenon::x::why_none(): the reason why contexts() is empty there.
function(_tenon_add_contexts name edges)
  file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}")
  set(edges_source "")
  if(edges)
    set(edges_source
"extern \"C\" TENON_API void ${TENON_EDGES_SYMBOL}(std::vector<const tenon::Edge*>* all) {
  for (const tenon::Edge* edge : tenon::${name}::edges()) all->push_back(edge);
}
")
  endif()
  set(why_source "")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS contexts.hpp)
  file(STRINGS contexts.hpp has_why REGEX "why_none\\(\\)")
  if(has_why)
    set(why_source
"extern \"C\" TENON_API void ${TENON_WHY_NONE_SYMBOL}(std::string* why) {
  *why = tenon::${name}::why_none();
}
")
  endif()
  file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/contexts.cpp" CONTENT
"// Generated by tenon_add_framework(). The symbol's name holds the release, whose classes the contexts are.
#include <string>
#include <vector>
#include <tenon/core/export.hpp>
#include <tenon/${folder}/contexts.hpp>
extern \"C\" TENON_API void ${TENON_CONTEXTS_SYMBOL}(std::vector<tenon::Context>* all) {
  for (const tenon::Context& context : tenon::${name}::contexts()) all->push_back(context);
}
${edges_source}${why_source}" @ONLY)
  add_library(tenon_contexts_${name} MODULE "${CMAKE_CURRENT_BINARY_DIR}/contexts.cpp")
  target_link_libraries(tenon_contexts_${name} PRIVATE tenon_flags tenon::${name})
  tenon_install_binary(tenon_contexts_${name} "${CMAKE_INSTALL_LIBDIR}")
  set_property(GLOBAL APPEND PROPERTY TENON_CONTEXT_MODULES tenon_contexts_${name})
endfunction()

# tenon_add_device(NAME cpu SOURCES ... LINK ... [EXAMPLE]): a module libtenon_device_<name>.so that the runtime loads by
# name. An EXAMPLE is built into lib/examples and not installed. Headers in public/, for programs that want the names of the device's own
# properties, are the component <name>_device.
function(tenon_add_device)
  cmake_parse_arguments(A "EXAMPLE" "NAME" "SOURCES;LINK" ${ARGN})
  add_library(tenon_device_${A_NAME} MODULE ${A_SOURCES})
  target_link_libraries(tenon_device_${A_NAME} PRIVATE tenon_flags tenon::runtime ${A_LINK})
  if(NOT TENON_SANITIZE AND NOT WIN32)  # Sanitizer functions come with the program; in DLLs nothing may be missing anyway.
    target_link_options(tenon_device_${A_NAME} PRIVATE LINKER:-z,defs)  # Missing symbols fail here, not at load.
  endif()
  set_target_properties(tenon_device_${A_NAME} PROPERTIES CXX_VISIBILITY_PRESET hidden)
  set_property(GLOBAL APPEND PROPERTY TENON_DEVICE_MODULES tenon_device_${A_NAME})
  if(A_EXAMPLE)
    set_target_properties(tenon_device_${A_NAME} PROPERTIES
                          LIBRARY_OUTPUT_DIRECTORY "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/examples")
    return()
  endif()
  if(EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/public")
    set(component ${A_NAME}_device)
    file(GLOB headers CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/public/*.hpp")
    add_library(tenon_${component} INTERFACE)
    add_library(tenon::${component} ALIAS tenon_${component})
    target_sources(tenon_${component} INTERFACE FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}" FILES ${headers})
    target_link_libraries(tenon_${component} INTERFACE tenon::runtime)
    set_target_properties(tenon_${component} PROPERTIES EXPORT_NAME ${component})
    tenon_install_component(${component} tenon_${component} DEPENDS "tenon_needs_component(${component} runtime)"
                            PC_REQUIRES tenon-runtime)
  endif()
  tenon_install_binary(tenon_device_${A_NAME} "${CMAKE_INSTALL_LIBDIR}")
endfunction()

# tenon_add_elements(NAME x SOURCES ... [LINK targets]): a folder elements/x, whose elements.hpp declares
# std::vector<KnownElement> tenon::elements::x::elements(), as a module libtenon_elements_x.so that the registry loads.
# LINK names targets; one that is missing switches the folder off. Sets TENON_<X>_ELEMENTS_ENABLED in the caller's scope.
function(tenon_add_elements)
  cmake_parse_arguments(A "" "NAME" "SOURCES;LINK" ${ARGN})
  string(TOUPPER "${A_NAME}" upper)
  set(TENON_${upper}_ELEMENTS_ENABLED OFF PARENT_SCOPE)
  tenon_needs("elements/${A_NAME}" ${A_LINK})
  file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/module.cpp" CONTENT
"// Generated by tenon_add_elements().
#include <tenon/elements/${A_NAME}/elements.hpp>
#include <tenon/elements/module.hpp>
TENON_ELEMENT_MODULE(tenon::elements::${A_NAME}::elements)
" @ONLY)
  add_library(tenon_elements_${A_NAME} MODULE ${A_SOURCES} "${CMAKE_CURRENT_BINARY_DIR}/module.cpp")
  target_link_libraries(tenon_elements_${A_NAME} PRIVATE tenon_flags tenon::elements ${A_LINK})
  if(NOT TENON_SANITIZE)  # Sanitizer functions come with the program.
    target_link_options(tenon_elements_${A_NAME} PRIVATE LINKER:-z,defs)  # Missing symbols fail here, not at load.
  endif()
  set_target_properties(tenon_elements_${A_NAME} PROPERTIES CXX_VISIBILITY_PRESET hidden)
  tenon_install_binary(tenon_elements_${A_NAME} "${CMAKE_INSTALL_LIBDIR}")
  set_property(GLOBAL APPEND PROPERTY TENON_ELEMENT_MODULES tenon_elements_${A_NAME})
  set(TENON_${upper}_ELEMENTS_ENABLED ON PARENT_SCOPE)
endfunction()

# tenon_variants(tests...): they run a suite again under another setting. CI runs an eighth of the variants, ./dev check --all each.
function(tenon_variants)
  set_property(TEST ${ARGN} APPEND PROPERTY LABELS variant)
endfunction()

# tenon_add_bench(NAME x_bench SOURCES ... LINK ...): Google Benchmark, with TENON_BUILD_BENCH, and only where the target tenon_benches is asked for.
function(tenon_add_bench)
  cmake_parse_arguments(A "" "NAME" "SOURCES;LINK" ${ARGN})
  if(NOT TENON_BUILD_BENCH OR NOT A_SOURCES)
    return()
  endif()
  add_executable(${A_NAME} EXCLUDE_FROM_ALL ${A_SOURCES})
  add_dependencies(tenon_benches ${A_NAME})
  target_link_libraries(${A_NAME} PRIVATE tenon_flags ${A_LINK} benchmark::benchmark benchmark::benchmark_main)
  # A source that replaces operator new is compiled by itself.
  set_target_properties(${A_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bench" UNITY_BUILD OFF)
endfunction()

# tenon_add_fuzzer(NAME x_fuzz SOURCES ... LINK ... COVERS ... [OWN_FORM]): libFuzzer, clang only, built with TENON_BUILD_FUZZERS. COVERS: the folders and
# files whose coverage scripts/fuzz.py reports. OWN_FORM: no other software reads what it makes, so inputs may be kept in the tree.
function(tenon_add_fuzzer)
  cmake_parse_arguments(A "OWN_FORM" "NAME" "SOURCES;LINK;COVERS" ${ARGN})
  if(NOT TENON_BUILD_FUZZERS)
    return()
  endif()
  foreach(place IN LISTS A_COVERS)
    if(NOT EXISTS "${PROJECT_SOURCE_DIR}/${place}")
      message(FATAL_ERROR "tenon_add_fuzzer(${A_NAME}): COVERS ${place} does not exist")
    endif()
  endforeach()
  list(TRANSFORM A_COVERS REPLACE "(.+)" "\"\\1\"")
  list(JOIN A_COVERS ", " covers)
  set(own_form false)
  if(A_OWN_FORM)
    set(own_form true)
  endif()
  file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/fuzz/${A_NAME}.json" CONTENT "{\"covers\": [${covers}], \"own_form\": ${own_form}}\n" @ONLY)
  add_executable(${A_NAME} ${A_SOURCES})
  target_compile_options(${A_NAME} PRIVATE -fsanitize=fuzzer)
  target_link_options(${A_NAME} PRIVATE -fsanitize=fuzzer)
  target_link_libraries(${A_NAME} PRIVATE tenon_flags ${A_LINK})
  set_target_properties(${A_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/fuzz")
  add_dependencies(tenon_fuzzers ${A_NAME})
endfunction()
