// SPDX-License-Identifier: Apache-2.0
// The Level Zero devices of this machine: those of all drivers, or none.
#include <tenon/frameworks/level_zero/contexts.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/native_calls.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/cpu/fd.hpp>
#include <tenon/frameworks/cpu/pages.hpp>
#include <tenon/frameworks/dmabuf/client.hpp>
#include <tenon/frameworks/level_zero/dmabuf_edges.hpp>
#include <tenon/frameworks/level_zero/make.hpp>

namespace tenon {
inline namespace v1 {
namespace level_zero {
namespace detail {

TENON_INLINE std::vector<Context> find_contexts() {
  std::vector<Context> found;
  std::vector<std::string> names;
  try {
    for (const Device& device : devices()) {
      const std::string name = distinct_name(names, typable(device.name));
      try {
        found.push_back(detail::make_context(device, name, {}));
      } catch (const Error&) {
        // Skips devices whose driver cannot make a context.
      }
    }
  } catch (const Error&) {
    // Skips drivers that cannot be queried.
  }
  return found;
}

}  // namespace detail

TENON_INLINE std::vector<Context> contexts() {
  static const auto* all = new std::vector<Context>(detail::find_contexts());  // Outlives static destructors.
  return *all;
}

TENON_INLINE std::string why_none() {
  try {
    return devices().empty() ? "no driver on this machine has a device" : "no driver makes a context for its device";
  } catch (const Error& error) {
    return error.what();
  }
}

namespace detail {

/// Whether the driver imports a sealed memfd. No property reports it; software drivers do.
TENON_INLINE bool takes_memfd(const Ref<Native>& native) {
  if (!native->device.imports_opaque() && !native->device.imports_dmabuf()) return false;
  const cpu::UniqueFd memfd = dmabuf::client::sealed_memfd(cpu::page_bytes());
  try {
    const UsmBlock imported = import_fd(native, memfd.get(), cpu::page_bytes(), false);
    return find_usm(*native, imported.data()).has_value();
  } catch (const Error& error) {
    if (error.native_code() == kInjected) throw;
    return false;
  }
}

TENON_INLINE Context assemble(Ref<Native> native, const std::string& name, std::optional<bool> maps_device_memory) {
  native->maps_device_memory = maps_device_memory.value_or(native->device.maps_device_memory());
  native->imports_memfd = takes_memfd(native);
  native->event_origin = EventOrigin(native->device.driver->handle);
  return Context(make_ref<UsmContext>(std::move(native), name));
}

TENON_INLINE Context make_context(const Device& device, const std::string& name,
                                  std::optional<bool> maps_device_memory) {
  auto native = make_ref<Native>();
  native->device = device;
  const auto wanted = typed<ze_context_desc_t>(ZE_STRUCTURE_TYPE_CONTEXT_DESC);
  native->context = create<ze_context_handle_t>(
      "zeContextCreate", [&] { return "making a context for " + device.name; }, zeContextCreate, device.driver->handle,
      &wanted);
  return assemble(std::move(native), name, maps_device_memory);
}

/// Level Zero cannot report a ze_context's driver; creating an object in it on the device shows that they fit.
/// @errors kInvalidArgument: they do not.
TENON_INLINE void require_together(ze_context_handle_t context, const Device& device) {
  const auto group = device.compute_group ? device.compute_group : device.copy_group;
  if (!group) return;
  auto wanted = typed<ze_command_list_desc_t>(ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC);
  wanted.commandQueueGroupOrdinal = *group;
  try {
    create<ze_command_list_handle_t>("zeCommandListCreate", "trying a user's ze_context", zeCommandListCreate, context,
                                     device.handle, &wanted);
  } catch (const Error& error) {
    if (error.code() != Code::kInvalidArgument) throw;
    throw Error(Code::kInvalidArgument,
                "level_zero::wrap: the ze_context is none that serves " + device.name +
                    ": another driver's, one for other devices, or destroyed; make it with zeContextCreate of the "
                    "driver that has the device",
                error.native_api(), error.native_code());
  }
}

TENON_INLINE std::size_t extent_of(const TensorInfo& info, const char* function) {
  const auto extent = checked_extent_bytes(info);
  if (!extent)
    throw Error(Code::kInvalidArgument, std::string("level_zero::") + function + ": the size of " +
                                            to_string(info.shape) + " does not fit 63 bits");
  return *extent;
}

}  // namespace detail

TENON_INLINE Context make_context(const Device& device, std::optional<bool> maps_device_memory) {
  return detail::make_context(device, detail::typable(device.name), maps_device_memory);
}

TENON_INLINE Context make_context() {
  const std::vector<Device> found = devices();
  if (found.empty())
    throw Error(Code::kUnavailable,
                "level_zero: the loader finds no driver with a device: install the driver of the GPU or NPU, or name "
                "one in ZE_ENABLE_ALT_DRIVERS");
  return make_context(found.front());
}

TENON_INLINE Context wrap(ze_context_handle_t context, ze_device_handle_t device) {
  if (!context || !device) throw Error(Code::kInvalidArgument, "level_zero::wrap: a null ze_context or device");
  for (Device& known : devices()) {
    if (known.handle != device) continue;
    detail::require_together(context, known);
    auto native = make_ref<detail::Native>();
    native->context = detail::Handle<ze_context_handle_t>::borrow(context);
    const std::string name = detail::typable(known.name);
    native->device = std::move(known);
    return detail::assemble(std::move(native), name, {});
  }
  throw Error(Code::kInvalidArgument, "level_zero::wrap: no driver of this process has that device");
}

TENON_INLINE ze_context_handle_t handle(const Context& context) {
  return detail::usm_context(context, "handle").native().context.get();
}

TENON_INLINE const Device& device(const Context& context) {
  return detail::usm_context(context, "device").native().device;
}

TENON_INLINE Tensor allocate(const Context& context, UsmType type, const TensorInfo& info, const UsmHints& hints) {
  Requirements wanted;
  wanted.size_bytes = detail::extent_of(info, "allocate");
  return Tensor(info, detail::usm_context(context, "allocate").allocate(wanted, type, hints));
}

namespace detail {

TENON_INLINE UsmFacts known_usm(const UsmContext& context, const void* data, const char* function) {
  if (!data) throw Error(Code::kInvalidArgument, std::string("level_zero::") + function + ": a null pointer");
  const auto facts = find_usm(context.native(), data);
  if (!facts)
    throw Error(Code::kInvalidArgument,
                std::string("level_zero::") + function + ": the pointer is not memory of this ze_context of " +
                    context.native().device.name + " (another context's, freed, or plain host memory)");
  return *facts;
}

TENON_INLINE Tensor usm_tensor(UsmContext& context, const void* data, const UsmFacts& facts, const TensorInfo& info,
                               UsmBlock owned, const char* function) {
  const std::size_t extent = extent_of(info, function);
  const auto offset =
      static_cast<std::size_t>(static_cast<const std::byte*>(data) - static_cast<std::byte*>(facts.base));
  if (offset > facts.size || extent > facts.size - offset)
    throw Error(Code::kOutOfRange, std::string("level_zero::") + function + ": " + to_string(info.shape) + " needs " +
                                       std::to_string(extent) + " bytes, the allocation has " +
                                       std::to_string(facts.size - std::min(offset, facts.size)) + " from there on");
  return Tensor(info, context.over(facts, std::move(owned)), offset);
}

}  // namespace detail

TENON_INLINE Tensor wrap(const Context& context, void* data, const TensorInfo& info) {
  UsmContext& usm = detail::usm_context(context, "wrap");
  return detail::usm_tensor(usm, data, detail::known_usm(usm, data, "wrap"), info, {}, "wrap");
}

TENON_INLINE Tensor adopt(const Context& context, void* data, const TensorInfo& info) {
  UsmContext& usm = detail::usm_context(context, "adopt");
  const detail::UsmFacts facts = detail::known_usm(usm, data, "adopt");
  if (facts.base != data)
    throw Error(Code::kInvalidArgument, "level_zero::adopt: the pointer is not the beginning of its allocation");
  return detail::usm_tensor(usm, data, facts, info, detail::UsmBlock(usm.native_ref(), data), "adopt");
}

TENON_INLINE UsmType usm_type(const Tensor& tensor) {
  if (tensor && !tensor.view())
    if (const auto* memory = dynamic_cast<const UsmMemory*>(tensor.memory().get())) return memory->type();
  void* const data = usm_pointer(tensor);
  return detail::known_usm(detail::usm_context(tensor.context(), "usm_type"), data, "usm_type").type;
}

TENON_INLINE std::uint64_t allocation_id(const Tensor& tensor) {
  void* const data = usm_pointer(tensor);
  return detail::known_usm(detail::usm_context(tensor.context(), "allocation_id"), data, "allocation_id").id;
}

TENON_INLINE cpu::UniqueFd export_fd(const Tensor& tensor) {
  usm_pointer(tensor);
  const int fd = tensor.memory()->borrow_fd();
  if (fd < 0)
    throw Error(Code::kFailedPrecondition,
                "level_zero::export_fd of " + to_string(tensor) +
                    ": its memory was not made to be exported; allocate with Requirements::fd");
  return cpu::UniqueFd::duplicate(fd);
}

}  // namespace level_zero
}  // namespace v1
}  // namespace tenon
