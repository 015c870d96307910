# SPDX-License-Identifier: Apache-2.0
# OpenCVCore::core: only the core module of OpenCV 4. Uses OpenCV's own package file if present; Debian ships it only
# with all fifty modules, and libopencv-core-dev alone has none.
find_package(OpenCV 4 QUIET CONFIG COMPONENTS core)
if(OpenCV_FOUND)
  set(OpenCVCore_LIBRARY opencv_core)
  set(OpenCVCore_VERSION "${OpenCV_VERSION}")
  set(OpenCVCore_INCLUDE_DIR ${OpenCV_INCLUDE_DIRS})
else()
  find_path(OpenCVCore_INCLUDE_DIR opencv2/core/mat.hpp PATH_SUFFIXES opencv4)
  find_library(OpenCVCore_LIBRARY opencv_core)
  mark_as_advanced(OpenCVCore_INCLUDE_DIR OpenCVCore_LIBRARY)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OpenCVCore REQUIRED_VARS OpenCVCore_LIBRARY OpenCVCore_INCLUDE_DIR)
if(OpenCVCore_FOUND AND NOT TARGET OpenCVCore::core)
  add_library(OpenCVCore::core INTERFACE IMPORTED GLOBAL)
  target_include_directories(OpenCVCore::core INTERFACE ${OpenCVCore_INCLUDE_DIR})
  target_link_libraries(OpenCVCore::core INTERFACE ${OpenCVCore_LIBRARY})
endif()
# Not the module opencv4: Debian has it only with all fifty libraries, and it names each of them.
set(OpenCVCore_PC_CFLAGS ${OpenCVCore_INCLUDE_DIR})
list(TRANSFORM OpenCVCore_PC_CFLAGS PREPEND "-isystem ")
set(OpenCVCore_PC_LIBS -lopencv_core)
