// SPDX-License-Identifier: Apache-2.0
// The runtime's services for devices that are made of other devices.
#pragma once

#include <istream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <tenon/core/any.hpp>
#include <tenon/core/export.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/runtime/compiled_model.hpp>
#include <tenon/runtime/device/device.hpp>
#include <tenon/runtime/infer_request.hpp>

namespace tenon {
inline namespace v1 {

/// The Core that created a device, as that device sees it. Names are as an application writes them: "GPU.1". Models
/// come with the runtime's requests, so tensors that a device can't use in place are routed, copied and booked.
/// @thread all members from any threads at once.
class TENON_API DeviceHost {
 public:
  virtual ~DeviceHost();
  /// The available devices, without composite ones.
  virtual std::vector<std::string> available_devices() const = 0;
  /// @errors as Core's functions of the same names.
  virtual CompiledModel compile_model(const std::shared_ptr<const Model>& model, const std::string& device,
                                      const AnyMap& properties) = 0;
  virtual CompiledModel import_model(std::istream& stream, const std::string& device, const AnyMap& properties) = 0;
  virtual SupportedOpsMap query_model(const std::shared_ptr<const Model>& model, const std::string& device,
                                      const AnyMap& properties) const = 0;
  virtual Any get_property(const std::string& device, const std::string& name) const = 0;
  /// The device's half of a model: which tensors it takes in place, how many streams it has.
  virtual std::shared_ptr<CompiledModelImpl> device_model(const CompiledModel& model) const = 0;
  /// The devices that are known by name but not available, each with the reason.
  virtual std::map<std::string, std::string> unavailable_devices() const = 0;
};

/// Runs a member's request inside an inference of the composite device. On a stream of the runtime it starts the
/// request asynchronously on the member's own streams and waits, so that members run side by side; under infer() it
/// runs in the caller's thread. If the inference is cancelled before the member starts, so is the member.
/// @errors as InferRequest::infer().
TENON_API void run_member(InferRequest& request, const Inference& inference);

/// All properties of a compiled model: what DEVICE_PROPERTIES of a model over devices has of each.
TENON_API AnyMap readable_properties(const CompiledModel& model);

/// The names in "GPU,CPU", in order; white space and empty ones are left out.
TENON_API std::vector<std::string> split_devices(const std::string& text);

/// Whether the device lists the property as writable. @errors as Core::get_property()
TENON_API bool takes_property(const DeviceHost& host, const std::string& device, const std::string& key);

/// The properties of a composite device that apply to one member: those that the member lists as writable, those
/// of the runtime (cache, zero copy), and what DEVICE_PROPERTIES gives to that member.
/// @param members  all members.  @errors kNotFound  a property that no member knows.
TENON_API AnyMap properties_for(const DeviceHost& host, const std::string& member,
                                const std::vector<std::string>& members, const AnyMap& properties);

}  // namespace v1
}  // namespace tenon
