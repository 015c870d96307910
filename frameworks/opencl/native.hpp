// SPDX-License-Identifier: Apache-2.0
// The OpenCL calls: codes become errors, handles have owners, and tests can make any call fail.
#pragma once

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/native_calls.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {

/// NVIDIA's, of a kernel that failed; its cl_context is of no more use.
inline constexpr cl_int kKernelFault = -9999;

/// "CL_INVALID_VALUE", for messages; "an OpenCL code" for those of extensions. Positive codes are none of OpenCL's:
/// NVIDIA's driver hands on those of CUDA.
inline std::string status_name(cl_int status) {
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

/// Every native call below passes through injected(), and every handle is counted.
using Probe = CallProbe<struct OpenClCalls>;
inline bool injected() { return Probe::injected(); }
/// What a call says that tests make fail; they choose it.
inline std::atomic<cl_int> injection{CL_OUT_OF_RESOURCES};
inline cl_int injected_code() { return injection.load(std::memory_order_relaxed); }

constexpr Code code_of(cl_int status) {
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

[[noreturn]] inline void fail(cl_int status, const char* call, const std::string& what) {
  const bool is_lost = status == CL_DEVICE_NOT_AVAILABLE || status == kKernelFault;
  throw Error(code_of(status),
              "opencl: " + what + ": " + status_name(status) +
                  (is_lost ? "; the device is lost, or its cl_context is: make a new one" : ""),
              call, status);
}

/// The only place where codes become exceptions. `what` is a text, or a function that makes it on demand.
template <typename What>
void check(cl_int status, const char* call, const What& what) {
  if (status == CL_SUCCESS) return;
  if constexpr (std::is_invocable_v<What>)
    fail(status, call, what());
  else
    fail(status, call, what);
}

/// Calls a function that returns a code.
template <typename Function, typename... Arguments>
cl_int call(Function function, Arguments... arguments) {
  return injected() ? injected_code() : function(arguments...);
}

/// Retains and releases handles of each type.
template <typename T>
struct HandleTraits;
#define TENON_OPENCL_HANDLE(type, name)                                  \
  template <>                                                            \
  struct HandleTraits<type> {                                            \
    static cl_int retain(type handle) { return clRetain##name(handle); } \
    static void release(type handle) { clRelease##name(handle); }        \
    static constexpr const char* kRetain = "clRetain" #name;             \
  };
TENON_OPENCL_HANDLE(cl_context, Context)
TENON_OPENCL_HANDLE(cl_command_queue, CommandQueue)
TENON_OPENCL_HANDLE(cl_mem, MemObject)
TENON_OPENCL_HANDLE(cl_event, Event)
TENON_OPENCL_HANDLE(cl_program, Program)
TENON_OPENCL_HANDLE(cl_kernel, Kernel)
#undef TENON_OPENCL_HANDLE

/// Owns one reference to an OpenCL object. Empty when default-constructed.
template <typename T>
class Handle {
 public:
  Handle() = default;
  /// Takes over one reference.
  explicit Handle(T handle) noexcept : handle_(handle) {
    if (handle_) Probe::handles.fetch_add(1, std::memory_order_relaxed);
  }
  /// Adds a reference. @errors those of the retain call.
  static Handle retain(T handle, const char* what) {
    check(call(HandleTraits<T>::retain, handle), HandleTraits<T>::kRetain, what);
    return Handle(handle);
  }
  Handle(Handle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) {
      reset();
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  ~Handle() { reset(); }

  T get() const noexcept { return handle_; }
  explicit operator bool() const noexcept { return handle_ != nullptr; }
  void reset() noexcept {
    if (!handle_) return;
    HandleTraits<T>::release(std::exchange(handle_, nullptr));
    Probe::handles.fetch_sub(1, std::memory_order_relaxed);
  }

 private:
  T handle_ = nullptr;
};

/// Calls a function that returns an object and gives its code through the last argument.
template <typename What, typename Function, typename... Arguments>
auto create(const char* name, const What& what, Function function, Arguments... arguments) {
  cl_int status = CL_SUCCESS;
  decltype(function(arguments..., &status)) made = nullptr;
  if (injected())
    status = injected_code();
  else
    made = function(arguments..., &status);
  check(!made && status == CL_SUCCESS ? CL_OUT_OF_RESOURCES : status, name, what);
  return made;
}

/// Reads a scalar with one of the clGet*Info functions.
template <typename T, typename Function, typename Object, typename Key>
T info(Function function, const char* name, Object object, Key key) {
  T value{};
  check(call(function, object, key, sizeof(T), static_cast<void*>(&value), static_cast<std::size_t*>(nullptr)), name,
        [key] { return "asking for " + std::to_string(key); });
  return value;
}

/// Reads a list of scalars with one of the clGet*Info functions.
template <typename T, typename Function, typename Object, typename Key>
std::vector<T> info_list(Function function, const char* name, Object object, Key key) {
  const auto what = [key] { return "asking for " + std::to_string(key); };
  std::size_t size = 0;
  check(call(function, object, key, std::size_t{0}, static_cast<void*>(nullptr), &size), name, what);
  std::vector<T> list(size / sizeof(T));
  if (!list.empty())
    check(call(function, object, key, list.size() * sizeof(T), static_cast<void*>(list.data()),
               static_cast<std::size_t*>(nullptr)),
          name, what);
  return list;
}

/// Reads a text with one of the clGet*Info functions.
template <typename Function, typename Object, typename Key>
std::string info_text(Function function, const char* name, Object object, Key key) {
  const auto what = [key] { return "asking for " + std::to_string(key); };
  std::size_t size = 0;
  check(call(function, object, key, std::size_t{0}, static_cast<void*>(nullptr), &size), name, what);
  std::string text(size, '\0');
  if (size)
    check(call(function, object, key, size, static_cast<void*>(text.data()), static_cast<std::size_t*>(nullptr)), name,
          what);
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

}  // namespace detail
}  // namespace opencl
}  // namespace v1
}  // namespace tenon
