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
#include <type_traits>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {

/// NVIDIA's, of a kernel that failed; its cl_context is of no more use.
inline constexpr cl_int kKernelFault = -9999;

/// "CL_INVALID_VALUE", for messages; "an OpenCL code" for those of extensions. Positive codes are none of OpenCL's:
/// NVIDIA's driver hands on those of CUDA.
std::string status_name(cl_int status);

namespace detail {

/// As CallProbe: every native call below passes through injected(), and every handle is counted. Its numbers lie in this library, because
/// each DLL of Windows has inline variables of its own.
struct TENON_API Probe {
  static std::atomic<long> countdown;  ///< The n-th call from now on fails; 0: none.
  static std::atomic<bool> failed;
  static std::atomic<std::size_t> handles;
  static bool injected() { return countdown.load(std::memory_order_relaxed) > 0 && is_chosen(); }

 private:
  static bool is_chosen();
};
inline bool injected() { return Probe::injected(); }
/// What a call says that tests make fail; they choose it.
TENON_API extern std::atomic<cl_int> injection;
inline cl_int injected_code() { return injection.load(std::memory_order_relaxed); }

[[noreturn]] void fail(cl_int status, const char* call, const std::string& what);

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
