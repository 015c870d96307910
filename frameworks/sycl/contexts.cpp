// SPDX-License-Identifier: Apache-2.0
// Makes contexts and tensors of SYCL, and finds the contexts of this machine.
#include <tenon/frameworks/sycl/contexts.hpp>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <string_view>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/native_calls.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/sycl/context.hpp>
#include <tenon/frameworks/sycl/event.hpp>
#include <tenon/frameworks/sycl/make.hpp>

namespace tenon {
inline namespace v1 {
namespace sycl {
namespace detail {

TENON_INLINE std::vector<Context> find_contexts() {
  std::vector<Context> found;
  std::vector<std::string> names;
  for (const ::sycl::device& device : usable_devices()) {
    try {
      const std::string name = distinct_name(names, short_name(device));
      found.push_back(detail::make_context(::sycl::queue(::sycl::context(device), device), name));
    } catch (const std::exception&) {
      // Skips devices whose driver cannot make a context.
    }
  }
  return found;
}

}  // namespace detail

TENON_INLINE std::vector<Context> contexts() {
  static const auto* all = new std::vector<Context>(detail::find_contexts());  // Outlives static destructors.
  return *all;
}

TENON_INLINE std::string why_none() {
  return "the runtime finds no device with USM: it needs an OpenCL driver of its own release or a GPU of Level "
         "Zero";
}

namespace detail {

/// "Intel(R) Arc(TM) A770" gives "intel-arc-a770"; CPUs are named by platform, as all runtimes report the same CPU.
TENON_INLINE std::string typable(const std::string& name) {
  std::string text;
  for (std::string_view rest(name); !rest.empty() && text.size() < 32; rest.remove_prefix(1)) {
    if (rest.starts_with("(R)") || rest.starts_with("(TM)")) rest.remove_prefix(rest.find(')'));
    const char c = rest.front();
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
      text += upper ? static_cast<char>(c - 'A' + 'a') : c;
    else if (!text.empty() && text.back() != '-')
      text += '-';
  }
  while (!text.empty() && text.back() == '-') text.pop_back();
  return text;
}

TENON_INLINE std::string short_name(const ::sycl::device& device) {
  if (!device.is_cpu()) return typable(device.get_info<::sycl::info::device::name>());
  const std::string platform = typable(device.get_platform().get_info<::sycl::info::platform::name>());
  return platform.substr(0, platform.find('-')) + "-cpu";
}

TENON_INLINE bool has_usm(const ::sycl::device& device) {
  return device.has(::sycl::aspect::usm_host_allocations) || device.has(::sycl::aspect::usm_device_allocations);
}

TENON_INLINE std::vector<::sycl::device> usable_devices() {
  return checked("sycl::device::get_devices", "looking for devices", [] {
    std::vector<::sycl::device> usable;
    for (const ::sycl::device& device : ::sycl::device::get_devices())
      if (has_usm(device)) usable.push_back(device);
    return usable;
  });
}

TENON_INLINE Context make_context(const ::sycl::queue& queue, const std::string& name, Ref<RefCounted> owner) {
  return Context(make_ref<UsmContext>(make_ref<Native>(queue, std::move(owner)), name));
}

}  // namespace detail

TENON_INLINE Context wrap(const ::sycl::queue& queue, Ref<RefCounted> owner) {
  const ::sycl::device device = queue.get_device();
  if (!detail::has_usm(device))
    throw Error(Code::kUnimplemented, "sycl::wrap: " + device.get_info<::sycl::info::device::name>() +
                                          " has no USM (its aspects), and a sycl::buffer has no address that stays");
  return detail::make_context(queue, detail::short_name(device), std::move(owner));
}

TENON_INLINE Context make_context(const ::sycl::device& device) {
  return wrap(
      detail::checked("sycl::queue", "making a queue", [&] { return ::sycl::queue(::sycl::context(device), device); }));
}

TENON_INLINE Context make_context() {
  const std::vector<::sycl::device> devices = detail::usable_devices();
  if (devices.empty())
    throw Error(
        Code::kUnavailable,
        "sycl: the runtime finds no device with USM: install a driver with it (PyPI's intel-opencl-rt for CPUs), "
        "and look at ONEAPI_DEVICE_SELECTOR; of Level Zero it takes GPUs only: for an NPU use frameworks/level_zero");
  return make_context(devices.front());
}

TENON_INLINE const ::sycl::context& handle(const Context& context) {
  return detail::usm_context(context, "handle").native().context;
}

TENON_INLINE const ::sycl::device& device(const Context& context) {
  return detail::usm_context(context, "device").native().device;
}

TENON_INLINE const ::sycl::queue& queue(const Context& context) {
  return detail::usm_context(context, "queue").native().users_queue;
}

namespace detail {

TENON_INLINE std::size_t extent_of(const TensorInfo& info, const char* function) {
  const auto extent = checked_extent_bytes(info);
  if (!extent)
    throw Error(Code::kInvalidArgument,
                std::string("sycl::") + function + ": the size of " + to_string(info.shape) + " does not fit 63 bits");
  return *extent;
}

/// @errors kInvalidArgument: null, or no USM of this context.
TENON_INLINE UsmType type_of(const UsmContext& context, const void* data, const char* function) {
  if (!data) throw Error(Code::kInvalidArgument, std::string("sycl::") + function + ": a null pointer");
  const ::sycl::usm::alloc type = checked("sycl::get_pointer_type", "asking what a pointer is",
                                          [&] { return ::sycl::get_pointer_type(data, context.native().context); });
  if (type == ::sycl::usm::alloc::unknown)
    throw Error(Code::kInvalidArgument,
                std::string("sycl::") + function + ": the pointer is no USM of this sycl::context of " +
                    context.native().name + " (another context's, freed, or plain host memory)");
  return type == ::sycl::usm::alloc::host     ? UsmType::kHost
         : type == ::sycl::usm::alloc::device ? UsmType::kDevice
                                              : UsmType::kShared;
}

TENON_INLINE Tensor usm_tensor(const Context& context, void* data, const TensorInfo& info, bool adopts,
                               const char* function) {
  UsmContext& usm = usm_context(context, function);
  const UsmType type = type_of(usm, data, function);
  UsmBlock owned = adopts ? UsmBlock(usm.native_ref(), data) : UsmBlock();
  const std::size_t size = std::max<std::size_t>(extent_of(info, function), 1);
  return Tensor(info, usm.over(data, size, type, std::move(owned)));
}

}  // namespace detail

TENON_INLINE Tensor allocate(const Context& context, UsmType type, const TensorInfo& info) {
  Requirements wanted;
  wanted.size_bytes = detail::extent_of(info, "allocate");
  return Tensor(info, detail::usm_context(context, "allocate").allocate(wanted, type));
}

TENON_INLINE Tensor wrap(const Context& context, void* data, const TensorInfo& info) {
  return detail::usm_tensor(context, data, info, false, "wrap");
}

TENON_INLINE Tensor adopt(const Context& context, void* data, const TensorInfo& info) {
  return detail::usm_tensor(context, data, info, true, "adopt");
}

TENON_INLINE UsmType usm_type(const Tensor& tensor) {
  void* const data = usm_pointer(tensor);
  if (!tensor.view()) return static_cast<const UsmMemory&>(*tensor.memory()).type();
  return detail::type_of(detail::usm_context(tensor.context(), "usm_type"), data, "usm_type");
}

TENON_INLINE void wrote(const Tensor& tensor, const ::sycl::event& event) {
  usm_pointer(tensor);
  tensor.memory()->hazards().wrote(point(event), written_bytes(tensor));
}

TENON_INLINE void reads(const Tensor& tensor, const ::sycl::event& event) {
  usm_pointer(tensor);
  tensor.memory()->hazards().read_until(point(event));
}

TENON_INLINE std::vector<::sycl::event> depends_on(const Tensor& tensor, Access access) {
  usm_pointer(tensor);
  std::vector<::sycl::event> events;
  tensor.memory()->wait_for(access, default_deadline(), nullptr, [&](const TimelinePoint& point) {
    const ::sycl::event* const event = detail::event_of(point);
    if (event) events.push_back(*event);
    return event != nullptr;
  });
  return events;
}

TENON_INLINE Ref<Stream> stream(const Context& context, const ::sycl::queue& queue) {
  if (queue.get_context() != handle(context))
    throw Error(Code::kInvalidArgument,
                "sycl::stream: the queue belongs to another sycl::context than " + std::string(context->name()));
  return Ref<Stream>(new QueueStream(queue));
}

}  // namespace sycl
}  // namespace v1
}  // namespace tenon
