# SPDX-License-Identifier: Apache-2.0
# Where sources are joined, the headers that most libraries include (the C++ library's and core's tensors) are parsed once for all libraries that
# have no options of their own: they take 3 to 4 s of each joined source. So do programs that are no tests: examples, the code of pages, workers.
# Public headers are also compiled alone (scripts/check_headers.py), and the preset clang compiles each source without this, so that both find an
# include that is missing.
set(TENON_LIBRARY_HEADERS <algorithm> <array> <atomic> <chrono> <condition_variable> <cstring> <filesystem> <functional> <map> <memory> <mutex>
    <optional> <set> <span> <sstream> <string> <string_view> <thread> <unordered_map> <utility> <variant> <vector> <tenon/core/frame.hpp>
    <tenon/core/ledger.hpp>)

# The targets of a folder and of those below it.
function(_tenon_targets_below folder variable)
  get_property(targets DIRECTORY "${folder}" PROPERTY BUILDSYSTEM_TARGETS)
  get_property(folders DIRECTORY "${folder}" PROPERTY SUBDIRECTORIES)
  foreach(each IN LISTS folders)
    _tenon_targets_below("${each}" below)
    list(APPEND targets ${below})
  endforeach()
  set(${variable} ${targets} PARENT_SCOPE)
endfunction()

# The header that libraries of this visibility share, or programs (`pie`), as a target; made by the first.
function(_tenon_library_headers variable visibility)
  set(name tenon_library_headers_${visibility})
  set(${variable} ${name} PARENT_SCOPE)
  if(TARGET ${name})
    return()
  endif()
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/generated/${name}.cpp" CONTENT "// The target of a precompiled header needs a source.\n")
  add_library(${name} OBJECT EXCLUDE_FROM_ALL "${PROJECT_BINARY_DIR}/generated/${name}.cpp")
  target_include_directories(${name} PRIVATE "${TENON_INCLUDE_DIR}")
  target_link_libraries(${name} PRIVATE tenon_flags)
  list(TRANSFORM TENON_LIBRARY_HEADERS REPLACE "<(.+)>" "$<$<COMPILE_LANGUAGE:CXX>:<\\1$<ANGLE-R>>")
  target_precompile_headers(${name} PRIVATE ${TENON_LIBRARY_HEADERS})
  if(visibility STREQUAL "pie")
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${name} PRIVATE ${CMAKE_CXX_COMPILE_OPTIONS_PIE})
  endif()
  if(visibility MATCHES "^hidden")
    set_target_properties(${name} PROPERTIES CXX_VISIBILITY_PRESET hidden)
  endif()
  if(visibility STREQUAL "hidden_inlines")
    set_target_properties(${name} PROPERTIES VISIBILITY_INLINES_HIDDEN ON)
  endif()
endfunction()

function(_tenon_precompile_library target type)
  get_target_property(options ${target} COMPILE_OPTIONS)
  get_target_property(links ${target} LINK_LIBRARIES)
  get_target_property(macros ${target} COMPILE_DEFINITIONS)
  get_target_property(shared ${target} PRECOMPILE_HEADERS_REUSE_FROM)  # Tests have one of their own.
  # The compiler takes no header that was made with other options of optimisation or language, or with other macros of the C++ library.
  if(shared OR options MATCHES "(^|;|:)-[Ofm]" OR links MATCHES "openvino|nanobind" OR macros MATCHES "TENON_HEADER_ONLY")
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  if(NOT sources MATCHES "\\.cpp(;|$)")
    return()  # In C alone.
  endif()
  foreach(source IN LISTS sources)
    get_source_file_property(own "${source}" TARGET_DIRECTORY ${target} COMPILE_OPTIONS)
    if(own MATCHES "(^|;|:)-[Ofm]")
      set_source_files_properties("${source}" TARGET_DIRECTORY ${target} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endforeach()
  get_target_property(visibility ${target} CXX_VISIBILITY_PRESET)
  get_target_property(inlines ${target} VISIBILITY_INLINES_HIDDEN)
  if(type STREQUAL "EXECUTABLE")
    set(visibility pie)
  elseif(NOT visibility)
    set(visibility default)
  elseif(inlines)
    set(visibility hidden_inlines)
  endif()
  _tenon_library_headers(headers ${visibility})
  target_precompile_headers(${target} REUSE_FROM ${headers})
endfunction()

if(TENON_UNITY AND NOT TENON_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  _tenon_targets_below("${PROJECT_SOURCE_DIR}" targets)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    get_target_property(joined ${target} UNITY_BUILD)
    get_target_property(links ${target} LINK_LIBRARIES)
    if(links MATCHES "tenon_flags" AND
       ((type MATCHES "OBJECT|STATIC|SHARED|MODULE" AND joined) OR type STREQUAL "EXECUTABLE" OR (TENON_QUICK AND target MATCHES "^docs_")))
      _tenon_precompile_library(${target} ${type})
    endif()
  endforeach()
endif()
