# SPDX-License-Identifier: Apache-2.0
# An archive of what is installed (cpack -G TGZ), which can be moved, and Debian packages of it: libtenon0 (libraries, devices, frameworks,
# elements; oneDNN, which Debian's package builds without TBB, lies beside them in tenon/), tenon-tools, libtenon-dev (headers, package files,
# documentation, examples), gstreamer1.0-tenon, tenon-drivers.
set(doc "${CMAKE_INSTALL_DATADIR}/doc/tenon")
install(FILES README.md ARCHITECTURE.md CHANGELOG.md LICENSE DESTINATION "${doc}")
install(DIRECTORY docs examples DESTINATION "${doc}")
# Pipelines name their schema where a build has it; from their installed place it is share/tenon's.
install(CODE "
  file(GLOB pipelines \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${doc}/examples/*/*.json\")
  foreach(pipeline IN LISTS pipelines)
    file(READ \"\${pipeline}\" text)
    string(REPLACE \"../../build/release/pipeline.schema.json\" \"../../../../tenon/pipeline.schema.json\" text \"\${text}\")
    file(WRITE \"\${pipeline}\" \"\${text}\")
  endforeach()")
# What is linked: scripts/sbom.py makes it before the packages are made.
set(bill "${PROJECT_BINARY_DIR}/tenon.cdx.json")
install(FILES "${bill}" DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/libtenon${PROJECT_VERSION_MAJOR}" COMPONENT runtime OPTIONAL)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tenon)
set(CPACK_PACKAGE_CONTACT "The developers of Tenon <tenon@localhost>")
# CPack puts every other summary than its own default before that of each package.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${CMAKE_PROJECT_NAME} built using CMake")
set(CPACK_PACKAGE_DESCRIPTION "Tenon routes tensors between media, compute and inference frameworks without copies, proves that\nnothing was copied, and runs models where the memory is: on the CPU, on NPUs, and on a software NPU.")
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PROJECT_CONFIG_FILE "${PROJECT_SOURCE_DIR}/cmake/TenonArchive.cmake")
string(TOLOWER "tenon-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}" CPACK_PACKAGE_FILE_NAME)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)  # dpkg-shlibdeps finds the libraries' dependencies.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${CMAKE_BINARY_DIR}/lib" "${TENON_DNNL_FOLDER}")
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)  # Also asks for ldconfig.
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY "=")
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)

# tenon_debian_package(name SECTION s SUMMARY text PARTS parts [DEPENDS packages] [RECOMMENDS] [SUGGESTS] [REPLACES])
set(CPACK_COMPONENTS_ALL "")
set(library libtenon${PROJECT_VERSION_MAJOR})
set(exactly "${library} (= ${PROJECT_VERSION})")
function(tenon_debian_package name)
  cmake_parse_arguments(A "" "SECTION;SUMMARY" "PARTS;DEPENDS;RECOMMENDS;SUGGESTS" ${ARGN})
  string(REGEX REPLACE "[^a-z0-9]" "_" group "${name}")
  string(TOUPPER "${group}" upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME "${name}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION "${A_SECTION}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${A_SUMMARY}\n${CPACK_PACKAGE_DESCRIPTION}" PARENT_SCOPE)
  # Earlier releases were one package.
  set(CPACK_DEBIAN_${upper}_PACKAGE_REPLACES tenon PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_BREAKS tenon PARENT_SCOPE)
  foreach(field DEPENDS RECOMMENDS SUGGESTS)
    list(JOIN A_${field} ", " value)
    set(CPACK_DEBIAN_${upper}_PACKAGE_${field} "${value}" PARENT_SCOPE)
  endforeach()
  foreach(part IN LISTS A_PARTS)
    string(TOUPPER "${part}" part_upper)
    set(CPACK_COMPONENT_${part_upper}_GROUP "${group}" PARENT_SCOPE)
  endforeach()
  set(CPACK_COMPONENTS_ALL ${CPACK_COMPONENTS_ALL} ${A_PARTS} PARENT_SCOPE)
endfunction()
tenon_debian_package(${library} SECTION libs PARTS runtime bindings SUMMARY "${PROJECT_DESCRIPTION}")
tenon_debian_package(libtenon-dev SECTION libdevel PARTS dev SUMMARY "Headers, package files, documentation and examples of Tenon"
  DEPENDS "${exactly}" SUGGESTS graphviz
  # What the headers of its frameworks need.
  RECOMMENDS g++ cmake pkg-config libavcodec-dev libavformat-dev libavutil-dev libswscale-dev libswresample-dev libavdevice-dev
             libgstreamer-plugins-base1.0-dev libze-dev libvulkan-dev libegl-dev libgles-dev)
if(TARGET tenon)
  tenon_debian_package(tenon-tools SECTION video PARTS tools SUMMARY "Tenon's command line: models and pipelines on videos, and what was copied"
    DEPENDS "${exactly}" RECOMMENDS tenon-drivers SUGGESTS ffmpeg)
endif()
if(TARGET gsttenon)
  tenon_debian_package(gstreamer1.0-tenon SECTION video PARTS gstreamer SUMMARY "Tenon's elements as GStreamer elements" DEPENDS "${exactly}")
endif()
if(TARGET tenon_npu_driver OR TARGET tenon_va_driver OR TARGET tenon_gpu_layer)
  tenon_debian_package(tenon-drivers SECTION libs PARTS drivers SUMMARY "Drivers in software: an NPU for Level Zero, decoders for VA-API, a GPU for OpenCL")
endif()
include(CPack)
