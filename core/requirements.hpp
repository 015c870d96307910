// SPDX-License-Identifier: Apache-2.0
// What a consumer of memory accepts, and how two consumers agree.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/small_vector.hpp>

namespace tenon {
inline namespace v1 {

/// How an allocation can be handed to another API or process.
enum class FdKind : std::uint8_t { kNone, kMemfd, kDmabuf };

/// Constraints on one allocation. The default accepts everything. Sizes and alignments in bytes; alignments are powers
/// of two.
struct TENON_API Requirements {
  std::size_t size_bytes = 0;               ///< At least.
  std::size_t alignment = 1;                ///< Of the first byte.
  std::size_t pitch_alignment = 1;          ///< Of each row of each plane.
  std::size_t height_alignment = 1;         ///< Rows per plane are rounded up to this.
  std::size_t tail_padding = 0;             ///< Readable bytes past the end, as SIMD decoders want.
  std::size_t max_pitch = SIZE_MAX;         ///< Longest row that the consumer can express.
  FdKind fd = FdKind::kNone;                ///< Weakest descriptor that serves; kDmabuf satisfies kMemfd too.
  bool host_access = false;                 ///< The CPU reads or writes it in place.
  bool contiguous = false;                  ///< No padding between rows or planes.
  SmallVector<MemoryKind, 4> kinds;         ///< Acceptable kinds; empty means any.
  SmallVector<std::uint64_t, 4> modifiers;  ///< Acceptable DRM modifiers; empty means linear.

  /// What satisfies both, or why nothing does.
  std::variant<Requirements, Refusal> join(const Requirements& other) const;
};

}  // namespace v1
}  // namespace tenon
