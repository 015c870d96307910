// SPDX-License-Identifier: Apache-2.0
// Names of OpenCL's codes, and the errors that they become.
#include <tenon/frameworks/opencl/native.hpp>

#include <string_view>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {

TENON_INLINE std::string status_name(cl_int status) {
  constexpr std::string_view runtime[] = {"CL_SUCCESS",
                                          "CL_DEVICE_NOT_FOUND",
                                          "CL_DEVICE_NOT_AVAILABLE",
                                          "CL_COMPILER_NOT_AVAILABLE",
                                          "CL_MEM_OBJECT_ALLOCATION_FAILURE",
                                          "CL_OUT_OF_RESOURCES",
                                          "CL_OUT_OF_HOST_MEMORY",
                                          "CL_PROFILING_INFO_NOT_AVAILABLE",
                                          "CL_MEM_COPY_OVERLAP",
                                          "CL_IMAGE_FORMAT_MISMATCH",
                                          "CL_IMAGE_FORMAT_NOT_SUPPORTED",
                                          "CL_BUILD_PROGRAM_FAILURE",
                                          "CL_MAP_FAILURE",
                                          "CL_MISALIGNED_SUB_BUFFER_OFFSET",
                                          "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"};
  constexpr std::string_view invalid[] = {"VALUE",           "DEVICE_TYPE",
                                          "PLATFORM",        "DEVICE",
                                          "CONTEXT",         "QUEUE_PROPERTIES",
                                          "COMMAND_QUEUE",   "HOST_PTR",
                                          "MEM_OBJECT",      "IMAGE_FORMAT_DESCRIPTOR",
                                          "IMAGE_SIZE",      "SAMPLER",
                                          "BINARY",          "BUILD_OPTIONS",
                                          "PROGRAM",         "PROGRAM_EXECUTABLE",
                                          "KERNEL_NAME",     "KERNEL_DEFINITION",
                                          "KERNEL",          "ARG_INDEX",
                                          "ARG_VALUE",       "ARG_SIZE",
                                          "KERNEL_ARGS",     "WORK_DIMENSION",
                                          "WORK_GROUP_SIZE", "WORK_ITEM_SIZE",
                                          "GLOBAL_OFFSET",   "EVENT_WAIT_LIST",
                                          "EVENT",           "OPERATION",
                                          "GL_OBJECT",       "BUFFER_SIZE",
                                          "MIP_LEVEL",       "GLOBAL_WORK_SIZE",
                                          "PROPERTY",        "IMAGE_DESCRIPTOR"};
  if (status <= 0 && status > -15) return std::string(runtime[-status]);
  if (status <= -30 && status > -66) return "CL_INVALID_" + std::string(invalid[-30 - status]);
  if (status == -1142) return "CL_INVALID_SEMAPHORE_KHR";
  if (status == -1098) return "CL_INVALID_VA_API_MEDIA_ADAPTER_INTEL";
  if (status == -1099) return "CL_INVALID_VA_API_MEDIA_SURFACE_INTEL";
  if (status == kKernelFault) return "-9999 (NVIDIA's: a kernel read or wrote outside of its memory)";
  if (status > 0) return "a code of the driver's own, " + std::to_string(status) + " (NVIDIA's: a CUresult)";
  return status == -1001 ? "CL_PLATFORM_NOT_FOUND_KHR" : "an OpenCL code";
}

namespace detail {

TENON_INLINE std::atomic<long> Probe::countdown{0};
TENON_INLINE std::atomic<bool> Probe::failed{false};
TENON_INLINE std::atomic<std::size_t> Probe::handles{0};
TENON_INLINE std::atomic<cl_int> injection{CL_OUT_OF_RESOURCES};

TENON_INLINE bool Probe::is_chosen() {
  long left = countdown.load(std::memory_order_relaxed);
  while (left > 0) {
    if (!countdown.compare_exchange_weak(left, left - 1, std::memory_order_relaxed)) continue;
    if (left == 1) failed.store(true);
    return left == 1;
  }
  return false;
}

TENON_INLINE Code code_of(cl_int status) {
  switch (status) {
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_OUT_OF_RESOURCES:
    case CL_OUT_OF_HOST_MEMORY:
      return Code::kResourceExhausted;
    case CL_DEVICE_NOT_FOUND:
    case CL_DEVICE_NOT_AVAILABLE:
    case CL_COMPILER_NOT_AVAILABLE:
    case kKernelFault:
    case -1001:
      return Code::kUnavailable;
    case CL_IMAGE_FORMAT_NOT_SUPPORTED:
      return Code::kUnimplemented;
    case CL_INVALID_OPERATION:
      return Code::kFailedPrecondition;
    case CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST:
      return Code::kAborted;
    case -1098:  // CL_INVALID_VA_API_MEDIA_ADAPTER_INTEL
    case -1099:  // CL_INVALID_VA_API_MEDIA_SURFACE_INTEL
      return Code::kInvalidArgument;
    default:
      return status <= -30 && status > -80 ? Code::kInvalidArgument : Code::kInternal;
  }
}

TENON_INLINE void fail(cl_int status, const char* call, const std::string& what) {
  const bool is_lost = status == CL_DEVICE_NOT_AVAILABLE || status == kKernelFault;
  throw Error(code_of(status),
              "opencl: " + what + ": " + status_name(status) +
                  (is_lost ? "; the device is lost, or its cl_context is: make a new one" : ""),
              call, status);
}

}  // namespace detail
}  // namespace opencl
}  // namespace v1
}  // namespace tenon
