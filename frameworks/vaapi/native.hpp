// SPDX-License-Identifier: Apache-2.0
// Calls of libva, with statuses as Tenon errors.
#pragma once

#include <va/va.h>

#include <atomic>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {
namespace vaapi::native {

/// For tests: when set, is asked before each call, by its name; a status other than success is what the call gave.
using Fault = VAStatus (*)(const char* call);
TENON_API inline std::atomic<Fault> fault{nullptr};

/// Calls `function`. `name` is the one that errors give.
template <class Function, class... Arguments>
VAStatus call(const char* name, Function function, Arguments... arguments) {
  if (const Fault ask = fault.load(std::memory_order_relaxed)) {
    if (const VAStatus status = ask(name)) return status;
  }
  return function(arguments...);
}

/// The canonical code nearest to a status.
Code code_of(VAStatus status);

/// The only place where statuses become exceptions.
[[noreturn]] void fail(VAStatus status, const char* call, const std::string& what);
void check(VAStatus status, const char* call, const std::string& what);

}  // namespace vaapi::native
}  // namespace v1
}  // namespace tenon
