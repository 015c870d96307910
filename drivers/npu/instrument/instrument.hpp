// SPDX-License-Identifier: Apache-2.0
// Injected failures (TENON_NPU_FAIL) and a trace of the client's calls (TENON_NPU_TRACE). A dispatch table holds either
// the call itself or a wrapper; this is decided when the table is filled, so it costs nothing when off.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tenon/drivers/npu/instrument/trace.hpp>
#include <tenon/drivers/npu/objects/dispatch.hpp>

namespace tenon::npu {

/// True if either variable is set. Read once.
bool is_instrumented() noexcept;

/// Reports on stderr the parts of TENON_NPU_FAIL that are no rule or match no call.
/// @param tables  all calls that can be made to fail.
void report_unknown_failures(std::span<const std::span<const TableEntry>> tables) noexcept;

/// One call, identified by the name that TENON_NPU_FAIL uses. @thread any
class CallSite {
 public:
  explicit CallSite(const char* name);
  const char* name() const noexcept { return name_; }
  /// Counts the call. @return the planned error (fail() was called), or ZE_RESULT_SUCCESS for none.
  ze_result_t planned_failure() noexcept;

 private:
  const char* const name_;
  std::vector<class FailureRule*> rules_;
};

/// The execution of a submitted list, treated as a call; TENON_NPU_FAIL names it "execution".
CallSite& execution_site();

/// A string usable as a template argument.
template <std::size_t kSize>
struct CallName {
  char text[kSize];
  consteval CallName(const char (&given)[kSize]) {  // NOLINT(google-explicit-constructor): written as a literal.
    for (std::size_t i = 0; i < kSize; ++i) text[i] = given[i];
  }
};

/// Wraps the call `kFunction` with failure injection and tracing.
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

/// A table's entry for the call. @param minor  Minor API version that added the call.
template <CallName kName, auto kFunction>
TableEntry entry(std::uint32_t minor) {
  static constexpr auto kText = kName;
  auto* const call = is_instrumented() ? &Instrumented<kName, kFunction>::call : kFunction;
  return {reinterpret_cast<const void*>(call), minor, kText.text};
}

/// The caller cleans up the arguments (x86-64 and AArch64 calling conventions), so one
/// function serves every type.
ze_result_t unsupported_call();

/// An unsupported call: returns ZE_RESULT_ERROR_UNSUPPORTED_FEATURE for any arguments.
template <CallName kName>
TableEntry unsupported(std::uint32_t minor) {
  return entry<kName, unsupported_call>(minor);
}

}  // namespace tenon::npu
