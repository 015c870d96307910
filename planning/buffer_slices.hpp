// SPDX-License-Identifier: Apache-2.0
// Where values lie: buffers, and slices of them. Any engine can plan memory with these; they know no kernel library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/core/tensor.hpp>

namespace tenon::inline v1::planning {

using BufferId = std::uint32_t;
inline constexpr BufferId kNoBuffer = ~BufferId{0};

/// A region of one buffer that starts at `offset` bytes.
struct BufferSlice {
  BufferId buffer = kNoBuffer;
  std::size_t offset = 0;
  explicit operator bool() const { return buffer != kNoBuffer; }
  friend bool operator==(const BufferSlice&, const BufferSlice&) = default;
};

enum class BufferKind : std::uint8_t {
  kArena,     ///< Part of the execution's memory; planned by lifetime.
  kConstant,  ///< Owned by the plan (or the model), shared by all executions, never written.
  kInput,     ///< The user's tensor.
  kOutput,    ///< The user's tensor; also written by inner steps whose value ends there.
  kState,     ///< A variable; lives from run to run.
};

struct Buffer {
  BufferKind kind = BufferKind::kArena;
  std::size_t size_bytes = 0;
  std::uint32_t index = 0;        ///< Port number; variable number, plus their count for its "is set" byte, plus twice
                                  ///< that for its next value.
  BufferId parent = kNoBuffer;    ///< This buffer is a part of that one...
  std::size_t parent_offset = 0;  ///< ...at this offset.
  std::size_t arena_offset = 0;   ///< For a root buffer of the arena.
  int first_step = -1, last_step = -1;
  Tensor constant;  ///< Keeps the bytes of a constant.
};

struct Operand {
  BufferSlice place;
  bool written = false;
  /// Element i of the result depends only on element i of this, read before: the result may lie over it. oneDNN's
  /// element-wise primitives do so without setting it.
  bool in_step = false;
};

/// The meaning of 8-bit numbers q: scale * (q - zero_point).
struct Quantization {
  float scale = 1;
  std::int32_t zero_point = 0;
  ElementType type = ElementType::kU8;  ///< Or kI8.
  friend bool operator==(const Quantization&, const Quantization&) = default;
};

/// Alignment of buffers: a cache line, which is also the widest vector.
inline constexpr std::size_t kAlignment = 64;

/// Root of a buffer and the offset in it.
inline BufferSlice root(const std::vector<Buffer>& buffers, BufferSlice place) {
  while (buffers[place.buffer].parent != kNoBuffer) {
    place.offset += buffers[place.buffer].parent_offset;
    place.buffer = buffers[place.buffer].parent;
  }
  return place;
}

/// The same for a whole buffer, which lies in its root directly from then on, so that chains of parts are walked
/// only once.
inline BufferId settle_root(std::vector<Buffer>& buffers, BufferId buffer) {
  const BufferSlice found = root(buffers, {buffer, 0});
  std::size_t offset = found.offset;
  while (buffer != found.buffer) {
    Buffer& part = buffers[buffer];
    const std::size_t inner = part.parent_offset;
    buffer = std::exchange(part.parent, found.buffer);
    part.parent_offset = offset;
    offset -= inner;
  }
  return found.buffer;
}

}  // namespace tenon::inline v1::planning
