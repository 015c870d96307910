// SPDX-License-Identifier: Apache-2.0
// Failures on purpose (TENON_NPU_FAIL) and a trace of a client's calls (TENON_NPU_TRACE). Which of two functions a
// table of calls has, the call itself or one around it, is decided when the table is made: what is off costs nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <tenon/drivers/npu/instrument/trace.hpp>
#include <tenon/drivers/npu/objects/dispatch.hpp>

namespace tenon::npu {

/// Either variable is set. Read once.
bool is_instrumented() noexcept;

/// Tells the standard error what in TENON_NPU_FAIL is no rule, or names no call.
/// @param tables  of every call that can be made to fail.
void report_unknown_failures(std::span<const std::span<const TableEntry>> tables) noexcept;

/// One call by its name, as TENON_NPU_FAIL sees it. @thread any
class CallSite {
 public:
  explicit CallSite(const char* name);
  const char* name() const noexcept { return name_; }
  /// Counts the call. @return how it is to fail, and fail() was called; ZE_RESULT_SUCCESS: not at all.
  ze_result_t planned_failure() noexcept;

 private:
  const char* const name_;
  std::vector<class FailureRule*> rules_;
};

/// A submission of a list, as a call: its name in TENON_NPU_FAIL is "execution".
CallSite& execution_site();

/// A text as an argument of templates.
template <std::size_t kSize>
struct CallName {
  char text[kSize];
  consteval CallName(const char (&given)[kSize]) {  // NOLINT(google-explicit-constructor): written as a literal.
    for (std::size_t i = 0; i < kSize; ++i) text[i] = given[i];
  }
};

/// The call `kFunction` with what is around it.
template <CallName kName, auto kFunction>
struct Instrumented;

template <CallName kName, typename... Arguments, ze_result_t (*kFunction)(Arguments...)>
struct Instrumented<kName, kFunction> {
  static ze_result_t call(Arguments... arguments) {
    static CallSite site(kName.text);
    TracedCall traced(site.name());
    (traced.before(arguments), ...);
    traced.begin();
    ze_result_t result = site.planned_failure();
    if (result == ZE_RESULT_SUCCESS) result = kFunction(arguments...);
    traced.end();
    if (result == ZE_RESULT_SUCCESS) (traced.after(arguments), ...);
    traced.write(result);
    return result;
  }
};

/// The place of a call in a table. @param minor  Version of the API since which tables have it.
template <CallName kName, auto kFunction>
TableEntry entry(std::uint32_t minor) {
  static constexpr auto kText = kName;
  auto* const call = is_instrumented() ? &Instrumented<kName, kFunction>::call : kFunction;
  return {reinterpret_cast<const void*>(call), minor, kText.text};
}

/// Arguments are the caller's to clear away (x86-64 and AArch64 calling conventions), so one function serves every
/// type.
ze_result_t unsupported_call();

/// A call that this driver has not: it returns ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, whatever it is given.
template <CallName kName>
TableEntry unsupported(std::uint32_t minor) {
  return entry<kName, unsupported_call>(minor);
}

}  // namespace tenon::npu
