// SPDX-License-Identifier: Apache-2.0
// Names of operations, and casts between classes of nodes.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <type_traits>
#include <utility>

#include "openvino/core/core_visibility.hpp"

namespace ov {

/// Name and version of a class: "Convolution" of "opset1". Equal when both texts are.
struct OPENVINO_API DiscreteTypeInfo {
  const char* name = nullptr;
  const char* version_id = nullptr;
  const DiscreteTypeInfo* parent = nullptr;

  DiscreteTypeInfo() = default;
  explicit constexpr DiscreteTypeInfo(const char* type_name, const char* version,
                                      const DiscreteTypeInfo* base = nullptr)
      : name(type_name), version_id(version), parent(base) {}
  constexpr DiscreteTypeInfo(const char* type_name, const DiscreteTypeInfo* base = nullptr)
      : name(type_name), parent(base) {}

  /// Whether this type, or one of its bases, is `target`.
  bool is_castable(const DiscreteTypeInfo& target) const {
    return *this == target || (parent && parent->is_castable(target));
  }
  std::string get_version() const { return version_id ? version_id : ""; }
  bool operator==(const DiscreteTypeInfo& other) const {
    return text(name) == text(other.name) && get_version() == other.get_version();
  }
  bool operator!=(const DiscreteTypeInfo& other) const { return !(*this == other); }
  bool operator<(const DiscreteTypeInfo& other) const {
    return std::make_pair(get_version(), text(name)) < std::make_pair(other.get_version(), text(other.name));
  }
  bool operator>(const DiscreteTypeInfo& other) const { return other < *this; }
  bool operator<=(const DiscreteTypeInfo& other) const { return !(other < *this); }
  bool operator>=(const DiscreteTypeInfo& other) const { return !(*this < other); }
  operator std::string() const { return text(name) + "_" + get_version(); }
  std::size_t hash() const { return std::hash<std::string>()(std::string(*this)); }

 private:
  static std::string text(const char* characters) { return characters ? characters : ""; }
};
inline std::ostream& operator<<(std::ostream& out, const DiscreteTypeInfo& info) {
  return out << "DiscreteTypeInfo{name: " << (info.name ? info.name : "") << ", version_id: " << info.get_version()
             << "}";
}

/// Whether a node's operation is that of `Type`.
template <typename Type, typename Value>
bool is_type(const Value& value) {
  return value && value->get_type_info().is_castable(Type::get_type_info_static());
}
template <typename... Types, typename Value>
bool is_type_any_of(const Value& value) {
  return (is_type<Types>(value) || ...);
}
template <typename Type, typename Value>
auto as_type(Value* value) -> decltype(dynamic_cast<Type*>(value)) {
  return dynamic_cast<Type*>(value);
}
/// Whether casts trust the names that classes declare: no, they ask the language.
template <typename T>
constexpr bool use_ov_dynamic_cast() {
  return false;
}
namespace util {
template <typename T>
struct AsTypePtr;
template <typename In>
struct AsTypePtr<std::shared_ptr<In>> {
  template <typename Type>
  static std::shared_ptr<Type> call(const std::shared_ptr<In>& value) {
    return std::dynamic_pointer_cast<Type>(value);
  }
};
}  // namespace util
template <typename Type, typename Value>
auto as_type_ptr(const Value& value) -> decltype(util::AsTypePtr<Value>::template call<Type>(value)) {
  return util::AsTypePtr<Value>::template call<Type>(value);
}

}  // namespace ov

template <>
struct std::hash<ov::DiscreteTypeInfo> {
  std::size_t operator()(const ov::DiscreteTypeInfo& info) const { return info.hash(); }
};
