// SPDX-License-Identifier: Apache-2.0
// Exceptions, Any, properties' texts, versions.
#include <algorithm>
#include <bit>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <map>
#include <ostream>
#include <set>
#include <span>
#include <tuple>

#include <openvino/core/log.hpp>
#include <openvino/core/version.hpp>
#include <openvino/runtime/exception.hpp>
#include <openvino/runtime/properties.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/version.hpp>
#include <tenon/runtime/exception.hpp>
#include <tenon/runtime/model_cache.hpp>
#include <tenon/runtime/properties.hpp>

#include <tenon/graph/small_floats.hpp>

#include "convert.hpp"
#include "device_values.hpp"

namespace ov {

const std::string Exception::default_msg{};
const std::string NotImplemented::default_msg{"Not Implemented"};
Exception::~Exception() = default;
AssertFailure::~AssertFailure() = default;
NotImplemented::~NotImplemented() = default;
Busy::~Busy() = default;
Cancelled::~Cancelled() = default;
RuntimeAttribute::~RuntimeAttribute() = default;
std::ostream& operator<<(std::ostream& out, const RuntimeAttribute& attribute) { return out << attribute.to_string(); }
Any RuntimeAttribute::init(const std::shared_ptr<Node>&) const { return {}; }
Any RuntimeAttribute::merge(const std::vector<std::shared_ptr<Node>>&) const { return {}; }

std::string Exception::make_what(const char* file, int line, const char* check_string, const std::string& context_info,
                                 const std::string& explanation) {
  const std::string at = std::string(file) + ":" + std::to_string(line) + ":\n";
  std::string text =
      check_string ? "Check '" + std::string(check_string) + "' failed at " + at : "Exception from " + at;
  if (!context_info.empty()) text += context_info + ":\n";
  return text + explanation + "\n";
}
void Exception::create(const char* file, int line, const std::string& explanation) {
  throw Exception(make_what(file, line, nullptr, {}, explanation));
}
void AssertFailure::create(const char* file, int line, const char* check_string, const std::string& context_info,
                           const std::string& explanation) {
  throw AssertFailure(make_what(file, line, check_string, context_info, explanation));
}
void NotImplemented::create(const char* file, int line, const std::string& explanation) {
  throw NotImplemented(make_what(file, line, nullptr, {}, "Not Implemented: " + explanation));
}
void Busy::create(const std::string& explanation) { throw Busy(explanation); }
void Cancelled::create(const std::string& explanation) { throw Cancelled(explanation); }

namespace detail {

void rethrow() {
  const auto text = [](const tenon::Error& error) {
    std::string message = tenon::describe(error);
    // Programs look for OpenVINO's words.
    const std::string ours = "not registered in the Tenon Runtime";
    if (const auto at = message.find(ours); at != std::string::npos)
      message.replace(at, ours.size(), "not registered in the OpenVINO Runtime");
    return "Exception from " + std::string(error.where().file_name()) + ":" + std::to_string(error.where().line()) +
           ":\n" + message + "\n";
  };
  try {
    throw;
  } catch (const tenon::Busy& error) {
    throw Busy(text(error) + "Infer Request is busy");
  } catch (const tenon::Cancelled& error) {
    throw Cancelled(text(error));
  } catch (const tenon::NotImplemented& error) {
    throw NotImplemented(text(error));
  } catch (const tenon::AssertFailure& error) {
    throw AssertFailure(text(error));
  } catch (const tenon::Error& error) {
    switch (error.code()) {
      case tenon::Code::kCancelled:
        throw Cancelled(text(error));
      case tenon::Code::kUnimplemented:
        throw NotImplemented(text(error) + NotImplemented::default_msg);
      default:
        throw Exception(text(error));
    }
  }
}

std::exception_ptr translated(const std::exception_ptr& error) {
  if (!error) return error;
  try {
    guarded([&] { std::rethrow_exception(error); });
  } catch (...) {
    return std::current_exception();
  }
  return error;
}

void print(std::ostream& out, const AnyMap& map) { print<std::string, Any>(out, map); }
bool split_map(const std::string& text, std::vector<std::pair<std::string, std::string>>& entries) {
  return tenon::detail::split_map(text, entries);
}
std::vector<std::string> split_words(const std::string& text) { return tenon::detail::split_words(text); }
bool parse_number(const std::string& text, long long& value) { return tenon::detail::parse_number(text, value); }
bool parse_number(const std::string& text, unsigned long long& value) {
  return tenon::detail::parse_number(text, value);
}
bool parse_number(const std::string& text, double& value) { return tenon::detail::parse_number(text, value); }
bool parse(const std::string& text, bool& value) { return tenon::parse_text(text, value); }
bool parse(const std::string& text, AnyMap& map) {
  std::vector<std::pair<std::string, std::string>> entries;
  if (!split_map(text, entries)) return false;
  map.clear();
  for (const auto& [key, value] : entries) map[key] = value;
  return true;
}

std::ostream& print_enum(std::ostream& out, int value, const EnumText* first, const EnumText* last) {
  const auto* entry = std::find_if(first, last, [&](const EnumText& each) { return each.value == value; });
  if (entry == last) OPENVINO_THROW("enumerator ", value, " has no name");
  return out << entry->text;
}
int parse_enum(std::istream& in, const EnumText* first, const EnumText* last, const char* what) {
  std::string text;
  in >> text;
  const auto* entry = std::find_if(first, last, [&](const EnumText& each) {
    return std::equal(text.begin(), text.end(), each.text, each.text + std::strlen(each.text),
                      [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
  });
  if (entry == last) OPENVINO_THROW("Unsupported ", what, ": ", text);
  return entry->value;
}

namespace {

/// Enumerations that both sides have, with the same numbers.
template <typename T, typename O>
struct EnumPair {
  using Tenon = T;
  using Ov = O;
};
using KnownEnums =
    std::tuple<EnumPair<tenon::hint::Priority, hint::Priority>,
               EnumPair<tenon::hint::PerformanceMode, hint::PerformanceMode>,
               EnumPair<tenon::hint::SchedulingCoreType, hint::SchedulingCoreType>,
               EnumPair<tenon::hint::ModelDistributionPolicy, hint::ModelDistributionPolicy>,
               EnumPair<tenon::hint::ExecutionMode, hint::ExecutionMode>, EnumPair<tenon::log::Level, log::Level>,
               EnumPair<tenon::WorkloadType, WorkloadType>, EnumPair<tenon::CacheMode, CacheMode>,
               EnumPair<tenon::device::Type, device::Type>, EnumPair<tenon::CompatibilityCheck, CompatibilityCheck>>;

template <typename T>
bool moved(const tenon::Any& value, Any& result) {
  if (!value.is<T>()) return false;
  result = value.as<T>();
  return true;
}
template <typename... T>
bool moved_any(const tenon::Any& value, Any& result) {
  return (moved<T>(value, result) || ...);
}
template <typename Pair>
bool moved_enum(const tenon::Any& value, Any& result) {
  if (!value.is<typename Pair::Tenon>()) return false;
  result = static_cast<typename Pair::Ov>(value.as<typename Pair::Tenon>());
  return true;
}
template <typename T>
bool moved(const Any& value, tenon::Any& result) {
  if (!value.is<T>()) return false;
  result = tenon::Any(T(value.as<T>()));
  return true;
}
template <typename... T>
bool moved_any(const Any& value, tenon::Any& result) {
  return (moved<T>(value, result) || ...);
}
}  // namespace

tenon::Any to(const Any& value) {
  tenon::Any result;
  if (value.empty() ||
      moved_any<std::string, bool, int, long, long long, unsigned, unsigned long, unsigned long long, float, double,
                void*, std::filesystem::path, std::vector<std::string>, std::vector<int>, std::vector<float>>(value,
                                                                                                              result))
    return result;
  if (value.is<const char*>()) return tenon::Any(std::string(value.as<const char*>()));
  if (value.is<AnyMap>()) return tenon::Any(to(value.as<AnyMap>()));
  if (value.is<std::map<std::string, AnyMap>>()) {
    std::map<std::string, tenon::AnyMap> maps;
    for (const auto& [key, each] : value.as<std::map<std::string, AnyMap>>()) maps[key] = to(each);
    return tenon::Any(maps);
  }
  if (value.is<Tensor>()) return tenon::Any(to(value.as<Tensor>()));
  if (value.is<std::shared_ptr<const Model>>()) {
    return tenon::Any(std::shared_ptr<const tenon::Model>(model_of(value.as<std::shared_ptr<const Model>>())));
  }
  if (value.is<std::shared_ptr<Model>>()) {
    return to(Any(std::shared_ptr<const Model>(value.as<std::shared_ptr<Model>>())));
  }
  if (value.is<EncryptionCallbacks>()) {
    const auto& callbacks = value.as<EncryptionCallbacks>();
    return tenon::Any(tenon::EncryptionCallbacks{callbacks.encrypt, callbacks.decrypt});
  }
  tenon::Any device;
  if (device_value_to(value, device)) return device;
  // Enumerations and what is printed and read alike on both sides.
  return tenon::Any(value.as<std::string>());
}
tenon::AnyMap to(const AnyMap& values) {
  tenon::AnyMap result;
  for (const auto& [key, value] : values) result[key] = to(value);
  return result;
}
Any from(const tenon::Any& value) {
  Any result;
  if (value.empty() ||
      moved_any<std::string, bool, int, long, long long, unsigned, unsigned long, unsigned long long, float, double,
                void*, std::filesystem::path, std::vector<std::string>, std::tuple<unsigned, unsigned>,
                std::tuple<unsigned, unsigned, unsigned>, std::map<std::string, std::uint64_t>,
                std::map<std::string, std::string>>(value, result))
    return result;
  const bool is_enum =
      std::apply([&](auto... pair) { return (moved_enum<decltype(pair)>(value, result) || ...); }, KnownEnums());
  if (is_enum) return result;
  if (value.is<tenon::AnyMap>()) return from(value.as<tenon::AnyMap>());
  if (value.is<tenon::element::Type>()) return from(static_cast<tenon::ElementType>(value.as<tenon::element::Type>()));
  if (value.is<tenon::ElementType>()) return from(value.as<tenon::ElementType>());
  if (value.is<tenon::streams::Num>()) return streams::Num(value.as<tenon::streams::Num>().num);
  if (value.is<tenon::Tensor>()) return from(value.as<tenon::Tensor>());
  if (value.is<std::vector<tenon::PropertyName>>()) {
    std::vector<PropertyName> names;
    for (const tenon::PropertyName& name : value.as<std::vector<tenon::PropertyName>>())
      names.emplace_back(name, static_cast<PropertyMutability>(name.get_mutability()));
    return names;
  }
  if (value.is<std::map<tenon::element::Type, float>>()) {
    std::map<element::Type, float> gops;
    for (const auto& [type, number] : value.as<std::map<tenon::element::Type, float>>())
      gops[from(static_cast<tenon::ElementType>(type))] = number;
    return gops;
  }
  if (value.is<tenon::device::UUID>()) return std::bit_cast<device::UUID>(value.as<tenon::device::UUID>());
  if (value.is<tenon::device::LUID>()) return std::bit_cast<device::LUID>(value.as<tenon::device::LUID>());
  if (value.is<tenon::device::PCIInfo>()) return std::bit_cast<device::PCIInfo>(value.as<tenon::device::PCIInfo>());
  return value.as<std::string>();
}
AnyMap from(const tenon::AnyMap& values) {
  AnyMap result;
  for (const auto& [key, value] : values) result[key] = from(value);
  return result;
}

}  // namespace detail

Any::Base& Any::keep(const std::shared_ptr<Base>& converted) const {
  for (const std::shared_ptr<Base>& each : converted_) {
    if (each->type() != converted->type()) continue;
    each->take(*converted);
    return *each;
  }
  converted_.push_back(converted);
  return *converted;
}
void Any::refuse(const std::type_info& wanted) const {
  if (!held_) OPENVINO_THROW("Any is empty: it is no ", wanted.name());
  OPENVINO_THROW("Bad as from: ", held_->type().name(), " to: ", wanted.name());
}

namespace device {
namespace {
std::ostream& print_hex(std::ostream& out, std::span<const std::uint8_t> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (const std::uint8_t byte : bytes) out << kDigits[byte >> 4] << kDigits[byte & 15];
  return out;
}
/// Reads a value as Tenon reads it.
template <typename T, typename O>
std::istream& parse_as(std::istream& in, O& value) {
  T read{};
  detail::guarded([&] { in >> read; });
  value = std::bit_cast<O>(read);
  return in;
}
}  // namespace
std::ostream& operator<<(std::ostream& out, const UUID& value) { return print_hex(out, value.uuid); }
std::istream& operator>>(std::istream& in, UUID& value) { return parse_as<tenon::device::UUID>(in, value); }
std::ostream& operator<<(std::ostream& out, const LUID& value) { return print_hex(out, value.luid); }
std::istream& operator>>(std::istream& in, LUID& value) { return parse_as<tenon::device::LUID>(in, value); }
std::ostream& operator<<(std::ostream& out, const PCIInfo& pci) {
  return out << tenon::device::PCIInfo{pci.domain, pci.bus, pci.device, pci.function};
}
std::pair<std::string, Any> Properties::operator()(const AnyMap& config) const { return {name(), Any(config)}; }
std::pair<std::string, Any> Properties::operator()(const std::string& device, const AnyMap& config) const {
  return {name() + std::string("_") + device, Any(config)};
}
}  // namespace device

namespace util {
bool equal(std::type_index lhs, std::type_index rhs) { return lhs == rhs; }
void set_log_callback(const std::function<void(std::string_view)>& callback) {
  tenon::cache::set_message_sink([callback](const std::string& line) {
    if (callback) callback(line);
  });
}
void reset_log_callback() {
  tenon::cache::set_message_sink([](const std::string& line) { std::cerr << line << '\n'; });
}
}  // namespace util

namespace streams {
std::ostream& operator<<(std::ostream& out, const Num& value) { return out << tenon::streams::Num(value.num); }
std::istream& operator>>(std::istream& in, Num& value) {
  return detail::guarded([&]() -> std::istream& {
    tenon::streams::Num read;
    in >> read;
    value.num = read.num;
    return in;
  });
}
}  // namespace streams

std::ostream& operator<<(std::ostream& out, const Version& version) {
  return out << version.description << "\n    Version : " << version.buildNumber;
}
std::ostream& operator<<(std::ostream& out, const std::map<std::string, Version>& versions) {
  for (const auto& [name, version] : versions) out << name << "\n" << version << "\n";
  return out;
}
Version get_openvino_version() noexcept { return {"2026.4.1-tenon-" TENON_VERSION, "Tenon behind OpenVINO's API"}; }

// ---------------------------------------------------------------- numbers of few bits
#define OV_TENON_SMALL_FLOAT(name, type)                                                             \
  name::operator float() const { return tenon::small_float_value(tenon::ElementType::type, bits_); } \
  std::uint8_t name::rounded(float value) { return tenon::small_float_code(tenon::ElementType::type, value); }
OV_TENON_SMALL_FLOAT(float8_e4m3, kF8E4M3)
OV_TENON_SMALL_FLOAT(float8_e5m2, kF8E5M2)
OV_TENON_SMALL_FLOAT(float8_e8m0, kF8E8M0)
OV_TENON_SMALL_FLOAT(float4_e2m1, kF4E2M1)
#undef OV_TENON_SMALL_FLOAT

}  // namespace ov
