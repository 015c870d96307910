// SPDX-License-Identifier: Apache-2.0
// Counts calls, and applies the rules about them.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include <tenon/drivers/npu/instrument/control.hpp>
#include <tenon/drivers/npu/instrument/faults.hpp>
#include <tenon/drivers/npu/instrument/instrument.hpp>
#include <tenon/drivers/npu/objects/result.hpp>
#include <tenon/drivers/npu/objects/words.hpp>

namespace tenon::npu {
namespace {

/// Calls that only describe, begin or end: they work on a lost device too.
bool is_harmless(std::string_view name) {
  constexpr std::string_view kPrefixes[] = {"zeInit",          "zeDriver",   "zeMemFree",   "zesInit",
                                            "zesDriver",       "zesDevice",  "zeDeviceGet", "pfnDeviceGet",
                                            "pfnGetExtension", "pfnBuildLog"};
  if (name == "zeDeviceGetStatus") return false;
  return name.find("Destroy") != name.npos ||
         std::ranges::any_of(kPrefixes, [name](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace

bool is_instrumented() noexcept {
  static const bool is = [] {
    const char* trace = std::getenv("TENON_NPU_TRACE");
    return *failure_setting() != 0 || (trace && *trace) || has_control();
  }();
  return is;
}

void start_instruments(std::span<const std::span<const TableEntry>> tables) {
  set_known_calls(tables);
  visit_words(failure_setting(), [&](std::string_view word) {
    Rule rule;
    const char* wrong = read_rule(word, &rule);
    if (!wrong && !names_a_call(rule))
      wrong = "names no call of this driver (zeCommandQueueExecuteCommandLists, pfnCreate2, execution, zeMem*)";
    if (wrong)
      std::fprintf(stderr, "libze_tenon_npu: TENON_NPU_FAIL: '%.*s' %s\n", static_cast<int>(word.size()), word.data(),
                   wrong);
  });
  start_control();
}

ze_result_t fail_as_planned(const char* name, const Effect& effect) noexcept try {
  return fail(effect.code, "TENON_NPU_FAIL made call " + std::to_string(effect.call) + " of " + name + " fail");
} catch (...) {
  return effect.code;
}

ze_result_t fail_as_lost() noexcept {
  return fail(ZE_RESULT_ERROR_DEVICE_LOST,
              "the device is lost, on purpose: TENON_NPU_FAIL or the control socket did it");
}

CallSite::CallSite(const char* name) : name_(name), survives_loss_(is_harmless(name)) {}

const CallSite::Matches* CallSite::matches() noexcept {
  const Matches* found = matches_.load(std::memory_order_acquire);
  const std::uint32_t generation = Rules::all().generation();
  if (found && found->generation == generation) return found;
  try {
    const std::lock_guard lock(mutex_);
    all_matches_.push_back({generation, Rules::all().about(name_)});
    matches_.store(&all_matches_.back(), std::memory_order_release);
    return &all_matches_.back();
  } catch (...) {
    return found;
  }
}

Effect CallSite::planned() noexcept {
  Effect planned;
  const Matches* const found = matches();
  if (!found) return planned;
  for (Rule* rule : found->rules) {
    const std::uint64_t call = rule->calls.fetch_add(1, std::memory_order_relaxed) + 1;
    if (planned.call != 0 || !rule->is_due(call)) continue;
    planned = rule->effect;
    planned.call = call;
  }
  return planned;
}

ze_result_t CallSite::planned_failure() noexcept {
  const Effect effect = planned();
  if (effect.loses) Faults::get().lose();
  if (Faults::get().is_lost() && !survives_loss_) return fail_as_lost();
  if (effect.delay_ns != 0) std::this_thread::sleep_for(std::chrono::nanoseconds(effect.delay_ns));
  return effect.code == ZE_RESULT_SUCCESS ? effect.code : fail_as_planned(name_, effect);
}

CallSite& execution_site() {
  static CallSite& site = *new CallSite(kExecution.data());
  return site;
}

}  // namespace tenon::npu
