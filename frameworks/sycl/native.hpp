// SPDX-License-Identifier: Apache-2.0
// Calls of the SYCL runtime: its exceptions become errors, and tests can make any call fail.
#pragma once

#include <sycl/sycl.hpp>

#include <cstdint>
#include <string>
#include <system_error>
#include <type_traits>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/native_calls.hpp>

namespace tenon {
inline namespace v1 {
namespace sycl {
namespace detail {

/// Every native call passes through injected(), and every object is counted.
struct TENON_API SyclCalls;
using Probe = CallProbe<SyclCalls>;

Code code_of(const std::error_code& code);

/// Runs a native call. `what` is a text, or a function that makes it on demand.
template <typename What, typename Body>
auto checked(const char* call, const What& what, Body body) {
  const auto text = [&] {
    if constexpr (std::is_invocable_v<What>)
      return "sycl: " + std::string(what());
    else
      return "sycl: " + std::string(what);
  };
  if (Probe::injected())
    throw Error(Code::kResourceExhausted, text() + ": memory_allocation", call,
                static_cast<std::int64_t>(::sycl::errc::memory_allocation));
  try {
    return body();
  } catch (const ::sycl::exception& error) {
    throw Error(code_of(error.code()), text() + ": " + error.what(), call, error.code().value());
  }
}

}  // namespace detail
}  // namespace sycl
}  // namespace v1
}  // namespace tenon
