# SPDX-License-Identifier: Apache-2.0
# SyclRuntime::sycl: headers and libsycl of Intel's SYCL runtime (PyPI's intel-sycl-rt, or oneAPI). No SYCL compiler is needed.
find_path(SyclRuntime_INCLUDE_DIR sycl/sycl.hpp)
find_library(SyclRuntime_LIBRARY sycl)
mark_as_advanced(SyclRuntime_INCLUDE_DIR SyclRuntime_LIBRARY)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(SyclRuntime REQUIRED_VARS SyclRuntime_LIBRARY SyclRuntime_INCLUDE_DIR)
if(SyclRuntime_FOUND AND NOT TARGET SyclRuntime::sycl)
  add_library(SyclRuntime::sycl INTERFACE IMPORTED GLOBAL)
  target_include_directories(SyclRuntime::sycl INTERFACE ${SyclRuntime_INCLUDE_DIR})
  target_link_libraries(SyclRuntime::sycl INTERFACE ${SyclRuntime_LIBRARY})
endif()
# A runtime inside the build is no part of an installation: a project that compiles against that says where its own lies.
cmake_path(IS_PREFIX PROJECT_SOURCE_DIR "${SyclRuntime_INCLUDE_DIR}" SyclRuntime_IN_BUILD)
if(NOT SyclRuntime_IN_BUILD)
  set(SyclRuntime_PC_CFLAGS "-isystem ${SyclRuntime_INCLUDE_DIR}")
endif()
set(SyclRuntime_PC_LIBS -lsycl)
