// SPDX-License-Identifier: Apache-2.0
// A ze_context with one device as a Tenon context, and its unified shared memory (USM).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/cpu/fd.hpp>
#include <tenon/frameworks/level_zero/transfer.hpp>

namespace tenon {
inline namespace v1 {
namespace level_zero {

/// `Tensor::kind()` of memory that a ze_context allocated or imported.
inline constexpr MemoryKind kUsmMemory{"level_zero.usm"};

/// Where the bytes are: host, device, or wherever they were last accessed.
enum class UsmType : std::uint8_t { kHost, kDevice, kShared };
constexpr const char* name(UsmType type) {
  return type == UsmType::kHost ? "host" : type == UsmType::kDevice ? "device" : "shared";
}

/// Hints to the driver that do not change an allocation's meaning. @source ze_host_mem_alloc_flags_t,
/// ze_device_mem_alloc_flags_t
struct UsmHints {
  ze_host_mem_alloc_flags_t host = 0;      ///< Bias: cached, uncached, write-combined (only written by the host).
  ze_device_mem_alloc_flags_t device = 0;  ///< Bias: cached, uncached, initial placement.
};

namespace detail {

/// Owns one allocation or import.
class UsmBlock {
 public:
  UsmBlock() = default;
  UsmBlock(Ref<Native> native, void* data) : native_(std::move(native)), data_(data) {
    Probe::handles.fetch_add(1, std::memory_order_relaxed);
  }
  UsmBlock(UsmBlock&& other) noexcept : native_(std::move(other.native_)), data_(std::exchange(other.data_, nullptr)) {}
  UsmBlock& operator=(UsmBlock&& other) noexcept {
    std::swap(native_, other.native_);
    std::swap(data_, other.data_);
    return *this;
  }
  ~UsmBlock() {
    if (!data_) return;
    zeMemFree(native_->context.get(), data_);
    Probe::handles.fetch_sub(1, std::memory_order_relaxed);
  }
  void* data() const { return data_; }
  /// Gives it to somebody who frees it.
  void* release() noexcept {
    if (data_) Probe::handles.fetch_sub(1, std::memory_order_relaxed);
    return std::exchange(data_, nullptr);
  }

 private:
  Ref<Native> native_;
  void* data_ = nullptr;
};

inline ze_host_mem_alloc_desc_t host_descriptor(const UsmHints& hints, const void* next) {
  auto descriptor = typed<ze_host_mem_alloc_desc_t>(ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, next);
  descriptor.flags = hints.host;
  return descriptor;
}
inline ze_device_mem_alloc_desc_t device_descriptor(const UsmHints& hints, const void* next) {
  auto descriptor = typed<ze_device_mem_alloc_desc_t>(ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, next);
  descriptor.flags = hints.device;
  return descriptor;
}

/// @param next  Further properties of the allocation: a chain for its descriptor.
inline UsmBlock allocate_usm(const Ref<Native>& native, UsmType type, std::size_t size, std::size_t alignment,
                             const UsmHints& hints, const void* next, const char* what_for) {
  const auto what = [&] {
    return std::string(what_for) + " " + std::to_string(size) + " bytes of " + name(type) + " memory on " +
           native->device.name;
  };
  void* data = nullptr;
  const ze_context_handle_t context = native->context.get();
  const auto host = host_descriptor(hints, type == UsmType::kHost ? next : nullptr);
  const auto device = device_descriptor(hints, type == UsmType::kHost ? nullptr : next);
  if (type == UsmType::kHost)
    check(call(zeMemAllocHost, context, &host, size, alignment, &data), "zeMemAllocHost", what);
  else if (type == UsmType::kDevice)
    check(call(zeMemAllocDevice, context, &device, size, alignment, native->device.handle, &data), "zeMemAllocDevice",
          what);
  else
    check(call(zeMemAllocShared, context, &device, &host, size, alignment, native->device.handle, &data),
          "zeMemAllocShared", what);
  if (!data) fail(ZE_RESULT_ERROR_UNKNOWN, "zeMemAlloc", what());
  return {native, data};
}

/// A driver's knowledge of a pointer.
struct UsmFacts {
  UsmType type = UsmType::kHost;
  std::uint64_t id = 0;                 ///< Allocation id, unique within its driver.
  void* base = nullptr;                 ///< Base of the allocation.
  std::size_t size = 0;                 ///< Size of the allocation.
  ze_device_handle_t device = nullptr;  ///< Null for host memory.
};

/// Nothing for a pointer that is not memory of this context.
inline std::optional<UsmFacts> find_usm(const Native& native, const void* data) {
  auto properties = typed<ze_memory_allocation_properties_t>(ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES);
  UsmFacts facts;
  check(call(zeMemGetAllocProperties, native.context.get(), data, &properties, &facts.device),
        "zeMemGetAllocProperties", "asking what a pointer is");
  constexpr std::uint32_t kHostImported = 4;  // ZE_MEMORY_TYPE_HOST_IMPORTED: newer than some packaged headers.
  switch (static_cast<std::uint32_t>(properties.type)) {
    case ZE_MEMORY_TYPE_HOST:
    case kHostImported:
      facts.type = UsmType::kHost;
      break;
    case ZE_MEMORY_TYPE_DEVICE:
      facts.type = UsmType::kDevice;
      break;
    case ZE_MEMORY_TYPE_SHARED:
      facts.type = UsmType::kShared;
      break;
    default:
      return std::nullopt;
  }
  facts.id = properties.id;
  check(call(zeMemGetAddressRange, native.context.get(), data, &facts.base, &facts.size), "zeMemGetAddressRange",
        "asking where an allocation begins");
  return facts;
}

/// A descriptor of an allocation made for export. The caller must close it.
inline cpu::UniqueFd export_usm(const Native& native, const void* data, std::uint32_t type) {
  auto exported = typed<ze_external_memory_export_fd_t>(ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_FD);
  exported.flags = type;
  exported.fd = -1;
  auto properties = typed<ze_memory_allocation_properties_t>(ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES, &exported);
  ze_device_handle_t device = nullptr;
  const char* const what = "exporting an allocation as a descriptor";
  check(call(zeMemGetAllocProperties, native.context.get(), data, &properties, &device), "zeMemGetAllocProperties",
        what);
  if (exported.fd < 0) fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "zeMemGetAllocProperties", what);
  return cpu::UniqueFd(exported.fd);
}

}  // namespace detail

/// An allocation of a ze_context.
class UsmMemory : public Memory {
 public:
  UsmMemory(Context context, const Properties& properties, UsmType type, void* data, detail::UsmBlock owned,
            cpu::UniqueFd fd)
      : Memory(std::move(context), kUsmMemory, properties),
        type_(type),
        data_(data),
        owned_(std::move(owned)),
        fd_(std::move(fd)) {}
  ~UsmMemory() override { drop_views(); }
  UsmType type() const { return type_; }
  /// Device address. Also the host address if Memory::host() is set.
  void* data() const { return data_; }
  int borrow_fd() const override { return fd_.get(); }

 private:
  UsmType type_;
  void* data_;
  detail::UsmBlock owned_;  // Empty for memory that the user keeps.
  cpu::UniqueFd fd_;        // For allocations made to be exported.
};

/// Foreign memory as seen by a ze_context: imported once, or used at its own address.
class UsmView : public View {
 public:
  UsmView(Context context, Access access, void* host, void* data, detail::UsmBlock imported,
          Ref<RefCounted> shared_import = {})
      : View(std::move(context), kUsmMemory, access, host),
        data_(data),
        imported_(std::move(imported)),
        shared_import_(std::move(shared_import)) {}
  /// Device address of the memory's first byte.
  void* data() const { return data_; }

 private:
  void* data_;
  detail::UsmBlock imported_;      // Both empty when no import was needed.
  Ref<RefCounted> shared_import_;  // A SystemImport.
};

/// The address of a tensor's first element, for command lists and graphs.
/// @errors kInvalidArgument: a tensor of another kind.
inline void* usm_pointer(const Tensor& tensor) {
  if (tensor && tensor.view()) {
    if (const auto* view = dynamic_cast<const UsmView*>(tensor.view()))
      return static_cast<std::byte*>(view->data()) + tensor.offset();
  } else if (tensor) {
    if (const auto* memory = dynamic_cast<const UsmMemory*>(tensor.memory().get()))
      return static_cast<std::byte*>(memory->data()) + tensor.offset();
  }
  throw Error(Code::kInvalidArgument, "level_zero::usm_pointer of " + to_string(tensor) +
                                          ": it is not a level_zero.usm; map it to a context of level_zero");
}

/// A ze_context on one device; allocates, wraps and imports memory.
class UsmContext final : public ContextImpl {
 public:
  UsmContext(Ref<detail::Native> native, const std::string& device_name)
      : native_(std::move(native)), name_("level_zero:" + device_name) {}

  std::string_view name() const override { return name_; }
  MemoryKind kind() const override { return kUsmMemory; }
  std::span<const Edge* const> edges() const override;
  DeviceIdentity device() const override { return native_->device.identity; }
  /// Commands wait for any point: wait_list() and stream() make a ze_event of it.
  bool can_wait_for(const Timeline&) const override { return true; }
  const detail::Native& native() const { return *native_; }
  const Ref<detail::Native>& native_ref() const { return native_; }

  std::variant<Offer, Refusal> offer(const Requirements& wanted) const override {
    const bool host = wanted.host_access || native_->device.integrated;
    if (!has(host ? UsmType::kHost : UsmType::kDevice)) return Refusal{lacks(host ? UsmType::kHost : UsmType::kDevice)};
    Offer offer{std::max<std::size_t>(wanted.alignment, 64), FdKind::kNone, 0, host};
    if (wanted.fd == FdKind::kNone) return offer;
    const std::uint32_t how = export_type(wanted.fd);
    if (how == 0) return Refusal{exports_none(wanted.fd)};
    offer.fd = fd_kind_of(how);
    return offer;
  }
  /// Driver host memory where the device uses the host's memory or `wanted.host_access` is set; else device memory.
  /// If `wanted.fd` asks for a descriptor, with that: a dma-buf, or another kind that the driver exports.
  /// @errors kUnavailable: the driver has no such descriptor; kUnimplemented: a type that the device lacks;
  /// kResourceExhausted and other errors of native calls.
  Ref<Memory> allocate(const Requirements& wanted) override {
    return allocate(wanted, wanted.host_access || native_->device.integrated ? UsmType::kHost : UsmType::kDevice);
  }
  Ref<Memory> allocate(const Requirements& wanted, UsmType type, const UsmHints& hints = {}) {
    require(type);
    const std::size_t size = std::max<std::size_t>(wanted.size_bytes + wanted.tail_padding, 1);
    const std::size_t alignment = std::max<std::size_t>(wanted.alignment, 64);
    if (wanted.fd == FdKind::kNone)
      return over(detail::allocate_usm(native_, type, size, alignment, hints, nullptr, "allocating"), type, size, {},
                  FdKind::kNone);
    const std::uint32_t how = export_type(wanted.fd);
    if (how == 0) throw Error(Code::kUnavailable, "level_zero: " + exports_none(wanted.fd));
    auto exported = detail::typed<ze_external_memory_export_desc_t>(ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC);
    exported.flags = how;
    detail::UsmBlock block = detail::allocate_usm(native_, type, size, alignment, hints, &exported, "allocating");
    cpu::UniqueFd fd = detail::export_usm(*native_, block.data(), how);
    return over(std::move(block), type, size, std::move(fd), fd_kind_of(how));
  }
  /// A user's whole allocation. `owned` may be empty: the user then keeps it.
  Ref<Memory> over(const detail::UsmFacts& facts, detail::UsmBlock owned) {
    return make_ref<UsmMemory>(self(), properties(facts.type, facts.base, facts.size, facts.id, FdKind::kNone),
                               facts.type, facts.base, std::move(owned), cpu::UniqueFd());
  }

  /// Uses the device's own copies, through driver host memory.
  void read(const Tensor& tensor, std::span<std::byte> out) const override {
    if (tensor.size_bytes() == 0) return;
    tensor.memory()->wait_for(Access::kRead, default_deadline());
    const Ref<Memory> staged = read_now(tensor, default_deadline());
    std::memcpy(out.data(), staged->host(), tensor.size_bytes());
  }
  void write(const Tensor& tensor, std::span<const std::byte> in) const override;

  /// Packed elements in new driver host memory. The caller must have waited for work in flight.
  Ref<Memory> read_now(const Tensor& tensor, Deadline deadline) const;
  /// The reverse: `staged` is host memory of this ze_context with the packed elements.
  void write_now(const Tensor& tensor, const Ref<Memory>& staged, Deadline deadline) const;
  Ref<Memory> stage(std::size_t size) const {
    return const_cast<UsmContext*>(this)->over(
        detail::allocate_usm(native_, UsmType::kHost, size, 64, {}, nullptr, "staging"), UsmType::kHost, size, {},
        FdKind::kNone);
  }

  /// Whether the host can use memory of this type by its address.
  bool host_addressable(UsmType type) const { return type != UsmType::kDevice || native_->maps_device_memory; }

 private:
  Context self() const { return Context(Ref<ContextImpl>(const_cast<UsmContext*>(this))); }
  void require(UsmType type) const {
    if (!has(type)) throw Error(Code::kUnimplemented, "level_zero: " + lacks(type));
  }
  bool has(UsmType type) const {
    const Device& device = native_->device;
    return type == UsmType::kHost     ? device.takes_host()
           : type == UsmType::kDevice ? device.takes_device()
                                      : device.takes_shared();
  }
  std::string lacks(UsmType type) const {
    return native_->device.name + " has no " + level_zero::name(type) + " memory";
  }
  FdKind fd_kind_of(std::uint32_t export_type) const {
    if (export_type & ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF) return FdKind::kDmabuf;
    return native_->imports_memfd ? FdKind::kMemfd : FdKind::kOpaqueFd;
  }
  /// The kind of export that serves as `wanted`; 0 if there is none.
  std::uint32_t export_type(FdKind wanted) const {
    const Device& device = native_->device;
    if (FdKind::kDmabuf.serves(wanted) && device.exports_dmabuf()) return ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF;
    const FdKind opaque = native_->imports_memfd ? FdKind::kMemfd : FdKind::kOpaqueFd;
    if (wanted == opaque && device.exports_opaque()) return ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD;
    return 0;
  }
  std::string exports_none(FdKind wanted) const {
    return native_->device.name + " exports no " +
           (wanted == FdKind::kMemfd ? "descriptors that others can map" : std::string(wanted.name()) + "s") +
           " (its external memory properties); allocate with frameworks/dmabuf";
  }
  Memory::Properties properties(UsmType type, void* data, std::size_t size, std::uint64_t id, FdKind fd) const {
    Memory::Properties properties;
    properties.size_bytes = size;
    properties.host = host_addressable(type) ? data : nullptr;
    properties.fd = fd;
    if (fd != FdKind::kNone) properties.exporter = std::make_shared<const DeviceIdentity>(native_->device.identity);
    // Ids are unique within a driver.
    if (id)
      properties.identity = {MemoryIdentity::Kind::kAllocation,
                             reinterpret_cast<std::uintptr_t>(native_->device.driver->handle), id};
    return properties;
  }
  Ref<Memory> over(detail::UsmBlock block, UsmType type, std::size_t size, cpu::UniqueFd fd, FdKind kind) {
    void* const data = block.data();
    auto known = detail::typed<ze_memory_allocation_properties_t>(ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES);
    ze_device_handle_t device = nullptr;
    detail::check(detail::call(zeMemGetAllocProperties, native_->context.get(), data, &known, &device),
                  "zeMemGetAllocProperties", "asking for the id of an allocation");
    return make_ref<UsmMemory>(self(), properties(type, data, size, known.id, kind), type, data, std::move(block),
                               std::move(fd));
  }

  Ref<detail::Native> native_;
  std::string name_;
};

namespace detail {

inline UsmContext& usm_context(const Context& context, const char* function) {
  auto* usm = context.as<UsmContext>();
  if (!usm)
    throw Error(Code::kInvalidArgument, std::string("level_zero::") + function + ": " +
                                            (context ? std::string(context->name()) : std::string("a null context")) +
                                            " is not a context of level_zero");
  return *usm;
}

/// Calls run(offset in memory, offset in packed bytes, bytes) for each contiguous run of a tensor's elements.
template <typename Run>
void for_each_run(const Tensor& tensor, const Run& run) {
  const Shape& shape = tensor.shape();
  std::size_t bytes = tensor.size_bytes();
  std::size_t outer = 0;
  if (!tensor.is_contiguous()) {
    bytes = tenon::size_bytes(tensor.element_type());
    outer = shape.size();
    while (outer > 0 &&
           (shape[outer - 1] == 1 || tensor.byte_strides()[outer - 1] == static_cast<std::ptrdiff_t>(bytes)))
      bytes *= shape[--outer];
  }
  Shape index(outer, 0);
  for (std::size_t done = 0; done < tensor.size_bytes(); done += bytes) {
    std::size_t offset = tensor.offset();
    for (std::size_t axis = 0; axis < outer; ++axis)
      offset += index[axis] * static_cast<std::size_t>(tensor.byte_strides()[axis]);
    run(offset, done, bytes);
    for (std::size_t axis = outer; axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
}

/// Both sides of a copy, kept alive until it has finished.
struct CopySides final : RefCounted {
  CopySides(Ref<Memory> one, Ref<Memory> other) : a(std::move(one)), b(std::move(other)) {}
  Ref<Memory> a, b;
};

}  // namespace detail

inline Ref<Memory> UsmContext::read_now(const Tensor& tensor, Deadline deadline) const {
  const Ref<Memory> staged = stage(tensor.size_bytes());
  auto* const packed = static_cast<std::byte*>(static_cast<const UsmMemory&>(*staged).data());
  const auto* const base = static_cast<const std::byte*>(usm_pointer(tensor)) - tensor.offset();
  std::vector<detail::CopyRegion> regions;
  detail::for_each_run(tensor, [&](std::size_t offset, std::size_t at, std::size_t size) {
    regions.push_back({packed + at, base + offset, size});
  });
  native_->copy(regions, make_ref<detail::CopySides>(tensor.memory(), staged), deadline);
  return staged;
}

inline void UsmContext::write_now(const Tensor& tensor, const Ref<Memory>& staged, Deadline deadline) const {
  const auto* const packed = static_cast<const std::byte*>(static_cast<const UsmMemory&>(*staged).data());
  auto* const base = static_cast<std::byte*>(usm_pointer(tensor)) - tensor.offset();
  std::vector<detail::CopyRegion> regions;
  detail::for_each_run(tensor, [&](std::size_t offset, std::size_t at, std::size_t size) {
    regions.push_back({base + offset, packed + at, size});
  });
  native_->copy(regions, make_ref<detail::CopySides>(tensor.memory(), staged), deadline);
}

inline void UsmContext::write(const Tensor& tensor, std::span<const std::byte> in) const {
  if (!tensor.is_writable())
    throw Error(Code::kPermissionDenied, "level_zero: writing to " + to_string(tensor) + ": its memory is read-only");
  if (tensor.size_bytes() == 0) return;
  tensor.memory()->wait_for(Access::kWrite, default_deadline());
  const Ref<Memory> staged = stage(tensor.size_bytes());
  std::memcpy(staged->host(), in.data(), tensor.size_bytes());
  write_now(tensor, staged, default_deadline());
}

}  // namespace level_zero
}  // namespace v1
}  // namespace tenon
