// SPDX-License-Identifier: Apache-2.0
// A sycl::context with one device as a Tenon context, and its unified shared memory (USM).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <tenon/core/context.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/relayed_point.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/rows.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/sycl/event.hpp>
#include <tenon/frameworks/sycl/native.hpp>

namespace tenon {
inline namespace v1 {
namespace sycl {

/// `Tensor::kind()` of USM that a sycl::context allocated.
inline constexpr MemoryKind kUsmMemory{"sycl.usm"};

/// Where the bytes are: on the host, on the device only, or wherever they were last accessed.
enum class UsmType : std::uint8_t { kHost, kDevice, kShared };
constexpr const char* name(UsmType type) {
  return type == UsmType::kHost ? "host" : type == UsmType::kDevice ? "device" : "shared";
}

namespace detail {

/// What names a device. CPUs are the host's, whatever runtime drives them.
inline DeviceIdentity identity_of(const ::sycl::device& device) {
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

/// The native objects behind a context. @thread members from any thread.
class Native final : public RefCounted {
 public:
  /// @param owner  Of native objects below the queue that SYCL does not keep; may be null.
  /// @errors those of making a queue.
  explicit Native(const ::sycl::queue& users, Ref<RefCounted> owner = {})
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
  ~Native() override { Probe::handles.fetch_sub(1, std::memory_order_relaxed); }
  bool has(UsmType type) const {
    return device.has(type == UsmType::kHost     ? ::sycl::aspect::usm_host_allocations
                      : type == UsmType::kDevice ? ::sycl::aspect::usm_device_allocations
                                                 : ::sycl::aspect::usm_shared_allocations);
  }
  /// Whether kernels may use any host pointer.
  bool takes_any_pointer() const { return device.has(::sycl::aspect::usm_system_allocations); }

 private:
  const Ref<RefCounted> owner_;  // Released last.

 public:
  const ::sycl::context context;
  const ::sycl::device device;
  const std::string name;
  const DeviceIdentity identity;
  const ::sycl::queue users_queue;
  mutable ::sycl::queue transfers;  ///< Ours alone, in order: Tenon's copies never wait behind a user's work.
};

/// Owns one allocation.
class UsmBlock {
 public:
  UsmBlock() = default;
  UsmBlock(Ref<Native> native, void* data) : native_(std::move(native)), data_(data) {
    Probe::handles.fetch_add(1, std::memory_order_relaxed);
  }
  UsmBlock(UsmBlock&& other) noexcept : native_(std::move(other.native_)), data_(std::exchange(other.data_, nullptr)) {}
  UsmBlock& operator=(UsmBlock&&) = delete;
  ~UsmBlock() {
    if (!data_) return;
    try {
      ::sycl::free(data_, native_->context);
    } catch (const ::sycl::exception&) {
      // The runtime is shutting down.
    }
    Probe::handles.fetch_sub(1, std::memory_order_relaxed);
  }
  void* data() const { return data_; }

 private:
  Ref<Native> native_;
  void* data_ = nullptr;
};

/// @errors kUnimplemented: the device has no such USM; kResourceExhausted; those of the call.
inline UsmBlock allocate_usm(const Ref<Native>& native, UsmType type, std::size_t size, std::size_t alignment) {
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

/// A USM allocation as memory. Host and shared ones are host-addressable.
class UsmMemory final : public Memory {
 public:
  UsmMemory(Context context, const Properties& properties, UsmType type, void* data, detail::UsmBlock owned)
      : Memory(std::move(context), kUsmMemory, properties), type_(type), data_(data), owned_(std::move(owned)) {}
  ~UsmMemory() override { drop_views(); }
  UsmType type() const { return type_; }
  void* data() const { return data_; }

 private:
  UsmType type_;
  void* data_;
  detail::UsmBlock owned_;  // Empty for memory that the user keeps.
};

/// Foreign memory at an address that SYCL takes.
class UsmView final : public View {
 public:
  UsmView(Context context, Access access, void* host, void* data)
      : View(std::move(context), kUsmMemory, access, host), data_(data) {}
  void* data() const { return data_; }

 private:
  void* data_;
};

/// The address of a tensor's first element, for kernels and copies. @errors kInvalidArgument: a tensor of another kind.
inline void* usm_pointer(const Tensor& tensor) {
  if (tensor && tensor.view()) {
    if (const auto* view = dynamic_cast<const UsmView*>(tensor.view()))
      return static_cast<std::byte*>(view->data()) + tensor.offset();
  } else if (tensor) {
    if (const auto* memory = dynamic_cast<const UsmMemory*>(tensor.memory().get()))
      return static_cast<std::byte*>(memory->data()) + tensor.offset();
  }
  throw Error(Code::kInvalidArgument,
              "sycl::usm_pointer of " + to_string(tensor) + ": it is no sycl.usm; map it to a context of sycl");
}

/// A sycl::context on one device; allocates and wraps USM.
class UsmContext final : public ContextImpl {
 public:
  UsmContext(Ref<detail::Native> native, const std::string& device_name)
      : native_(std::move(native)), name_("sycl:" + device_name) {}

  std::string_view name() const override { return name_; }
  MemoryKind kind() const override { return kUsmMemory; }
  std::span<const Edge* const> edges() const override;
  DeviceIdentity device() const override { return native_->identity; }
  /// SYCL's commands wait for SYCL's events alone: it has none that a host sets.
  bool can_wait_for(const Timeline& timeline) const override {
    return dynamic_cast<const EventTimeline*>(&timeline) != nullptr;
  }
  const detail::Native& native() const { return *native_; }
  const Ref<detail::Native>& native_ref() const { return native_; }

  std::variant<Offer, Refusal> offer(const Requirements& wanted) const override {
    if (wanted.fd != FdKind::kNone) return Refusal{"USM has no descriptor; allocate with frameworks/cpu or dmabuf"};
    const UsmType type = type_for(wanted);
    if (!native_->has(type)) return Refusal{native_->name + " has no " + sycl::name(type) + " USM (its aspects)"};
    return Offer{std::max<std::size_t>(wanted.alignment, 64), FdKind::kNone, 0, wanted.host_access};
  }
  /// Device USM; host USM if `wanted.host_access`. @errors kUnimplemented where offer() refuses; kResourceExhausted.
  Ref<Memory> allocate(const Requirements& wanted) override {
    check_offer(wanted);
    return allocate(wanted, type_for(wanted));
  }
  Ref<Memory> allocate(const Requirements& wanted, UsmType type) {
    const std::size_t size = std::max<std::size_t>(wanted.size_bytes + wanted.tail_padding, 1);
    detail::UsmBlock block = detail::allocate_usm(native_, type, size, std::max<std::size_t>(wanted.alignment, 64));
    void* const data = block.data();
    return over(data, size, type, std::move(block));
  }
  Ref<Memory> over(void* data, std::size_t size, UsmType type, detail::UsmBlock owned) {
    Memory::Properties properties;
    properties.size_bytes = size;
    properties.host = type == UsmType::kDevice ? nullptr : data;
    // As in opencl.usm: the same address is the same allocation.
    properties.identity = {MemoryIdentity::Kind::kAllocation, 0, reinterpret_cast<std::uintptr_t>(data)};
    return make_ref<UsmMemory>(Context(Ref<ContextImpl>(this)), properties, type, data, std::move(owned));
  }

  void read(const Tensor& tensor, std::span<std::byte> out) const override {
    if (tensor.size_bytes() == 0) return;
    tensor.memory()->wait_for(Access::kRead, default_deadline());
    const Ref<HostMemory> packed = HostMemory::allocate(tensor.size_bytes());
    copy_now(tensor, packed, true, default_deadline());
    std::memcpy(out.data(), packed->host(), tensor.size_bytes());
  }
  void write(const Tensor& tensor, std::span<const std::byte> in) const override {
    if (!tensor.is_writable())
      throw Error(Code::kPermissionDenied, "sycl: writing to " + to_string(tensor) + ": its memory is read-only");
    if (tensor.size_bytes() == 0) return;
    tensor.memory()->wait_for(Access::kWrite, default_deadline());
    const Ref<HostMemory> packed = HostMemory::allocate(tensor.size_bytes());
    std::memcpy(packed->host(), in.data(), tensor.size_bytes());
    copy_now(tensor, packed, false, default_deadline());
  }

  /// Copies a tensor's elements out to packed host memory, or in from it, and waits; both are kept until the device is
  /// done. The caller has waited for work in flight. @errors kDeadlineExceeded; those of native calls.
  void copy_now(const Tensor& tensor, const Ref<Memory>& packed, bool out, Deadline deadline) const {
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

 private:
  struct Keeper {
    Ref<Memory> one, other;
    void set(bool) noexcept { one = {}, other = {}; }
  };
  static void keep(const TimelinePoint& until, const Ref<Memory>& one, const Ref<Memory>& other) {
    RelayedPoint<Keeper>::relay(until, {one, other});
  }
  UsmType type_for(const Requirements& wanted) const { return wanted.host_access ? UsmType::kHost : UsmType::kDevice; }

  Ref<detail::Native> native_;
  std::string name_;
};

namespace detail {

inline UsmContext& usm_context(const Context& context, const char* function) {
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
