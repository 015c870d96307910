# SPDX-License-Identifier: Apache-2.0
# Package files: TenonConfig.cmake with one component per folder, and tenon.pc.
get_property(components GLOBAL PROPERTY TENON_COMPONENTS)
set(TENON_COMPONENT_RULES "")
foreach(component IN LISTS components)
  get_property(lines GLOBAL PROPERTY TENON_COMPONENT_${component}_DEPENDS)
  list(JOIN lines "\n    " lines)
  string(APPEND TENON_COMPONENT_RULES
    "  if(name STREQUAL \"${component}\")\n    ${lines}\n  endif()\n")
endforeach()
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/TenonConfig.cmake.in" "${PROJECT_BINARY_DIR}/TenonConfig.cmake"
  INSTALL_DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/Tenon")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/TenonConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/TenonConfig.cmake" "${PROJECT_BINARY_DIR}/TenonConfigVersion.cmake"
  DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/Tenon")

set(TENON_PC_LIBS "")
foreach(library runtime graph core)
  if(library IN_LIST components)
    string(APPEND TENON_PC_LIBS " -ltenon_${library}")
  endif()
endforeach()
# Relative to the .pc file, so that an install tree may be moved.
file(RELATIVE_PATH TENON_PC_PREFIX "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
configure_file("${PROJECT_SOURCE_DIR}/cmake/tenon.pc.in" "${PROJECT_BINARY_DIR}/tenon.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/tenon.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

message(STATUS "Tenon ${PROJECT_VERSION}: ${components}")
