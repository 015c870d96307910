// SPDX-License-Identifier: Apache-2.0
// Calls of libva, with statuses as Tenon errors.
#pragma once

#include <va/va.h>

#include <atomic>
#include <string>

#include <tenon/core/error.hpp>

namespace tenon {
inline namespace v1 {
namespace vaapi::native {

/// For tests: when set, is asked before each call, by its name; a status other than success is what the call gave.
using Fault = VAStatus (*)(const char* call);
inline std::atomic<Fault> fault{nullptr};

/// Calls `function`. `name` is the one that errors give.
template <class Function, class... Arguments>
VAStatus call(const char* name, Function function, Arguments... arguments) {
  if (const Fault ask = fault.load(std::memory_order_relaxed)) {
    if (const VAStatus status = ask(name)) return status;
  }
  return function(arguments...);
}

/// The canonical code nearest to a status.
inline Code code_of(VAStatus status) {
  switch (status) {
    case VA_STATUS_ERROR_ALLOCATION_FAILED:
    case VA_STATUS_ERROR_MAX_NUM_EXCEEDED:
    case VA_STATUS_ERROR_NOT_ENOUGH_BUFFER:
      return Code::kResourceExhausted;
    case VA_STATUS_ERROR_INVALID_DISPLAY:
    case VA_STATUS_ERROR_INVALID_CONFIG:
    case VA_STATUS_ERROR_INVALID_CONTEXT:
    case VA_STATUS_ERROR_INVALID_SURFACE:
    case VA_STATUS_ERROR_INVALID_BUFFER:
    case VA_STATUS_ERROR_INVALID_IMAGE:
    case VA_STATUS_ERROR_INVALID_PARAMETER:
    case VA_STATUS_ERROR_INVALID_VALUE:
    case VA_STATUS_ERROR_RESOLUTION_NOT_SUPPORTED:
      return Code::kInvalidArgument;
    case VA_STATUS_ERROR_UNIMPLEMENTED:
    case VA_STATUS_ERROR_UNSUPPORTED_PROFILE:
    case VA_STATUS_ERROR_UNSUPPORTED_ENTRYPOINT:
    case VA_STATUS_ERROR_UNSUPPORTED_RT_FORMAT:
    case VA_STATUS_ERROR_UNSUPPORTED_BUFFERTYPE:
    case VA_STATUS_ERROR_UNSUPPORTED_MEMORY_TYPE:
    case VA_STATUS_ERROR_UNSUPPORTED_FILTER:
    case VA_STATUS_ERROR_INVALID_IMAGE_FORMAT:
    case VA_STATUS_ERROR_ATTR_NOT_SUPPORTED:
      return Code::kUnimplemented;
    case VA_STATUS_ERROR_DECODING_ERROR:
    case VA_STATUS_ERROR_ENCODING_ERROR:
      return Code::kDataLoss;
    case VA_STATUS_ERROR_TIMEDOUT:
      return Code::kDeadlineExceeded;
    case VA_STATUS_ERROR_SURFACE_BUSY:
    case VA_STATUS_ERROR_SURFACE_IN_DISPLAYING:
    case VA_STATUS_ERROR_HW_BUSY:
      return Code::kUnavailable;
    default:
      return Code::kInternal;
  }
}

/// The only place where statuses become exceptions.
[[noreturn]] inline void fail(VAStatus status, const char* call, const std::string& what) {
  throw Error(code_of(status), "vaapi: " + what + ": " + vaErrorStr(status), call, status);
}
inline void check(VAStatus status, const char* call, const std::string& what) {
  if (status != VA_STATUS_SUCCESS) fail(status, call, what);
}

}  // namespace vaapi::native
}  // namespace v1
}  // namespace tenon
