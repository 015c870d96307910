# SPDX-License-Identifier: Apache-2.0
# Finds OpenVINO's own package file: where OpenVINO_DIR says, where the system has it, or inside the Python package
# `openvino` below a folder of CMAKE_PREFIX_PATH (a virtual environment), which CMake does not search by itself.
set(_tenon_openvino_hints "")
foreach(_tenon_prefix IN LISTS CMAKE_PREFIX_PATH)
  file(GLOB _tenon_found "${_tenon_prefix}/lib/python3*/site-packages/openvino/cmake")
  list(APPEND _tenon_openvino_hints ${_tenon_found})
endforeach()
# GLOBAL, because targets in sibling folders link these too.
find_package(OpenVINO CONFIG QUIET GLOBAL COMPONENTS Runtime HINTS ${_tenon_openvino_hints})
unset(_tenon_openvino_hints)
unset(_tenon_found)
unset(_tenon_prefix)
set(OpenVINO_PC_REQUIRES openvino)  # Its pkg-config module, which its system packages have.
