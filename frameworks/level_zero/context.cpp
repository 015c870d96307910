// SPDX-License-Identifier: Apache-2.0
// A ze_context with one device as a Tenon context, and its unified shared memory (USM).
#include <tenon/frameworks/level_zero/context.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <vector>

#include <tenon/core/pointer_edges.hpp>

namespace tenon {
inline namespace v1 {
namespace level_zero {
namespace detail {

TENON_INLINE UsmBlock::UsmBlock(Ref<Native> native, void* data) : native_(std::move(native)), data_(data) {
  Probe::handles.fetch_add(1, std::memory_order_relaxed);
}

TENON_INLINE UsmBlock& UsmBlock::operator=(UsmBlock&& other) noexcept {
  std::swap(native_, other.native_);
  std::swap(data_, other.data_);
  return *this;
}

TENON_INLINE UsmBlock::~UsmBlock() {
  if (!data_) return;
  zeMemFree(native_->context.get(), data_);
  Probe::handles.fetch_sub(1, std::memory_order_relaxed);
}

TENON_INLINE void* UsmBlock::release() noexcept {
  if (data_) Probe::handles.fetch_sub(1, std::memory_order_relaxed);
  return std::exchange(data_, nullptr);
}

TENON_INLINE ze_host_mem_alloc_desc_t host_descriptor(const UsmHints& hints, const void* next) {
  auto descriptor = typed<ze_host_mem_alloc_desc_t>(ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, next);
  descriptor.flags = hints.host;
  return descriptor;
}

TENON_INLINE ze_device_mem_alloc_desc_t device_descriptor(const UsmHints& hints, const void* next) {
  auto descriptor = typed<ze_device_mem_alloc_desc_t>(ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, next);
  descriptor.flags = hints.device;
  return descriptor;
}

TENON_INLINE UsmBlock allocate_usm(const Ref<Native>& native, UsmType type, std::size_t size, std::size_t alignment,
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

TENON_INLINE std::optional<UsmFacts> find_usm(const Native& native, const void* data) {
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
TENON_INLINE cpu::UniqueFd export_usm(const Native& native, const void* data, std::uint32_t type) {
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

TENON_INLINE void* usm_pointer(const Tensor& tensor) {
  const auto address = find_address<UsmMemory, UsmView>(tensor);
  if (!address)
    throw Error(Code::kInvalidArgument, "level_zero::usm_pointer of " + to_string(tensor) +
                                            ": it is not a level_zero.usm; map it to a context of level_zero");
  return reinterpret_cast<void*>(*address);
}

TENON_INLINE std::variant<Offer, Refusal> UsmContext::offer(const Requirements& wanted) const {
  const bool host = wanted.host_access || native_->device.integrated;
  if (!has(host ? UsmType::kHost : UsmType::kDevice)) return Refusal{lacks(host ? UsmType::kHost : UsmType::kDevice)};
  Offer offer{std::max<std::size_t>(wanted.alignment, 64), FdKind::kNone, 0, host};
  if (wanted.fd == FdKind::kNone) return offer;
  const std::uint32_t how = export_type(wanted.fd);
  if (how == 0) return Refusal{exports_none(wanted.fd)};
  offer.fd = fd_kind_of(how);
  return offer;
}

TENON_INLINE Ref<Memory> UsmContext::allocate(const Requirements& wanted) {
  return allocate(wanted, wanted.host_access || native_->device.integrated ? UsmType::kHost : UsmType::kDevice);
}

TENON_INLINE Ref<Memory> UsmContext::allocate(const Requirements& wanted, UsmType type, const UsmHints& hints) {
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

TENON_INLINE Ref<Memory> UsmContext::over(const detail::UsmFacts& facts, detail::UsmBlock owned) {
  return make_ref<UsmMemory>(self(), properties(facts.type, facts.base, facts.size, facts.id, FdKind::kNone),
                             facts.type, facts.base, std::move(owned), cpu::UniqueFd());
}

TENON_INLINE void UsmContext::read(const Tensor& tensor, std::span<std::byte> out) const {
  if (tensor.size_bytes() == 0) return;
  tensor.memory()->wait_for(Access::kRead, default_deadline());
  const Ref<Memory> staged = read_now(tensor, default_deadline());
  std::memcpy(out.data(), staged->host(), tensor.size_bytes());
}

TENON_INLINE Ref<Memory> UsmContext::stage(std::size_t size) const {
  return const_cast<UsmContext*>(this)->over(
      detail::allocate_usm(native_, UsmType::kHost, size, 64, {}, nullptr, "staging"), UsmType::kHost, size, {},
      FdKind::kNone);
}

TENON_INLINE void UsmContext::require(UsmType type) const {
  if (!has(type)) throw Error(Code::kUnimplemented, "level_zero: " + lacks(type));
}

TENON_INLINE bool UsmContext::has(UsmType type) const {
  const Device& device = native_->device;
  return type == UsmType::kHost     ? device.takes_host()
         : type == UsmType::kDevice ? device.takes_device()
                                    : device.takes_shared();
}

TENON_INLINE std::string UsmContext::lacks(UsmType type) const {
  return native_->device.name + " has no " + level_zero::name(type) + " memory";
}

TENON_INLINE FdKind UsmContext::fd_kind_of(std::uint32_t export_type) const {
  if (export_type & ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF) return FdKind::kDmabuf;
  return native_->imports_memfd ? FdKind::kMemfd : FdKind::kOpaqueFd;
}

TENON_INLINE std::uint32_t UsmContext::export_type(FdKind wanted) const {
  const Device& device = native_->device;
  if (FdKind::kDmabuf.serves(wanted) && device.exports_dmabuf()) return ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF;
  const FdKind opaque = native_->imports_memfd ? FdKind::kMemfd : FdKind::kOpaqueFd;
  if (wanted == opaque && device.exports_opaque()) return ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD;
  return 0;
}

TENON_INLINE std::string UsmContext::exports_none(FdKind wanted) const {
  return native_->device.name + " exports no " +
         (wanted == FdKind::kMemfd ? "descriptors that others can map" : std::string(wanted.name()) + "s") +
         " (its external memory properties); allocate with frameworks/dmabuf";
}

TENON_INLINE Memory::Properties UsmContext::properties(UsmType type, void* data, std::size_t size, std::uint64_t id,
                                                       FdKind fd) const {
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

TENON_INLINE Ref<Memory> UsmContext::over(detail::UsmBlock block, UsmType type, std::size_t size, cpu::UniqueFd fd,
                                          FdKind kind) {
  void* const data = block.data();
  auto known = detail::typed<ze_memory_allocation_properties_t>(ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES);
  ze_device_handle_t device = nullptr;
  detail::check(detail::call(zeMemGetAllocProperties, native_->context.get(), data, &known, &device),
                "zeMemGetAllocProperties", "asking for the id of an allocation");
  return make_ref<UsmMemory>(self(), properties(type, data, size, known.id, kind), type, data, std::move(block),
                             std::move(fd));
}

namespace detail {

TENON_INLINE UsmContext& usm_context(const Context& context, const char* function) {
  auto* usm = context.as<UsmContext>();
  if (!usm)
    throw Error(Code::kInvalidArgument, std::string("level_zero::") + function + ": " +
                                            (context ? std::string(context->name()) : std::string("a null context")) +
                                            " is not a context of level_zero");
  return *usm;
}

}  // namespace detail

TENON_INLINE Ref<Memory> UsmContext::read_now(const Tensor& tensor, Deadline deadline) const {
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

TENON_INLINE void UsmContext::write_now(const Tensor& tensor, const Ref<Memory>& staged, Deadline deadline) const {
  const auto* const packed = static_cast<const std::byte*>(static_cast<const UsmMemory&>(*staged).data());
  auto* const base = static_cast<std::byte*>(usm_pointer(tensor)) - tensor.offset();
  std::vector<detail::CopyRegion> regions;
  detail::for_each_run(tensor, [&](std::size_t offset, std::size_t at, std::size_t size) {
    regions.push_back({base + offset, packed + at, size});
  });
  native_->copy(regions, make_ref<detail::CopySides>(tensor.memory(), staged), deadline);
}

TENON_INLINE void UsmContext::write(const Tensor& tensor, std::span<const std::byte> in) const {
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
