// SPDX-License-Identifier: Apache-2.0
// CUDA memory by its pieces: allocations of every kind, exports, what a pointer is, and pages pinned in place.
#include <tenon/frameworks/cuda/memory.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/core/pointer_edges.hpp>
#include <tenon/core/process_wide.hpp>

namespace tenon {
inline namespace v1 {
namespace cuda {
namespace detail {

/// A piece of the device's memory without an address: released when it goes, while mappings and exports keep it.
class Physical {
 public:
  explicit Physical(abi::AllocationHandle handle) noexcept : handle_(handle) {}
  Physical(const Physical&) = delete;
  Physical& operator=(const Physical&) = delete;
  ~Physical() { driver().cuMemRelease(handle_); }
  abi::AllocationHandle get() const { return handle_; }
  /// A new descriptor, which keeps the memory. @errors those of cuMemExportToShareableHandle.
  UniqueFd export_fd() const;

 private:
  abi::AllocationHandle handle_;
};

/// Whether the driver answers; "no" where it does not know the pointer, the question, or anything of the sort.
/// @errors all other failures
bool answers(abi::Result result, const char* call);

template <typename T>
bool ask_pointer(T& value, int key, abi::DevicePointer data) {
  return answers(call(driver().cuPointerGetAttribute, static_cast<void*>(&value), key, data), "cuPointerGetAttribute");
}

TENON_INLINE Block::Block(Ref<Native> native, Way way, abi::DevicePointer data, std::size_t size)
    : native_(std::move(native)), data_(data), size_(size), way_(way) {
  Probe::handles.fetch_add(1, std::memory_order_relaxed);
}

TENON_INLINE Block::~Block() {
  if (data_ == 0) return;
  const Current current(native_->handle(), std::nothrow);
  if (way_ == Way::kDevice) driver().cuMemFree(data_);
  if (way_ == Way::kHost) driver().cuMemFreeHost(reinterpret_cast<void*>(data_));
  if (way_ == Way::kVirtual) {
    driver().cuMemUnmap(data_, size_);
    driver().cuMemAddressFree(data_, size_);
  }
  Probe::handles.fetch_sub(1, std::memory_order_relaxed);
}

TENON_INLINE std::string sized(const char* what, std::size_t size, MemoryType type, const Device& device) {
  return std::string(what) + " " + std::to_string(size) + " bytes of " + name(type) + " memory on " + device.name;
}

TENON_INLINE Block allocate_block(const Ref<Native>& native, MemoryType type, std::size_t size) {
  const Current current(native->handle());
  const auto what = [&] { return sized("allocating", size, type, native->device); };
  if (type == MemoryType::kHost) {
    void* host = nullptr;
    check(call(driver().cuMemHostAlloc, &host, size, abi::kHostAllocPortable), "cuMemHostAlloc", what);
    return {native, Block::Way::kHost, reinterpret_cast<std::uintptr_t>(host), size};
  }
  abi::DevicePointer data = 0;
  if (type == MemoryType::kManaged)
    check(call(driver().cuMemAllocManaged, &data, size, abi::kAttachGlobal), "cuMemAllocManaged", what);
  else
    check(call(driver().cuMemAlloc, &data, size), "cuMemAlloc", what);
  return {native, Block::Way::kDevice, data, size};
}

TENON_INLINE UniqueFd Physical::export_fd() const {
  int fd = -1;
  check(call(driver().cuMemExportToShareableHandle, &fd, handle_, abi::kHandleTypePosixFd, 0ull),
        "cuMemExportToShareableHandle", "exporting device memory as a descriptor");
  return UniqueFd(fd);
}

TENON_INLINE Exported allocate_exported(const Ref<Native>& native, std::size_t size, std::size_t alignment) {
  const Device& device = native->device;
  if (!device.exports_fd)
    throw Error(Code::kUnimplemented, "cuda: " + device.name + " exports no memory as a descriptor (its attributes)");
  const std::size_t grain = std::max<std::size_t>(device.export_granularity, 1);
  size = (size + grain - 1) / grain * grain;
  const auto what = [&] { return sized("allocating exportable", size, MemoryType::kDevice, device); };
  const Current current(native->handle());
  const abi::AllocationProperties wanted = exportable_on(device.ordinal);
  abi::AllocationHandle handle = 0;
  check(call(driver().cuMemCreate, &handle, size, &wanted, 0ull), "cuMemCreate", what);
  const Physical physical(handle);
  abi::DevicePointer data = 0;
  check(call(driver().cuMemAddressReserve, &data, size, std::max(alignment, grain), abi::DevicePointer{0}, 0ull),
        "cuMemAddressReserve", what);
  const abi::Result mapped = call(driver().cuMemMap, data, size, std::size_t{0}, physical.get(), 0ull);
  if (mapped != abi::kSuccess) driver().cuMemAddressFree(data, size);
  check(mapped, "cuMemMap", what);
  Block block(native, Block::Way::kVirtual, data, size);
  abi::AccessDescriptor access;
  access.location.id = device.ordinal;
  check(call(driver().cuMemSetAccess, data, size, &access, std::size_t{1}), "cuMemSetAccess", what);
  return {std::move(block), physical.export_fd()};
}

TENON_INLINE bool answers(abi::Result result, const char* call) {
  if (result == abi::kInvalidValue || result == abi::kNotSupported) return false;
  check(result, call, "asking what a pointer is");
  return true;
}

TENON_INLINE std::optional<PointerFacts> find_pointer(abi::DevicePointer data) {
  unsigned type = 0, managed = 0, handles = 0;
  PointerFacts facts;
  if (!ask_pointer(type, abi::kMemoryType, data) || !ask_pointer(facts.base, abi::kRangeStart, data) ||
      !ask_pointer(facts.size, abi::kRangeSize, data))
    return std::nullopt;
  ask_pointer(managed, abi::kIsManaged, data);
  ask_pointer(facts.ordinal, abi::kDeviceOrdinal, data);
  facts.type = managed ? MemoryType::kManaged : type == abi::kMemoryTypeHost ? MemoryType::kHost : MemoryType::kDevice;
  facts.is_virtual = facts.type == MemoryType::kDevice && ask_pointer(handles, abi::kAllowedHandleTypes, data) &&
                     (handles & abi::kHandleTypePosixFd) != 0;
  // A reservation may be mapped piece by piece: the piece is the allocation. Drivers before 12.2 do not tell.
  abi::DevicePointer base = 0;
  std::size_t size = 0;
  if (facts.is_virtual && ask_pointer(base, abi::kMappingBase, data) && ask_pointer(size, abi::kMappingSize, data) &&
      size != 0)
    facts.base = base, facts.size = size;
  return facts;
}

/// The piece of memory mapped at an address; nothing for memory that was not mapped.
TENON_INLINE std::optional<Physical> find_physical(abi::DevicePointer at) {
  abi::AllocationHandle handle = 0;
  if (!answers(call(driver().cuMemRetainAllocationHandle, &handle, reinterpret_cast<void*>(at)),
               "cuMemRetainAllocationHandle"))
    return std::nullopt;
  return std::optional<Physical>(std::in_place, handle);
}

TENON_INLINE UniqueFd export_found(const PointerFacts& facts) {
  if (!facts.is_virtual) return {};
  const auto first = find_physical(facts.base), last = find_physical(facts.base + facts.size - 1);
  if (!first || !last || first->get() != last->get()) return {};
  int fd = -1;
  if (!answers(call(driver().cuMemExportToShareableHandle, &fd, first->get(), abi::kHandleTypePosixFd, 0ull),
               "cuMemExportToShareableHandle"))
    return {};
  return UniqueFd(fd);
}

TENON_INLINE PinnedRanges& PinnedRanges::process() {
  static auto& ranges = process_wide<PinnedRanges>("tenon.cuda.PinnedRanges.1");
  return ranges;
}

TENON_INLINE Ref<PinnedPages> PinnedPages::of(const Ref<Native>& native, void* host, std::size_t size) {
  PinnedRanges& all = PinnedRanges::process();
  const std::lock_guard lock(all.mutex);
  const auto begin = reinterpret_cast<std::uintptr_t>(host);
  auto entry = all.entries.upper_bound(begin);
  if (entry != all.entries.begin()) {
    --entry;
    const std::size_t at = begin - entry->first;
    if (at < entry->second.size && size <= entry->second.size - at) return use(native, entry->first, entry->second);
  }
  const Current current(native->handle());
  const abi::Result result = call(driver().cuMemHostRegister, host, size, abi::kRegisterPortable);
  if (result == abi::kHostMemoryAlreadyRegistered && is_pinned(begin, size)) return {};
  check(result, "cuMemHostRegister", [&] {
    return "pinning " + std::to_string(size) + " bytes of host memory on " + native->device.name +
           (result == abi::kHostMemoryAlreadyRegistered ? ", of which a part is pinned already: pin all of it first"
                                                        : "");
  });
  Probe::handles.fetch_add(1, std::memory_order_relaxed);
  try {
    return use(native, begin, all.entries.emplace(begin, PinnedRanges::Entry{size, 0}).first->second);
  } catch (...) {
    all.entries.erase(begin);
    driver().cuMemHostUnregister(host);
    Probe::handles.fetch_sub(1, std::memory_order_relaxed);
    throw;
  }
}

TENON_INLINE PinnedPages::~PinnedPages() {
  PinnedRanges& all = PinnedRanges::process();
  const std::lock_guard lock(all.mutex);
  const auto entry = all.entries.find(begin_);
  if (--entry->second.users != 0) return;
  const Current current(native_->handle(), std::nothrow);
  driver().cuMemHostUnregister(reinterpret_cast<void*>(begin_));
  all.entries.erase(entry);
  Probe::handles.fetch_sub(1, std::memory_order_relaxed);
}

TENON_INLINE Ref<PinnedPages> PinnedPages::use(const Ref<Native>& native, std::uintptr_t begin,
                                               PinnedRanges::Entry& entry) {
  Ref<PinnedPages> made(new PinnedPages(native, begin));
  ++entry.users;
  return made;
}

TENON_INLINE bool PinnedPages::is_pinned(std::uintptr_t begin, std::size_t size) {
  const auto first = find_pointer(begin), last = find_pointer(begin + size - 1);
  return first && last && first->type == MemoryType::kHost && last->type == MemoryType::kHost;
}

}  // namespace detail

TENON_INLINE CudaMemory::~CudaMemory() {
  drop_views();
  if (release_) release_();
}

TENON_INLINE abi::DevicePointer pointer(const Tensor& tensor) {
  const auto address = find_address<CudaMemory, CudaView>(tensor);
  if (!address)
    throw Error(Code::kInvalidArgument,
                "cuda::pointer of " + to_string(tensor) + ": it is no CUDA memory; map it to a context of cuda");
  return *address;
}

}  // namespace cuda
}  // namespace v1
}  // namespace tenon
