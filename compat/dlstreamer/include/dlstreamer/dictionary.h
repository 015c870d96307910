// SPDX-License-Identifier: Apache-2.0
// Named values: what parameters of elements and metadata of frames are made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace dlstreamer {

using Any = std::variant<int, double, size_t, std::string, std::vector<int>, std::vector<double>, std::vector<size_t>,
                         std::vector<std::string>, intptr_t, bool, std::pair<int, int>>;
using AnyMap = std::map<std::string, Any, std::less<void>>;

template <typename T>
bool any_holds_type(const Any& any) {
  return std::holds_alternative<T>(any);
}

/// The value. @errors std::runtime_error: it is of another type.
template <typename T>
T any_cast(const Any& any) {
  if (const T* value = std::get_if<T>(&any)) return *value;
  throw std::runtime_error("any_cast: the value is of alternative " + std::to_string(any.index()) +
                           " of Any, not the type that is asked for");
}

class Dictionary {
 public:
  virtual ~Dictionary() = default;
  virtual std::string name() const = 0;
  virtual std::vector<std::string> keys() const = 0;
  virtual std::optional<Any> try_get(std::string_view key) const noexcept = 0;
  /// Address and bytes of an array; {nullptr, 0} where there is none. Valid until the dictionary changes.
  virtual std::pair<const void*, size_t> try_get_array(std::string_view key) const noexcept = 0;
  virtual void set(std::string_view key, Any value) = 0;
  /// Copies the bytes.
  virtual void set_array(std::string_view key, const void* data, size_t nbytes) = 0;
  virtual void set_name(std::string const& name) = 0;

  /// @errors std::runtime_error: no such key (named), or a value of another type.
  template <typename T>
  T get(std::string_view key) const {
    const std::optional<Any> value = try_get(key);
    if (!value) throw std::runtime_error("Dictionary::get: '" + name() + "' has no key '" + std::string(key) + "'");
    return any_cast<T>(*value);
  }
  /// As above, and `default_value` where there is no such key.
  template <typename T>
  T get(std::string_view key, T default_value) const {
    const std::optional<Any> value = try_get(key);
    return value ? any_cast<T>(*value) : default_value;
  }
  /// Empty where there is no such array.
  template <class T>
  const std::vector<T> get_array(std::string_view key) const {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto [data, nbytes] = try_get_array(key);
    std::vector<T> values(nbytes / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), data, values.size() * sizeof(T));
    return values;
  }
};

using DictionaryPtr = std::shared_ptr<Dictionary>;
using DictionaryCPtr = std::shared_ptr<const Dictionary>;

/// A dictionary seen through typed members: the base of the classes of metadata.
class DictionaryProxy : public Dictionary {
 public:
  /// @errors std::runtime_error: null
  DictionaryProxy(DictionaryPtr dict) : _dict(std::move(dict)) {
    if (!_dict) throw std::runtime_error("DictionaryProxy: the dictionary is null");
  }
  std::string name() const override { return _dict->name(); }
  std::vector<std::string> keys() const override { return _dict->keys(); }
  std::optional<Any> try_get(std::string_view key) const noexcept override { return _dict->try_get(key); }
  std::pair<const void*, size_t> try_get_array(std::string_view key) const noexcept override {
    return _dict->try_get_array(key);
  }
  void set(std::string_view key, Any value) override { _dict->set(key, std::move(value)); }
  void set_array(std::string_view key, const void* data, size_t nbytes) override {
    _dict->set_array(key, data, nbytes);
  }
  void set_name(std::string const& name) override { _dict->set_name(name); }

 protected:
  DictionaryPtr _dict;
};

}  // namespace dlstreamer
