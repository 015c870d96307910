// SPDX-License-Identifier: Apache-2.0
// CUDA memory by its pieces: allocations of every kind, exports, what a pointer is, and pages pinned in place.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/fd.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/process_wide.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/cuda/device.hpp>

namespace tenon {
inline namespace v1 {
namespace cuda {

/// `Tensor::kind()` of memory that CUDA allocated or pinned.
inline constexpr MemoryKind kCudaMemory{"cuda"};

/// Where the bytes are: on the device, in pinned host memory, or wherever they were last accessed.
enum class MemoryType : std::uint8_t { kDevice, kHost, kManaged };
constexpr const char* name(MemoryType type) {
  return type == MemoryType::kDevice ? "device" : type == MemoryType::kHost ? "pinned host" : "managed";
}

namespace detail {

/// Owns one allocation.
class Block {
 public:
  enum class Way : std::uint8_t { kDevice, kHost, kVirtual };

  Block() = default;
  Block(Ref<Native> native, Way way, abi::DevicePointer data, std::size_t size)
      : native_(std::move(native)), data_(data), size_(size), way_(way) {
    Probe::handles.fetch_add(1, std::memory_order_relaxed);
  }
  Block(Block&& other) noexcept
      : native_(std::move(other.native_)), data_(std::exchange(other.data_, 0)), size_(other.size_), way_(other.way_) {}
  Block& operator=(Block&&) = delete;
  ~Block() {
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
  abi::DevicePointer data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  Ref<Native> native_;
  abi::DevicePointer data_ = 0;
  std::size_t size_ = 0;
  Way way_ = Way::kDevice;
};

inline std::string sized(const char* what, std::size_t size, MemoryType type, const Device& device) {
  return std::string(what) + " " + std::to_string(size) + " bytes of " + name(type) + " memory on " + device.name;
}

/// @errors those of native calls: kResourceExhausted.
inline Block allocate_block(const Ref<Native>& native, MemoryType type, std::size_t size) {
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

/// A piece of the device's memory without an address: released when it goes, while mappings and exports keep it.
class Physical {
 public:
  explicit Physical(abi::AllocationHandle handle) noexcept : handle_(handle) {}
  Physical(const Physical&) = delete;
  Physical& operator=(const Physical&) = delete;
  ~Physical() { driver().cuMemRelease(handle_); }
  abi::AllocationHandle get() const { return handle_; }
  /// A new descriptor, which keeps the memory. @errors those of cuMemExportToShareableHandle.
  UniqueFd export_fd() const {
    int fd = -1;
    check(call(driver().cuMemExportToShareableHandle, &fd, handle_, abi::kHandleTypePosixFd, 0ull),
          "cuMemExportToShareableHandle", "exporting device memory as a descriptor");
    return UniqueFd(fd);
  }

 private:
  abi::AllocationHandle handle_;
};

struct Exported {
  Block block;
  UniqueFd fd;
};

/// Device memory made by the virtual memory API, and the descriptor by which others import it. Its size is rounded up to
/// the device's granularity. @errors kUnimplemented: the device has no such memory; those of native calls.
inline Exported allocate_exported(const Ref<Native>& native, std::size_t size, std::size_t alignment) {
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

/// The driver's knowledge of a pointer.
struct PointerFacts {
  MemoryType type = MemoryType::kDevice;
  int ordinal = 0;              ///< Of the device that has it; for host memory, of the one that pinned it.
  abi::DevicePointer base = 0;  ///< Of its allocation.
  std::size_t size = 0;         ///< Of its allocation.
  bool is_virtual = false;      ///< Made by the virtual memory API, to be exported as a descriptor.
};

/// Whether the driver answers; "no" where it does not know the pointer, the question, or anything of the sort.
/// @errors all other failures
inline bool answers(abi::Result result, const char* call) {
  if (result == abi::kInvalidValue || result == abi::kNotSupported) return false;
  check(result, call, "asking what a pointer is");
  return true;
}
template <typename T>
bool ask_pointer(T& value, int key, abi::DevicePointer data) {
  return answers(call(driver().cuPointerGetAttribute, static_cast<void*>(&value), key, data), "cuPointerGetAttribute");
}

/// Nothing for a pointer that CUDA does not know. With the context current. @errors those of native calls
inline std::optional<PointerFacts> find_pointer(abi::DevicePointer data) {
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
inline std::optional<Physical> find_physical(abi::DevicePointer at) {
  abi::AllocationHandle handle = 0;
  if (!answers(call(driver().cuMemRetainAllocationHandle, &handle, reinterpret_cast<void*>(at)),
               "cuMemRetainAllocationHandle"))
    return std::nullopt;
  return std::optional<Physical>(std::in_place, handle);
}

/// A descriptor of a user's allocation; empty where it has none: it consists of several pieces, or comes from a pool.
inline UniqueFd export_found(const PointerFacts& facts) {
  if (!facts.is_virtual) return {};
  const auto first = find_physical(facts.base), last = find_physical(facts.base + facts.size - 1);
  if (!first || !last || first->get() != last->get()) return {};
  int fd = -1;
  if (!answers(call(driver().cuMemExportToShareableHandle, &fd, first->get(), abi::kHandleTypePosixFd, 0ull),
               "cuMemExportToShareableHandle"))
    return {};
  return UniqueFd(fd);
}

/// What is pinned in this process, also by modules with hidden symbols. Plain data: no code of a module is kept here.
struct PinnedRanges {
  struct Entry {
    std::size_t size, users;
  };
  std::mutex mutex;
  std::map<std::uintptr_t, Entry> entries;
  static PinnedRanges& process() {
    static auto& ranges = process_wide<PinnedRanges>("tenon.cuda.PinnedRanges.1");
    return ranges;
  }
};

/// One use of host pages that are pinned in place. CUDA pins a page once for all contexts, so all users of the same pages
/// share that, and the last one ends it. @thread all members from any thread.
class PinnedPages final : public RefCounted {
 public:
  /// @param size  Whole pages from `host` on.
  /// @return null for pages that a user pinned, who keeps them so. @errors kFailedPrecondition: others pinned a part of
  /// them; those of native calls.
  static Ref<PinnedPages> of(const Ref<Native>& native, void* host, std::size_t size) {
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
  ~PinnedPages() override {
    PinnedRanges& all = PinnedRanges::process();
    const std::lock_guard lock(all.mutex);
    const auto entry = all.entries.find(begin_);
    if (--entry->second.users != 0) return;
    const Current current(native_->handle(), std::nothrow);
    driver().cuMemHostUnregister(reinterpret_cast<void*>(begin_));
    all.entries.erase(entry);
    Probe::handles.fetch_sub(1, std::memory_order_relaxed);
  }

 private:
  PinnedPages(Ref<Native> native, std::uintptr_t begin) : native_(std::move(native)), begin_(begin) {}
  static Ref<PinnedPages> use(const Ref<Native>& native, std::uintptr_t begin, PinnedRanges::Entry& entry) {
    Ref<PinnedPages> made(new PinnedPages(native, begin));
    ++entry.users;
    return made;
  }
  static bool is_pinned(std::uintptr_t begin, std::size_t size) {
    const auto first = find_pointer(begin), last = find_pointer(begin + size - 1);
    return first && last && first->type == MemoryType::kHost && last->type == MemoryType::kHost;
  }

  Ref<Native> native_;
  std::uintptr_t begin_;
};

}  // namespace detail

/// An allocation of CUDA: ours, a user's, or an imported tensor's.
class CudaMemory final : public Memory {
 public:
  CudaMemory(Context context, const Properties& properties, MemoryType type, abi::DevicePointer data,
             detail::Block owned, UniqueFd fd, std::function<void()> release)
      : Memory(std::move(context), kCudaMemory, properties),
        type_(type),
        data_(data),
        owned_(std::move(owned)),
        fd_(std::move(fd)),
        release_(std::move(release)) {}
  ~CudaMemory() override {
    drop_views();
    if (release_) release_();
  }
  MemoryType type() const { return type_; }
  /// Device address of the first byte. Also the host address if Memory::host() is set.
  abi::DevicePointer data() const { return data_; }
  int borrow_fd() const override { return fd_.get(); }

 private:
  MemoryType type_;
  abi::DevicePointer data_;
  detail::Block owned_;  // Empty for memory that others keep.
  UniqueFd fd_;          // For memory that can be exported.
  std::function<void()> release_;
};

/// Foreign memory as seen by CUDA: host pages pinned in place, or another context's memory.
class CudaView final : public View {
 public:
  CudaView(Context context, Access access, void* host, abi::DevicePointer data, Ref<RefCounted> pinned)
      : View(std::move(context), kCudaMemory, access, host), data_(data), pinned_(std::move(pinned)) {}
  /// Device address of the memory's first byte.
  abi::DevicePointer data() const { return data_; }

 private:
  abi::DevicePointer data_;
  Ref<RefCounted> pinned_;  // A PinnedPages; empty where no pinning was needed.
};

/// The device address of a tensor's first element, for kernels and copies. Work on it must be ordered by order() and
/// reported by wrote() or reads(). @errors kInvalidArgument: a tensor of another kind.
inline abi::DevicePointer pointer(const Tensor& tensor) {
  if (tensor && tensor.view()) {
    if (const auto* view = dynamic_cast<const CudaView*>(tensor.view())) return view->data() + tensor.offset();
  } else if (tensor) {
    if (const auto* memory = dynamic_cast<const CudaMemory*>(tensor.memory().get()))
      return memory->data() + tensor.offset();
  }
  throw Error(Code::kInvalidArgument,
              "cuda::pointer of " + to_string(tensor) + ": it is no CUDA memory; map it to a context of cuda");
}

}  // namespace cuda
}  // namespace v1
}  // namespace tenon
