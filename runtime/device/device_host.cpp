// SPDX-License-Identifier: Apache-2.0
// The common code of devices that are made of other devices.
#include <tenon/runtime/device/device_host.hpp>

#include <algorithm>

#include <tenon/runtime/cache/cache.hpp>
#include <tenon/runtime/properties.hpp>
#include <tenon/runtime/request/request.hpp>

namespace tenon {
inline namespace v1 {

DeviceHost::~DeviceHost() = default;

void run_member(InferRequest& request, const Inference& inference) {
  RequestState& state = state_of(request.handle_);
  if (inference.stream() == Inference::kCallerThread) return state.infer(&inference);
  state.start_async(&inference);
  state.wait();
}

AnyMap readable_properties(const CompiledModel& model) {
  AnyMap all;
  for (const PropertyName& name : model.get_property(supported_properties)) all[name] = model.get_property(name);
  return all;
}

std::vector<std::string> split_devices(const std::string& text) {
  std::vector<std::string> names;
  std::string name;
  for (const char c : text + ',') {
    if (c == ',') {
      if (!name.empty()) names.push_back(std::move(name));
      name.clear();
    } else if (c != ' ' && c != '\t') {
      name += c;
    }
  }
  return names;
}

bool takes_property(const DeviceHost& host, const std::string& device, const std::string& key) {
  const auto all = host.get_property(device, supported_properties.name()).as<std::vector<PropertyName>>();
  return std::any_of(all.begin(), all.end(),
                     [&](const PropertyName& name) { return name == key && name.is_mutable(); });
}

AnyMap properties_for(const DeviceHost& host, const std::string& member, const std::vector<std::string>& members,
                      const AnyMap& properties) {
  const std::string nested = device::properties.name();
  AnyMap mine;
  for (const auto& [key, value] : properties) {
    // The runtime itself applies DEVICE_PROPERTIES to the member.
    if (key == zero_copy || cache::is_cache_property(key) || key.compare(0, nested.size(), nested) == 0 ||
        takes_property(host, member, key)) {
      mine[key] = value;
      continue;
    }
    const bool known = std::any_of(members.begin(), members.end(), [&](const auto& other) {
      try {
        return takes_property(host, other, key);
      } catch (const Error& error) {
        // The property may be meant for a device that is missing and replaced by others.
        if (error.code() != Code::kUnavailable) throw;
        return true;
      }
    });
    if (!known) {
      std::string names;
      for (const auto& other : members) names += (names.empty() ? "" : ", ") + other;
      throw Error(Code::kNotFound, "property " + key + " is known to none of " + names);
    }
  }
  return mine;
}

}  // namespace v1
}  // namespace tenon
