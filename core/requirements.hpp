// SPDX-License-Identifier: Apache-2.0
// Requirements of a consumer of memory, and the join of the requirements of two consumers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/hashed_name.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/small_vector.hpp>

namespace tenon {
inline namespace v1 {

/// How an allocation can be handed to another API or process. An open set, like MemoryKind: a framework defines its own
/// descriptors (`inline constexpr FdKind kMyFd{"mylib fd"};`) and says which known kind they can serve as. Names must
/// be literals, because they are not copied.
class FdKind : public NameOf<FdKind> {
 public:
  using NameOf::NameOf;
  /// No descriptor: kNone.
  constexpr FdKind() = default;
  /// @param serves_as  The other kind that it satisfies: a dma-buf can be mapped like a memfd.
  constexpr FdKind(std::string_view name, FdKind serves_as) : NameOf(name), serves_as_(serves_as.hash()) {}

  /// Whether only the device that made it can import it. Any device can try a dma-buf, whose exporter decides.
  constexpr bool is_bound_to_device() const;
  /// Whether memory with this descriptor satisfies a request for `wanted`. Every memory satisfies a request for kNone.
  constexpr bool serves(FdKind wanted) const {
    return wanted == FdKind() || wanted == *this || wanted.hash() == serves_as_;
  }

  static const FdKind kNone, kMemfd, kDmabuf, kOpaqueFd, kVulkanFd, kCudaFd, kNtHandle, kNtSection;

 private:
  std::uint64_t serves_as_ = 0;
};
inline constexpr FdKind FdKind::kNone{};
inline constexpr FdKind FdKind::kMemfd{"memfd"};
inline constexpr FdKind FdKind::kDmabuf{"dma-buf", FdKind::kMemfd};
/// A descriptor that only the exporting driver understands, on the exporting device.
inline constexpr FdKind FdKind::kOpaqueFd{"opaque fd"};
/// VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT. Where other APIs say "opaque fd", they mean this one of Vulkan.
inline constexpr FdKind FdKind::kVulkanFd{"Vulkan opaque fd", FdKind::kOpaqueFd};
/// CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR.
inline constexpr FdKind FdKind::kCudaFd{"CUDA fd"};
/// An NT handle of a device's memory.
inline constexpr FdKind FdKind::kNtHandle{"NT handle"};
/// An NT handle of a section (CreateFileMapping), which is a memfd to Windows: memory of the host, which any process maps.
inline constexpr FdKind FdKind::kNtSection{"NT section"};
constexpr bool FdKind::is_bound_to_device() const {
  return serves(kOpaqueFd) || *this == kCudaFd || *this == kNtHandle;
}

/// Constraints on one allocation. The default accepts everything. Sizes and alignments in bytes; alignments are powers
/// of two.
struct TENON_API Requirements {
  std::size_t size_bytes = 0;               ///< Minimum.
  std::size_t alignment = 1;                ///< For the first byte.
  std::size_t pitch_alignment = 1;          ///< For each row of each plane.
  std::size_t height_alignment = 1;         ///< Rows per plane are rounded up to this.
  std::size_t tail_padding = 0;             ///< Readable bytes past the end, as SIMD decoders need.
  std::size_t max_pitch = SIZE_MAX;         ///< Longest row that the consumer can express.
  FdKind fd;                                ///< Weakest acceptable descriptor (FdKind::serves).
  bool host_access = false;                 ///< The CPU reads or writes it in place.
  bool contiguous = false;                  ///< No padding between rows or planes.
  SmallVector<MemoryKind, 4> kinds;         ///< Acceptable kinds; empty means any.
  SmallVector<std::uint64_t, 4> modifiers;  ///< Acceptable DRM modifiers; empty means linear.

  /// Requirements that satisfy both, or the reason why none can.
  std::variant<Requirements, Refusal> join(const Requirements& other) const;
};

/// Properties of an allocation that are known before it is made.
struct Offer {
  std::size_t alignment = 64;  ///< Alignment of the first byte.
  FdKind fd;                   ///< Kind of descriptor with which the memory can be exported.
  std::uint64_t modifier = 0;  ///< A DRM modifier; 0: linear.
  bool host_addressable = false;
};

}  // namespace v1
}  // namespace tenon
