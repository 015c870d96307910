// SPDX-License-Identifier: Apache-2.0
// A device's properties as a table: each is declared once, and SUPPORTED_PROPERTIES follows from it.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/any.hpp>
#include <tenon/core/export.hpp>
#include <tenon/runtime/properties.hpp>  // IWYU pragma: export
#include <tenon/runtime/property.hpp>

namespace tenon {
inline namespace v1 {

/// Properties of one device or compiled model. add() all first; get() and set() afterwards.
/// @thread get and set from any thread if the functions given to add() allow it.
class TENON_API PropertyTable {
 public:
  using Getter = std::function<Any()>;
  /// Checks and applies a value. With `apply` false it only checks, so that set() changes all or nothing.
  using Setter = std::function<void(const Any& value, bool apply)>;

  /// @param owner  Its name in messages: "CPU", "compiled model of CPU".
  explicit PropertyTable(std::string owner);

  void add(const PropertyName& name, Getter get, Setter set = {});
  /// Adds a property that is just a value: it is read as T, and parsed from text when it is written.
  template <typename T, PropertyMutability M>
  void add_value(const Property<T, M>& property, T& variable) {
    Setter set;
    if constexpr (M != PropertyMutability::RO) {
      set = [&variable](const Any& value, bool apply) {
        T parsed = value.as<T>();
        if (apply) variable = std::move(parsed);
      };
    }
    add(
        property, [&variable] { return Any(variable); }, std::move(set));
  }
  template <typename T, PropertyMutability M>
  void add_constant(const Property<T, M>& property, T value) {
    add(PropertyName(property.name(), PropertyMutability::RO), [value = std::move(value)] { return Any(value); });
  }

  bool has(const std::string& name) const;
  /// Reads a property. SUPPORTED_PROPERTIES is answered from the table. @errors kNotFound; the message lists the known names.
  Any get(const std::string& name) const;
  /// @errors kNotFound  unknown name;  kInvalidArgument  read-only, or a value that does not parse. Nothing is changed
  /// then.
  void set(const AnyMap& properties) const;
  std::vector<PropertyName> names() const;

 private:
  struct Entry {
    PropertyName name;
    Getter get;
    Setter set;
  };
  const Entry& find(const std::string& name) const;
  std::string owner_;
  std::vector<Entry> entries_;
};

/// The properties of a device. Some of them are settings that a call may override.
/// @tparam Config  The settings of users: a value whose declare(PropertyTable&) adds each of its members.
/// @thread get(), set() and with() from any thread.
template <typename Config>
class DeviceProperties {
 public:
  explicit DeviceProperties(const std::string& owner) : owner_(owner), table_(owner) { config_.declare(table_); }
  DeviceProperties(const DeviceProperties&) = delete;  // The table refers to the settings.
  DeviceProperties& operator=(const DeviceProperties&) = delete;

  /// The table, for adding the other properties before the first get(). Getters may read config() safely while they run.
  PropertyTable& table() { return table_; }
  const Config& config() const { return config_; }

  /// @errors as PropertyTable's.
  Any get(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    return table_.get(name);
  }
  void set(const AnyMap& properties) {
    const std::lock_guard lock(mutex_);
    table_.set(properties);
  }
  /// The settings, overridden by those of one call. An unknown name is an error, and changes nothing.
  Config with(const AnyMap& properties) const {
    Config config = copy();
    PropertyTable table(owner_);
    config.declare(table);
    table.set(properties);
    return config;
  }

 private:
  Config copy() const {
    const std::lock_guard lock(mutex_);
    return config_;
  }
  const std::string owner_;
  mutable std::mutex mutex_;
  Config config_;
  PropertyTable table_;
};

}  // namespace v1
}  // namespace tenon
