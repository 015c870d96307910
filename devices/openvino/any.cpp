// SPDX-License-Identifier: Apache-2.0
// Converts between ov::Any and tenon::Any, and OpenVINO's exceptions to Tenon's.
#include <tenon/devices/openvino/native.hpp>

#include <tuple>
#include <vector>

#include <openvino/runtime/exception.hpp>
#include <openvino/runtime/properties.hpp>

#include <tenon/frameworks/openvino/client.hpp>
#include <tenon/runtime/exception.hpp>
#include <tenon/runtime/properties.hpp>

namespace tenon::inline v1::openvino_device {
namespace {

/// Sets `result` if the value has one of these types.
template <typename... Types>
bool take_same(const ov::Any& value, Any& result) {
  return ((value.is<Types>() && (result = Any(value.as<Types>()), true)) || ...);
}
template <typename... Types>
bool take_same(const Any& value, ov::Any& result) {
  return ((value.is<Types>() && (result = ov::Any(value.as<Types>()), true)) || ...);
}

PropertyMutability mutability_of(const ov::PropertyName& name) {
  // OpenVINO does not tell which properties are write-only.
  if (name == cache_encryption_callbacks.name()) return PropertyMutability::WO;
  return name.is_mutable() ? PropertyMutability::RW : PropertyMutability::RO;
}

std::string text_of(const ov::Any& value) {
  try {
    return value.as<std::string>();
  } catch (const std::exception&) {  // Not printable: only its type is known.
    return std::string("<") + value.type_info().name() + ">";
  }
}

}  // namespace

Any from_native(const ov::Any& value) {
  using Range = std::tuple<unsigned, unsigned>;
  using Steps = std::tuple<unsigned, unsigned, unsigned>;
  Any result;
  if (value.empty()) return result;
  if (value.is<ov::streams::Num>()) return Any(streams::Num(value.as<ov::streams::Num>().num));
  if (take_same<bool, int, unsigned, long, unsigned long, float, double, std::string, std::vector<std::string>, Range,
                Steps, void*>(value, result))
    return result;
  if (value.is<ov::AnyMap>()) return Any(from_native(value.as<ov::AnyMap>()));
  if (value.is<std::vector<ov::PropertyName>>()) {
    std::vector<PropertyName> names;
    for (const auto& name : value.as<std::vector<ov::PropertyName>>()) names.emplace_back(name, mutability_of(name));
    return Any(std::move(names));
  }
  if (value.is<ov::element::Type>()) {
    if (const auto type = openvino::from_native(value.as<ov::element::Type>())) return Any(element::Type(*type));
    if (value.as<ov::element::Type>().is_dynamic()) return Any(element::Type());
  }
  if (value.is<ov::device::PCIInfo>()) {
    const auto pci = value.as<ov::device::PCIInfo>();
    return Any(device::PCIInfo{pci.domain, pci.bus, pci.device, pci.function});
  }
  if (value.is<std::map<ov::element::Type, float>>()) {
    std::map<std::string, float> by_name;
    for (const auto& [type, number] : value.as<std::map<ov::element::Type, float>>())
      by_name[type.get_type_name()] = number;
    return Any(std::move(by_name));
  }
  return Any(text_of(value));
}

AnyMap from_native(const ov::AnyMap& values) {
  AnyMap result;
  for (const auto& [name, value] : values) result[name] = from_native(value);
  return result;
}

ov::Any to_native(const Any& value) {
  ov::Any result;
  if (value.empty()) return result;
  if (take_same<bool, int, unsigned, long, unsigned long, float, double, std::string, void*>(value, result))
    return result;
  if (value.is<AnyMap>()) return ov::Any(to_native(value.as<AnyMap>()));
  return ov::Any(value.to_text());
}

ov::AnyMap to_native(const AnyMap& values) {
  ov::AnyMap result;
  for (const auto& [name, value] : values) result[name] = to_native(value);
  return result;
}

void rethrow(const char* call, const std::string& what) {
  try {
    throw;
  } catch (const ov::Cancelled& error) {
    throw Cancelled("OPENVINO: " + what + ": " + error.what());
  } catch (const ov::Busy& error) {
    throw Busy("OPENVINO: " + what + ": " + error.what());
  } catch (const ov::NotImplemented& error) {
    throw NotImplemented(what + " by OpenVINO (" + call + "): " + error.what());
  } catch (const ov::Exception& error) {
    // OpenVINO has no exception class for it.
    const std::string words = error.what();
    if (words.find("Unsupported property") != words.npos || words.find("NotFound") != words.npos)
      throw Error(Code::kNotFound, "OPENVINO: " + what + ": " + words, call, -1);
    openvino::client::raise(call, what);
  } catch (...) {
    openvino::client::raise(call, what);
  }
}

std::exception_ptr translated(const std::exception_ptr& error, const char* call, const std::string& what) noexcept {
  try {
    try {
      std::rethrow_exception(error);
    } catch (...) {
      rethrow(call, what);
    }
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace tenon::inline v1::openvino_device
