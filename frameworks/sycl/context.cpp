// SPDX-License-Identifier: Apache-2.0
// A sycl::context with one device as a Tenon context, and its unified shared memory (USM).
#include <tenon/frameworks/sycl/context.hpp>

#include <algorithm>
#include <cstdio>

#include <tenon/core/pointer_edges.hpp>
#include <tenon/core/relayed_point.hpp>
#include <tenon/core/rows.hpp>
#include <tenon/frameworks/sycl/event.hpp>

namespace tenon {
inline namespace v1 {
namespace sycl {
namespace detail {

/// What names a device. CPUs are the host's, whatever runtime drives them.
TENON_INLINE DeviceIdentity identity_of(const ::sycl::device& device) {
  DeviceIdentity identity;
  if (device.is_cpu()) return identity.set(kHostCpu, std::uint8_t{1});
  if (device.has(::sycl::aspect::ext_intel_device_info_uuid))
    identity.set(kDeviceUuid, device.get_info<::sycl::ext::intel::info::device::uuid>());
  PciAddress pci;
  if (device.has(::sycl::aspect::ext_intel_pci_address) &&
      std::sscanf(device.get_info<::sycl::ext::intel::info::device::pci_address>().c_str(), "%x:%x:%x.%x", &pci.domain,
                  &pci.bus, &pci.device, &pci.function) == 4)
    identity.set(kPciAddress, pci);
  return identity;
}

TENON_INLINE Native::Native(const ::sycl::queue& users, Ref<RefCounted> owner)
    : owner_(std::move(owner)),
      context(users.get_context()),
      device(users.get_device()),
      name(device.get_info<::sycl::info::device::name>()),
      identity(identity_of(device)),
      users_queue(users),
      transfers(checked("sycl::queue", "making a queue for copies", [&] {
        return ::sycl::queue(context, device, ::sycl::property_list{::sycl::property::queue::in_order()});
      })) {
  Probe::handles.fetch_add(1, std::memory_order_relaxed);
}

TENON_INLINE bool Native::has(UsmType type) const {
  return device.has(type == UsmType::kHost     ? ::sycl::aspect::usm_host_allocations
                    : type == UsmType::kDevice ? ::sycl::aspect::usm_device_allocations
                                               : ::sycl::aspect::usm_shared_allocations);
}

TENON_INLINE UsmBlock::UsmBlock(Ref<Native> native, void* data) : native_(std::move(native)), data_(data) {
  Probe::handles.fetch_add(1, std::memory_order_relaxed);
}

TENON_INLINE UsmBlock::~UsmBlock() {
  if (!data_) return;
  try {
    ::sycl::free(data_, native_->context);
  } catch (const ::sycl::exception&) {
    // The runtime is shutting down.
  }
  Probe::handles.fetch_sub(1, std::memory_order_relaxed);
}

TENON_INLINE UsmBlock allocate_usm(const Ref<Native>& native, UsmType type, std::size_t size, std::size_t alignment) {
  const auto what = [&] {
    return "allocating " + std::to_string(size) + " bytes of " + sycl::name(type) + " USM on " + native->name;
  };
  if (!native->has(type))
    throw Error(Code::kUnimplemented, "sycl: " + native->name + " has no " + sycl::name(type) + " USM (its aspects)");
  const char* const call = type == UsmType::kHost     ? "sycl::aligned_alloc_host"
                           : type == UsmType::kDevice ? "sycl::aligned_alloc_device"
                                                      : "sycl::aligned_alloc_shared";
  void* const data = checked(call, what, [&] {
    if (type == UsmType::kHost) return ::sycl::aligned_alloc_host(alignment, size, native->context);
    if (type == UsmType::kDevice) return ::sycl::aligned_alloc_device(alignment, size, native->device, native->context);
    return ::sycl::aligned_alloc_shared(alignment, size, native->device, native->context);
  });
  if (!data) throw Error(Code::kResourceExhausted, "sycl: " + what() + ": the runtime gave none", call, -1);
  return {native, data};
}

}  // namespace detail

TENON_INLINE void* usm_pointer(const Tensor& tensor) {
  const auto address = find_address<UsmMemory, UsmView>(tensor);
  if (!address)
    throw Error(Code::kInvalidArgument,
                "sycl::usm_pointer of " + to_string(tensor) + ": it is no sycl.usm; map it to a context of sycl");
  return reinterpret_cast<void*>(*address);
}

TENON_INLINE bool UsmContext::can_wait_for(const Timeline& timeline) const {
  return dynamic_cast<const EventTimeline*>(&timeline) != nullptr;
}

TENON_INLINE std::variant<Offer, Refusal> UsmContext::offer(const Requirements& wanted) const {
  if (wanted.fd != FdKind::kNone) return Refusal{"USM has no descriptor; allocate with frameworks/cpu or dmabuf"};
  const UsmType type = type_for(wanted);
  if (!native_->has(type)) return Refusal{native_->name + " has no " + sycl::name(type) + " USM (its aspects)"};
  return Offer{std::max<std::size_t>(wanted.alignment, 64), FdKind::kNone, 0, wanted.host_access};
}

TENON_INLINE Ref<Memory> UsmContext::allocate(const Requirements& wanted) {
  check_offer(wanted);
  return allocate(wanted, type_for(wanted));
}

TENON_INLINE Ref<Memory> UsmContext::allocate(const Requirements& wanted, UsmType type) {
  const std::size_t size = std::max<std::size_t>(wanted.size_bytes + wanted.tail_padding, 1);
  detail::UsmBlock block = detail::allocate_usm(native_, type, size, std::max<std::size_t>(wanted.alignment, 64));
  void* const data = block.data();
  return over(data, size, type, std::move(block));
}

TENON_INLINE Ref<Memory> UsmContext::over(void* data, std::size_t size, UsmType type, detail::UsmBlock owned) {
  Memory::Properties properties;
  properties.size_bytes = size;
  properties.host = type == UsmType::kDevice ? nullptr : data;
  // As in opencl.usm: the same address is the same allocation.
  properties.identity = {MemoryIdentity::Kind::kAllocation, 0, reinterpret_cast<std::uintptr_t>(data)};
  return make_ref<UsmMemory>(Context(Ref<ContextImpl>(this)), properties, type, data, std::move(owned));
}

TENON_INLINE void UsmContext::read(const Tensor& tensor, std::span<std::byte> out) const {
  read_staged(tensor, out, [&](const Ref<Memory>& packed) { copy_now(tensor, packed, true, default_deadline()); });
}

TENON_INLINE void UsmContext::write(const Tensor& tensor, std::span<const std::byte> in) const {
  write_staged("sycl", tensor, in,
               [&](const Ref<Memory>& packed) { copy_now(tensor, packed, false, default_deadline()); });
}

TENON_INLINE void UsmContext::copy_now(const Tensor& tensor, const Ref<Memory>& packed, bool out,
                                       Deadline deadline) const {
  auto* const base = static_cast<std::byte*>(usm_pointer(tensor)) - tensor.offset();
  auto* const bytes = static_cast<std::byte*>(packed->host());
  TimelinePoint last;
  try {
    for_each_block(tensor, [&](const Rows& rows) {
      for (std::size_t row = 0; row < rows.count; ++row) {
        std::byte* const there = base + rows.offset + row * rows.pitch;
        std::byte* const here = bytes + rows.packed + row * rows.width;
        last = point(detail::checked(
            "sycl::queue::memcpy",
            [&] { return "copying " + std::to_string(rows.width) + " bytes on " + native_->name; },
            [&] { return native_->transfers.memcpy(out ? here : there, out ? there : here, rows.width); }));
      }
    });
    if (last.timeline()) last.timeline()->wait(last.value(), deadline);
  } catch (...) {
    if (last.timeline()) keep(last, tensor.memory(), packed);
    throw;
  }
}

TENON_INLINE void UsmContext::keep(const TimelinePoint& until, const Ref<Memory>& one, const Ref<Memory>& other) {
  RelayedPoint<Keeper>::relay(until, {one, other});
}

namespace detail {

TENON_INLINE UsmContext& usm_context(const Context& context, const char* function) {
  auto* usm = context.as<UsmContext>();
  if (!usm)
    throw Error(Code::kInvalidArgument, std::string("sycl::") + function + ": " +
                                            (context ? std::string(context->name()) : std::string("a null context")) +
                                            " is not a context of sycl");
  return *usm;
}

}  // namespace detail
}  // namespace sycl
}  // namespace v1
}  // namespace tenon
