// SPDX-License-Identifier: Apache-2.0
// Parses TENON_NPU_FAIL once into rules, and counts the calls that they match.
#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string>

#include <tenon/drivers/npu/instrument/instrument.hpp>
#include <tenon/drivers/npu/objects/result.hpp>
#include <tenon/drivers/npu/objects/words.hpp>
#include <tenon/frameworks/level_zero/abi/result_names.hpp>

namespace tenon::npu {

/// Parsed from "NAME:N=CODE". NAME is a call or a prefix before "*"; N is 0 for every call.
class FailureRule {
 public:
  std::string_view name;
  std::uint64_t first = 0;
  bool goes_on = false;  ///< Written "N+": the Nth call and every later one.
  ze_result_t code = ZE_RESULT_SUCCESS;
  std::atomic<std::uint64_t> calls{0};

  bool is_about(std::string_view call) const {
    return name.ends_with('*') ? call.starts_with(name.substr(0, name.size() - 1)) : call == name;
  }
  bool is_due(std::uint64_t call) const { return first == 0 || call == first || (goes_on && call > first); }
};

namespace {

constexpr const char* kExecution = "execution";

const char* setting() {
  const char* text = std::getenv("TENON_NPU_FAIL");
  return text ? text : "";
}

bool read_code(std::string_view text, ze_result_t* code) {
  for (const abi::ResultName& each : abi::kResultNames) {
    const std::string_view name = each.name;
    constexpr std::string_view kPrefix = "ZE_RESULT_";
    if (each.code == 0 || (text != name && text != name.substr(kPrefix.size()))) continue;
    *code = static_cast<ze_result_t>(each.code);
    return true;
  }
  if (!text.starts_with("0x")) return false;
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), value, 16);
  *code = static_cast<ze_result_t>(value);
  return error == std::errc() && end == text.data() + text.size() && value != 0 && value <= 0x7fffffff;
}

/// @return the error in the rule; null if it was read.
const char* read_rule(std::string_view word, FailureRule* rule) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos) return "has no =CODE";
  if (!read_code(word.substr(equals + 1), &rule->code)) return "names no code that a call can fail with";
  std::string_view call = word.substr(0, equals);
  if (const std::size_t colon = call.find(':'); colon != std::string_view::npos) {
    std::string_view number = call.substr(colon + 1);
    call = call.substr(0, colon);
    rule->goes_on = number.ends_with('+');
    if (rule->goes_on) number.remove_suffix(1);
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), rule->first);
    if (error != std::errc() || end != number.data() + number.size() || rule->first == 0)
      return "counts calls from 1, as NAME:3=CODE or NAME:3+=CODE";
  }
  rule->name = call;
  return call.empty() ? "names no call" : nullptr;
}

/// The valid rules; the others are reported when the driver is created.
std::deque<FailureRule>& rules() {
  static auto& all = *[] {
    auto* read = new std::deque<FailureRule>;
    visit_words(setting(), [read](std::string_view word) {
      read->emplace_back();
      if (read_rule(word, &read->back())) read->pop_back();
    });
    return read;
  }();
  return all;
}

}  // namespace

bool is_instrumented() noexcept {
  static const bool is = [] {
    const char* trace = std::getenv("TENON_NPU_TRACE");
    return *setting() != 0 || (trace && *trace);
  }();
  return is;
}

void report_unknown_failures(std::span<const std::span<const TableEntry>> tables) noexcept {
  visit_words(setting(), [&](std::string_view word) {
    FailureRule rule;
    const char* wrong = read_rule(word, &rule);
    const auto is_about = [&](const TableEntry& each) { return rule.is_about(each.name); };
    if (!wrong && !rule.is_about(kExecution) &&
        std::ranges::none_of(tables, [&](const auto& table) { return std::ranges::any_of(table, is_about); }))
      wrong = "names no call of this driver (zeCommandQueueExecuteCommandLists, pfnCreate2, execution, zeMem*)";
    if (wrong)
      std::fprintf(stderr, "libze_tenon_npu: TENON_NPU_FAIL: '%.*s' %s\n", static_cast<int>(word.size()), word.data(),
                   wrong);
  });
}

CallSite::CallSite(const char* name) : name_(name) {
  for (FailureRule& rule : rules())
    if (rule.is_about(name)) rules_.push_back(&rule);
}

ze_result_t CallSite::planned_failure() noexcept {
  ze_result_t planned = ZE_RESULT_SUCCESS;
  std::uint64_t which = 0;
  for (FailureRule* rule : rules_) {
    const std::uint64_t call = rule->calls.fetch_add(1, std::memory_order_relaxed) + 1;
    if (planned != ZE_RESULT_SUCCESS || !rule->is_due(call)) continue;
    planned = rule->code;
    which = call;
  }
  if (planned == ZE_RESULT_SUCCESS) return planned;
  try {
    return fail(planned, "TENON_NPU_FAIL made call " + std::to_string(which) + " of " + name_ + " fail");
  } catch (...) {
    return planned;
  }
}

CallSite& execution_site() {
  static CallSite& site = *new CallSite(kExecution);
  return site;
}

}  // namespace tenon::npu
