# SPDX-License-Identifier: Apache-2.0
# A library or program that was found may still be too old, broken or of another architecture. A probe makes it do what
# it is needed for; if that fails, it counts as absent.

# tenon_probe(<variable> SOURCE <file> [LINK <targets>]): whether the file compiles and links. Success is cached. A
# failure is tested again at the next configuration; its compiler output is in <build>/probes/<variable>.log.
function(tenon_probe variable)
  cmake_parse_arguments(A "" "SOURCE" "LINK" ${ARGN})
  if(${variable})
    return()
  endif()
  set(CMAKE_TRY_COMPILE_TARGET_TYPE EXECUTABLE)
  try_compile(worked "${PROJECT_BINARY_DIR}/probes/${variable}" SOURCES "${A_SOURCE}" LINK_LIBRARIES ${A_LINK} OUTPUT_VARIABLE said
              CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
  set(${variable} "${worked}" CACHE INTERNAL "What its probe found")
  unset(worked CACHE)
  if(NOT ${variable})
    file(WRITE "${PROJECT_BINARY_DIR}/probes/${variable}.log" "${said}")
  endif()
endfunction()

# tenon_probe_command(<variable> <program and arguments>...): whether it runs and exits with 0.
function(tenon_probe_command variable)
  if(${variable})
    return()
  endif()
  file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/probes")
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY "${PROJECT_BINARY_DIR}/probes" TIMEOUT 60
                  RESULT_VARIABLE result OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(result EQUAL 0)
    set(${variable} TRUE CACHE INTERNAL "What its probe found")
  else()
    set(${variable} FALSE CACHE INTERNAL "What its probe found")
    list(JOIN ARGN " " command)
    file(WRITE "${PROJECT_BINARY_DIR}/probes/${variable}.log" "${command}\n${result}\n${said}")
  endif()
endfunction()
