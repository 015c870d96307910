// SPDX-License-Identifier: Apache-2.0
// Injected failures (TENON_NPU_FAIL) and a trace of the client's calls (TENON_NPU_TRACE). A dispatch table holds either
// the call itself or a wrapper; this is decided when the table is filled, so it costs nothing when off.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <vector>

#include <tenon/drivers/npu/instrument/rules.hpp>
#include <tenon/drivers/npu/instrument/trace.hpp>
#include <tenon/drivers/npu/objects/dispatch.hpp>

namespace tenon::npu {

/// True if failures, a trace or a control socket are asked for. Read once.
bool is_instrumented() noexcept;

/// Reports on stderr the parts of TENON_NPU_FAIL that are no rule or match no call, and starts the control socket.
/// @param tables  all calls that can be made to fail.
void start_instruments(std::span<const std::span<const TableEntry>> tables);

/// One call, identified by the name that rules use. @thread any
class CallSite {
 public:
  explicit CallSite(const char* name);
  const char* name() const noexcept { return name_; }
  /// Counts the call. @return what the first rule that is due says.
  Effect planned() noexcept;
  /// For a call of the client: waits as planned. @return the planned error (fail() was called), or that of a lost device, or
  /// ZE_RESULT_SUCCESS for none.
  ze_result_t planned_failure() noexcept;

 private:
  struct Matches {
    std::uint32_t generation;
    std::vector<Rule*> rules;
  };
  const Matches* matches() noexcept;

  const char* const name_;
  const bool survives_loss_;
  std::atomic<const Matches*> matches_{nullptr};  ///< Replaced when rules change.
  std::mutex mutex_;
  std::deque<Matches> all_matches_;  ///< With earlier ones, which other threads may be reading.
};

/// Calls fail() with the code and the reason: a rule made this call of `name` fail.
ze_result_t fail_as_planned(const char* name, const Effect& effect) noexcept;
/// Calls fail() for a lost device.
ze_result_t fail_as_lost() noexcept;

/// The execution of a submitted list, treated as a call; rules name it "execution".
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
