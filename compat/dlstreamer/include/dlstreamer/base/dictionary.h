// SPDX-License-Identifier: Apache-2.0
// A dictionary of its own.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "dlstreamer/dictionary.h"

namespace dlstreamer {

class BaseDictionary : public Dictionary {
 public:
  BaseDictionary() = default;
  BaseDictionary(std::string_view name) : _name(name) {}
  BaseDictionary(const AnyMap& map) : _map(map) {}
  BaseDictionary(const std::string& name, const AnyMap& map) : _name(name), _map(map) {}

  std::string name() const override { return _name; }
  std::vector<std::string> keys() const override {
    std::vector<std::string> all;
    for (const auto& [key, value] : _map) all.push_back(key);
    for (const auto& [key, value] : _arrays) all.push_back(key);
    return all;
  }
  std::optional<Any> try_get(std::string_view key) const noexcept override {
    const auto found = _map.find(key);
    return found == _map.end() ? std::nullopt : std::optional<Any>(found->second);
  }
  std::pair<const void*, size_t> try_get_array(std::string_view key) const noexcept override {
    const auto found = _arrays.find(key);
    if (found == _arrays.end()) return {nullptr, 0};
    return {found->second.data(), found->second.size()};
  }
  void set(std::string_view key, Any value) override { _map.insert_or_assign(std::string(key), std::move(value)); }
  void set_array(std::string_view key, const void* data, size_t nbytes) override {
    const auto* bytes = static_cast<const uint8_t*>(data);
    _arrays.insert_or_assign(std::string(key), std::vector<uint8_t>(bytes, bytes + nbytes));
  }
  void set_name(std::string const& name) override { _name = name; }

 private:
  std::string _name;
  AnyMap _map;
  std::map<std::string, std::vector<uint8_t>, std::less<void>> _arrays;
};

}  // namespace dlstreamer
