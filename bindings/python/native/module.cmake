# SPDX-License-Identifier: Apache-2.0
# tenon_python_module(LINK targets OUTPUT folder): the module _native for the Python that find_package(Python) found.
execute_process(COMMAND "${Python_EXECUTABLE}" -m nanobind --cmake_dir OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE
                RESULT_VARIABLE TENON_NO_NANOBIND ERROR_QUIET)
function(tenon_python_module)
  cmake_parse_arguments(A "" "OUTPUT" "LINK" ${ARGN})
  # CMake knows modules of the stable ABI from 3.26 on. They need the headers alone.
  if(NOT TARGET Python::SABIModule AND Python_VERSION VERSION_GREATER_EQUAL 3.12)
    add_library(Python::SABIModule INTERFACE IMPORTED)
    set_target_properties(Python::SABIModule PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${Python_INCLUDE_DIRS}")
    set(Python_SOSABI abi3)
  endif()
  find_package(nanobind CONFIG REQUIRED)
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/*.cpp" "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/*/*.cpp")
  # The stable ABI begins with Python 3.12: one module serves it and all later ones.
  nanobind_add_module(tenon_python STABLE_ABI NB_SUPPRESS_WARNINGS ${sources})
  target_include_directories(tenon_python PRIVATE "${TENON_INCLUDE_DIR}")
  target_link_libraries(tenon_python PRIVATE ${A_LINK})
  # In the package libraries lie in lib/, in the build in the build's lib/.
  set_target_properties(tenon_python PROPERTIES OUTPUT_NAME _native LIBRARY_OUTPUT_DIRECTORY "${A_OUTPUT}" BUILD_WITH_INSTALL_RPATH ON
                        INSTALL_RPATH "$ORIGIN/lib;$ORIGIN/../../lib")
endfunction()
