// SPDX-License-Identifier: Apache-2.0
// The general properties as a list, for code that treats them all alike: Core, tools, tests.
#pragma once

#include <span>
#include <string>

#include <tenon/core/any.hpp>
#include <tenon/core/export.hpp>
#include <tenon/runtime/property.hpp>

namespace tenon {
inline namespace v1 {

/// A property of properties.hpp.
struct GeneralProperty {
  const char* name;
  PropertyMutability mutability;
  /// Reads a value as the property's type. @errors kInvalidArgument
  void (*check)(const Any& value);
};

TENON_API std::span<const GeneralProperty> general_properties();
/// The general property of this name; null if there is none.
TENON_API const GeneralProperty* find_general_property(const std::string& name);
/// @errors kInvalidArgument: the property is read-only, or the value is not of its type; the message names the property.
TENON_API void check_general_value(const GeneralProperty& property, const Any& value);

}  // namespace v1
}  // namespace tenon
