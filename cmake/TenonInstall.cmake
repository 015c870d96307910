# SPDX-License-Identifier: Apache-2.0
# Package files: TenonConfig.cmake with one component per folder, and a pkg-config module for each.
get_property(components GLOBAL PROPERTY TENON_COMPONENTS)
set(TENON_COMPONENT_RULES "")
foreach(component IN LISTS components)
  get_property(lines GLOBAL PROPERTY TENON_COMPONENT_${component}_DEPENDS)
  list(JOIN lines "\n    " lines)
  string(APPEND TENON_COMPONENT_RULES
    "  if(name STREQUAL \"${component}\")\n    ${lines}\n  endif()\n")
endforeach()
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/TenonConfig.cmake.in" "${PROJECT_BINARY_DIR}/TenonConfig.cmake"
  INSTALL_DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/Tenon" PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/TenonConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/TenonConfig.cmake" "${PROJECT_BINARY_DIR}/TenonConfigVersion.cmake"
  DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/Tenon")

# Paths are relative to the .pc files, so install trees may be moved. `tenon` is the runtime, or the top layer present.
file(RELATIVE_PATH TENON_PC_PREFIX "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
function(tenon_pc file description requires cflags libs)
  configure_file("${PROJECT_SOURCE_DIR}/cmake/tenon.pc.in" "${PROJECT_BINARY_DIR}/pkgconfig/${file}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/pkgconfig/${file}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endfunction()
set(whole "")
foreach(component IN LISTS components)
  foreach(part REQUIRES CFLAGS LIBS)
    get_property(${part} GLOBAL PROPERTY TENON_COMPONENT_${component}_PC_${part})
  endforeach()
  tenon_pc(tenon-${component} "Tenon, component ${component}" "${REQUIRES}" "${CFLAGS}" "${LIBS}")
endforeach()
foreach(layer core graph runtime)
  if(layer IN_LIST components)
    set(whole tenon-${layer})
  endif()
endforeach()
tenon_pc(tenon "${PROJECT_DESCRIPTION}" "${whole}" "" "")

message(STATUS "Tenon ${PROJECT_VERSION}: ${components}")

tenon_forget_folders_of_the_build()
