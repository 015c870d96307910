// SPDX-License-Identifier: Apache-2.0
// Parses rules, and keeps those that are in force.
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <mutex>

#include <tenon/drivers/npu/instrument/rules.hpp>
#include <tenon/drivers/npu/objects/words.hpp>
#include <tenon/frameworks/level_zero/abi/result_names.hpp>

namespace tenon::npu {
namespace {

namespace abi = level_zero::abi;

std::mutex& rules_mutex() {
  static auto& mutex = *new std::mutex;
  return mutex;
}

std::vector<std::string>& known_calls() {
  static auto& names = *new std::vector<std::string>;
  return names;
}

template <typename Number>
bool read_number(std::string_view text, Number* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
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

/// "20ms", "500us" and "1s" are times, "3x" is a factor.
bool read_slow(std::string_view text, Effect* effect) {
  constexpr double kLongestNs = 3600e9;
  struct Unit {
    std::string_view name;
    double ns;
  };
  constexpr Unit kUnits[] = {{"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"x", 0}};
  const auto unit = std::ranges::find_if(kUnits, [&](const Unit& each) { return text.ends_with(each.name); });
  double value = 0;
  if (unit == std::end(kUnits) || !read_number(text.substr(0, text.size() - unit->name.size()), &value)) return false;
  if (unit->ns == 0) {
    effect->factor = value;
    return value >= 1 && value <= 1e6;
  }
  if (!(value >= 0) || value * unit->ns > kLongestNs) return false;
  effect->delay_ns = static_cast<std::uint64_t>(value * unit->ns);
  return true;
}

const char* read_effect(std::string_view text, bool is_execution, Effect* effect) {
  if (text == "hang" || text.starts_with("slow(")) {
    effect->hangs = text == "hang";
    if (!effect->hangs && (!text.ends_with(')') || !read_slow(text.substr(5, text.size() - 6), effect)))
      return "slows by a time (slow(20ms), of at most an hour) or a factor from 1 (slow(3x))";
    if (!is_execution && (effect->hangs || effect->factor > 1))
      return "makes a call hang, or slower by a factor: only executions can";
    return nullptr;
  }
  effect->loses = text == "lost";
  if (effect->loses || read_code(text, &effect->code)) return nullptr;
  return "names no code that a call can fail with, nor slow(TIME), slow(FACTORx), hang or lost";
}

}  // namespace

const char* failure_setting() noexcept {
  const char* text = std::getenv("TENON_NPU_FAIL");
  return text ? text : "";
}

const char* read_rule(std::string_view text, Rule* rule) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return "has no =CODE";
  std::string_view call = text.substr(0, equals);
  if (const std::size_t colon = call.find(':'); colon != std::string_view::npos) {
    std::string_view number = call.substr(colon + 1);
    call = call.substr(0, colon);
    rule->goes_on = number.ends_with('+');
    if (rule->goes_on) number.remove_suffix(1);
    if (!read_number(number, &rule->first) || rule->first == 0)
      return "counts calls from 1, as NAME:3=CODE or NAME:3+=CODE";
  }
  rule->name = call;
  if (call.empty()) return "names no call";
  return read_effect(text.substr(equals + 1), call == kExecution, &rule->effect);
}

Rules& Rules::all() {
  static auto& rules = *new Rules;
  return rules;
}

Rules::Rules() {
  visit_words(failure_setting(), [this](std::string_view word) {
    auto rule = std::make_unique<Rule>();
    if (!read_rule(word, rule.get())) rules_.push_back(rule.release());
  });
}

std::vector<Rule*> Rules::about(std::string_view call) const {
  const std::lock_guard lock(rules_mutex());
  std::vector<Rule*> found;
  std::ranges::copy_if(rules_, std::back_inserter(found), [&](const Rule* each) { return each->is_about(call); });
  return found;
}

std::string Rules::add(std::string_view texts) {
  std::vector<std::unique_ptr<Rule>> added;
  std::string wrong;
  visit_words(texts, [&](std::string_view word) {
    added.push_back(std::make_unique<Rule>());
    const char* reason = read_rule(word, added.back().get());
    if (!reason && !names_a_call(*added.back())) reason = "names no call of this driver";
    if (reason && wrong.empty()) wrong = "'" + std::string(word) + "' " + reason;
  });
  if (added.empty()) wrong = "no rule: NAME=CODE, NAME:N=CODE or NAME:N+=CODE";
  if (!wrong.empty()) return wrong;
  const std::lock_guard lock(rules_mutex());
  rules_.reserve(rules_.size() + added.size());
  for (auto& each : added) rules_.push_back(each.release());
  generation_.fetch_add(1, std::memory_order_release);
  return {};
}

void Rules::clear() {
  const std::lock_guard lock(rules_mutex());
  retired_.insert(retired_.end(), rules_.begin(), rules_.end());
  rules_.clear();
  generation_.fetch_add(1, std::memory_order_release);
}

std::size_t Rules::size() const {
  const std::lock_guard lock(rules_mutex());
  return rules_.size();
}

void set_known_calls(std::span<const std::span<const TableEntry>> tables) {
  const std::lock_guard lock(rules_mutex());
  known_calls().clear();
  for (const auto& table : tables)
    for (const TableEntry& each : table) known_calls().emplace_back(each.name);
}

bool names_a_call(const Rule& rule) {
  if (rule.is_about(kExecution)) return true;
  const std::lock_guard lock(rules_mutex());
  return known_calls().empty() ||
         std::ranges::any_of(known_calls(), [&](const std::string& each) { return rule.is_about(each); });
}

}  // namespace tenon::npu
