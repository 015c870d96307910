// SPDX-License-Identifier: Apache-2.0
// Reading and writing of property tables.
#include <tenon/runtime/device/property_table.hpp>

#include <algorithm>

namespace tenon {
inline namespace v1 {

PropertyTable::PropertyTable(std::string owner) : owner_(std::move(owner)) {}

void PropertyTable::add(const PropertyName& name, Getter get, Setter set) {
  entries_.push_back({name, std::move(get), std::move(set)});
}

bool PropertyTable::has(const std::string& name) const {
  return name == supported_properties ||
         std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.name == name; });
}

const PropertyTable::Entry& PropertyTable::find(const std::string& name) const {
  for (const Entry& entry : entries_) {
    if (entry.name == name) return entry;
  }
  std::string known;
  for (const PropertyName& entry : names())
    known += (known.empty() ? "" : ", ") + static_cast<const std::string&>(entry);
  throw Error(Code::kNotFound, "Unsupported property " + name + " by " + owner_ + "; supported: " + known);
}

Any PropertyTable::get(const std::string& name) const {
  if (name == supported_properties) return Any(names());
  const Entry& entry = find(name);
  if (!entry.get) throw Error(Code::kInvalidArgument, "property " + name + " of " + owner_ + " can be written only");
  return entry.get();
}

void PropertyTable::set(const AnyMap& properties) const {
  for (const bool apply : {false, true}) {
    for (const auto& [name, value] : properties) {
      const bool is_list = name == supported_properties;
      if (is_list || !find(name).set) {
        throw Error(Code::kInvalidArgument, "property " + name + " of " + owner_ + " is read-only");
      }
      try {
        find(name).set(value, apply);
      } catch (const Error& error) {
        throw Error(error.code(), "property " + name + " of " + owner_ + " can't be set: " + error.what());
      }
    }
  }
}

std::vector<PropertyName> PropertyTable::names() const {
  std::vector<PropertyName> names;
  names.emplace_back(supported_properties);
  for (const Entry& entry : entries_) names.push_back(entry.name);
  return names;
}

}  // namespace v1
}  // namespace tenon
