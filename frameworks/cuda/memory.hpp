// SPDX-License-Identifier: Apache-2.0
// CUDA memory by its pieces: allocations of every kind, exports, what a pointer is, and pages pinned in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include <tenon/core/fd.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/policy.hpp>
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
  Block(Ref<Native> native, Way way, abi::DevicePointer data, std::size_t size);
  Block(Block&& other) noexcept
      : native_(std::move(other.native_)), data_(std::exchange(other.data_, 0)), size_(other.size_), way_(other.way_) {}
  Block& operator=(Block&&) = delete;
  ~Block();
  abi::DevicePointer data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  Ref<Native> native_;
  abi::DevicePointer data_ = 0;
  std::size_t size_ = 0;
  Way way_ = Way::kDevice;
};

/// @errors those of native calls: kResourceExhausted.
Block allocate_block(const Ref<Native>& native, MemoryType type, std::size_t size);

struct Exported {
  Block block;
  UniqueFd fd;
};

/// Device memory made by the virtual memory API, and the descriptor by which others import it. Its size is rounded up to
/// the device's granularity. @errors kUnimplemented: the device has no such memory; those of native calls.
Exported allocate_exported(const Ref<Native>& native, std::size_t size, std::size_t alignment);

/// The driver's knowledge of a pointer.
struct PointerFacts {
  MemoryType type = MemoryType::kDevice;
  int ordinal = 0;              ///< The device that has it; for host memory, the one that pinned it.
  abi::DevicePointer base = 0;  ///< Where its allocation begins.
  std::size_t size = 0;         ///< The size of its allocation.
  bool is_virtual = false;      ///< Made by the virtual memory API, to be exported as a descriptor.
};

/// Nothing for a pointer that CUDA does not know. With the context current. @errors those of native calls
std::optional<PointerFacts> find_pointer(abi::DevicePointer data);

/// A descriptor of a user's allocation; empty where it has none: it consists of several pieces, or comes from a pool.
UniqueFd export_found(const PointerFacts& facts);

/// What is pinned in this process, also by modules with hidden symbols. Plain data: no code of a module is kept here.
struct PinnedRanges {
  struct Entry {
    std::size_t size, users;
  };
  std::mutex mutex;
  std::map<std::uintptr_t, Entry> entries;
  static PinnedRanges& process();
};

/// One use of host pages that are pinned in place. CUDA pins a page once for all contexts, so all users of the same pages
/// share that, and the last one ends it. @thread all members from any thread.
class PinnedPages final : public RefCounted {
 public:
  /// @param size  Whole pages from `host` on.
  /// @return null for pages that a user pinned and keeps so. @errors kFailedPrecondition: a part of them was pinned elsewhere;
  /// those of native calls.
  static Ref<PinnedPages> of(const Ref<Native>& native, void* host, std::size_t size);
  ~PinnedPages() override;

 private:
  PinnedPages(Ref<Native> native, std::uintptr_t begin) : native_(std::move(native)), begin_(begin) {}
  static Ref<PinnedPages> use(const Ref<Native>& native, std::uintptr_t begin, PinnedRanges::Entry& entry);
  static bool is_pinned(std::uintptr_t begin, std::size_t size);

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
  ~CudaMemory() override;
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
abi::DevicePointer pointer(const Tensor& tensor);

}  // namespace cuda
}  // namespace v1
}  // namespace tenon
