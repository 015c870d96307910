// SPDX-License-Identifier: Apache-2.0
// The driver's calls: libcuda.so.1 loaded by name, codes become errors, and tests can make any call fail.
#pragma once

#include <string>
#include <type_traits>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/native_calls.hpp>
#include <tenon/frameworks/cuda/abi.hpp>

namespace tenon {
inline namespace v1 {
namespace cuda {
namespace detail {

/// Every native call passes through injected(), and every object is counted.
struct TENON_API CudaCalls;
using Probe = CallProbe<CudaCalls>;
inline constexpr abi::Result kInjected = abi::kOutOfMemory;

/// The entry points of one driver.
struct Driver {
#define TENON_CUDA_MEMBER(name, symbol, ...) abi::Result (*name)(__VA_ARGS__) = nullptr;
  TENON_CUDA_CALLS(TENON_CUDA_MEMBER)
  TENON_CUDA_NEWER_CALLS(TENON_CUDA_MEMBER)
#undef TENON_CUDA_MEMBER
};

/// The driver of this process, or why there is none.
struct Loaded {
  Driver driver;
  std::string missing;  ///< Empty: it works.
};

inline constexpr const char* kLibrary = "libcuda.so.1";

Loaded load();

const Loaded& loaded();
/// @errors kUnavailable: no driver, one that is too old, no device.
const Driver& driver();

constexpr Code code_of(abi::Result result) {
  switch (result) {
    case abi::kNotReady:
      return Code::kDeadlineExceeded;
    case abi::kOutOfMemory:
      return Code::kResourceExhausted;
    case abi::kInvalidValue:
    case abi::kInvalidDevice:
    case abi::kInvalidHandle:
      return Code::kInvalidArgument;
    case abi::kInvalidContext:
    case abi::kContextIsDestroyed:
    case abi::kHostMemoryAlreadyRegistered:
      return Code::kFailedPrecondition;
    case abi::kNotPermitted:
      return Code::kPermissionDenied;
    case abi::kNotSupported:
      return Code::kUnimplemented;
    case abi::kNotInitialized:
    case abi::kDeinitialized:
    case abi::kNoDevice:
    case abi::kSystemDriverMismatch:
    case abi::kSystemNotReady:
      return Code::kUnavailable;
    case abi::kIllegalAddress:
    case abi::kLaunchFailed:
    case abi::kEccUncorrectable:
      return Code::kAborted;
    default:
      return Code::kInternal;
  }
}

}  // namespace detail

/// "CUDA_ERROR_INVALID_VALUE", for messages; "a CUDA code" for those that the driver does not know.
std::string result_name(abi::Result result);

namespace detail {

[[noreturn]] void fail(abi::Result result, const char* call, const std::string& what);

/// The only place where codes become exceptions. `what` is a text, or a function that makes it on demand.
template <typename What>
void check(abi::Result result, const char* call, const What& what) {
  if (result == abi::kSuccess) return;
  if constexpr (std::is_invocable_v<What>)
    fail(result, call, what());
  else
    fail(result, call, what);
}

template <typename... Parameters>
abi::Result call(abi::Result (*function)(Parameters...), std::type_identity_t<Parameters>... arguments) {
  return Probe::injected() ? kInjected : function(arguments...);
}

}  // namespace detail
}  // namespace cuda
}  // namespace v1
}  // namespace tenon
