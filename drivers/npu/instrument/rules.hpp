// SPDX-License-Identifier: Apache-2.0
// Rules for calls and executions: what fails, waits, hangs or loses the device, and when. TENON_NPU_FAIL has the first ones;
// the control socket adds others while the process runs.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <level_zero/ze_api.h>

#include <tenon/drivers/npu/objects/dispatch.hpp>

namespace tenon::npu {

/// The name by which rules mean the execution of a submitted list.
inline constexpr std::string_view kExecution = "execution";

/// What a rule does to a call.
struct Effect {
  ze_result_t code = ZE_RESULT_SUCCESS;  ///< What the call returns instead of doing anything.
  std::uint64_t delay_ns = 0;            ///< Time before it begins.
  double factor = 1;                     ///< Executions only: they take so many times as long.
  bool hangs = false;                    ///< Executions only: until the device is reset.
  bool loses = false;                    ///< The device is lost from then on.
  std::uint64_t call = 0;                ///< Which call of its name it is, from 1; 0: no rule is due.
};

/// Written NAME:N=EFFECT. NAME is a call, or a prefix before "*"; without N it means every call. N+: the Nth and all later ones.
class Rule {
 public:
  std::string name;
  std::uint64_t first = 0;
  bool goes_on = false;
  Effect effect;
  std::atomic<std::uint64_t> calls{0};

  bool is_about(std::string_view call) const {
    return name.ends_with('*') ? call.starts_with(std::string_view(name).substr(0, name.size() - 1)) : call == name;
  }
  bool is_due(std::uint64_t call) const { return first == 0 || call == first || (goes_on && call > first); }
};

/// @param rule  Filled in. @return the error in the text; null if it was read.
const char* read_rule(std::string_view text, Rule* rule);

/// The process's rules. They are never freed: other threads may be reading them.
/// @thread all functions from any thread.
class Rules {
 public:
  /// With those of TENON_NPU_FAIL that are valid; report_unknown_failures() names the others.
  static Rules& all();
  /// Increases with every change.
  std::uint32_t generation() const noexcept { return generation_.load(std::memory_order_acquire); }
  /// Those about the call, in order. @errors std::bad_alloc
  std::vector<Rule*> about(std::string_view call) const;
  /// @return the error in one of the rules, of which none is then added; empty: they were added.
  std::string add(std::string_view texts);
  void clear();
  std::size_t size() const;

 private:
  Rules();
  std::atomic<std::uint32_t> generation_{1};
  std::vector<Rule*> rules_, retired_;
};

/// TENON_NPU_FAIL, or "".
const char* failure_setting() noexcept;

/// Every call that rules can name, for checking them. Set once, when the driver is created.
void set_known_calls(std::span<const std::span<const TableEntry>> tables);
/// Whether a rule about this name, which may end in "*", means any call. True before set_known_calls().
bool names_a_call(const Rule& rule);

}  // namespace tenon::npu
