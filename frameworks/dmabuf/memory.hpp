// SPDX-License-Identifier: Apache-2.0
// A dma-buf as memory: imported, or allocated from a heap, by udmabuf, or as a stand-in marked as such.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/core/fd.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/frameworks/cpu/fd.hpp>         // IWYU pragma: export
#include <tenon/frameworks/dmabuf/native.hpp>  // IWYU pragma: export

namespace tenon {
inline namespace v1 {
namespace dmabuf {

using cpu::SharedFd;
using cpu::UniqueFd;

/// `Tensor::kind()` of memory behind a dma-buf, and of stand-ins.
inline constexpr MemoryKind kDmabufMemory{"dmabuf"};

/// One dma-buf, or a sealed memfd that stands in for one when the kernel has none; fd_kind() tells which (kDmabuf,
/// kMemfd). The CPU reaches it through the edge dmabuf->cpu or a CpuAccess; both bracket each access.
/// @thread as Memory.
class DmabufMemory final : public Memory {
 public:
  /// Takes `fd` over on success only: when this throws, it is unchanged and still the caller's. Does not map.
  /// @param size_bytes  Minimum size of the buffer; 0 accepts any.
  /// @param modifier    Layout of its pixels; the CPU maps only linear memory.
  /// @errors kInvalidArgument: closed, no memory (pipe, socket, directory, device), a file, a memfd without the shrink
  /// seal; kOutOfRange: smaller than `size_bytes`.
  /// @cost fstat, one ioctl, lseek.
  static Ref<DmabufMemory> import(const Context& context, UniqueFd&& fd, std::size_t size_bytes = 0,
                                  std::uint64_t modifier = kModifierLinear);
  /// As import(), but mapped at once, so that host() is not null: for code that brackets its accesses itself with a
  /// CpuAccess. @errors as import(); errors of mapping.
  static Ref<DmabufMemory> import_mapped(const Context& context, UniqueFd&& fd, std::size_t size_bytes = 0);
  ~DmabufMemory() override;

  int borrow_fd() const override { return fd_.get(); }
  /// A descriptor for another process or API; closing it does not affect this memory. @errors as UniqueFd::duplicate.
  UniqueFd export_fd() const { return fd_.duplicate(); }
  /// True for a memfd: it has no fences and no cache maintenance, and no device accepts it.
  bool is_stand_in() const { return fd_kind() != FdKind::kDmabuf; }

 private:
  DmabufMemory(const Context& context, const Properties& properties) : Memory(context, kDmabufMemory, properties) {}

  UniqueFd fd_;
};

/// A source of dma-bufs, or of stand-ins.
struct Allocator {
  enum class Kind : std::uint8_t { kHeap, kUdmabuf, kStandIn };
  Kind kind = Kind::kStandIn;
  std::string device;  ///< "/dev/dma_heap/system", "/dev/udmabuf"; empty for the stand-in.
  /// "heap:system", "udmabuf", "memfd stand-in".
  std::string name() const;
};

/// The allocators that this process may use, best first: heaps, udmabuf, and always the stand-in last.
/// @cost opens each device.
std::vector<Allocator> allocators();

namespace detail {

/// @errors kInvalidArgument: 0, or past 62 bits.
std::size_t whole_pages(std::size_t size_bytes, const char* what);

/// True for a dma-buf. Tested with an ioctl that only dma-bufs know, with flags that it refuses before doing anything:
/// dma-bufs give EINVAL, all else ENOTTY. @errors kInvalidArgument: not open; kInternal.
bool is_dmabuf(int fd);

/// What an import learns about a descriptor without changing anything.
struct Found {
  Memory::Properties properties;
  bool stand_in = false;
};
/// @errors as DmabufMemory::import
Found inspect(int fd, std::size_t size_bytes);

/// Maps all of `fd`. @errors kFailedPrecondition: the exporter forbids mapping; kResourceExhausted.
void* map_whole(int fd, std::size_t size_bytes, bool read_only);

/// Whether this process may make dma-bufs of memfds. @cost opens the device once.
bool has_udmabuf();

/// Zeroed memory in whole pages, as a descriptor.
UniqueFd allocate_fd(const Allocator& allocator, std::size_t size_bytes);

/// A memfd of `size` bytes in whole pages, with the seals that udmabuf requires.
UniqueFd sealed_memfd(std::size_t size);

/// The pages of a memfd as a dma-buf: shared, not copied. @errors kUnavailable: no udmabuf here; kPermissionDenied;
/// kFailedPrecondition: the memfd is unsealed, sealed against writing, on huge pages of another size, or above the module's
/// size limit.
UniqueFd udmabuf_over(int memfd, std::size_t size);

}  // namespace detail
}  // namespace dmabuf
}  // namespace v1
}  // namespace tenon
