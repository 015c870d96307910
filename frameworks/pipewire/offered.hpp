// SPDX-License-Identifier: Apache-2.0
// How a picture lies in memory that is handed over, and what the two ends tell of it. Private to this folder.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include <tenon/core/frame.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/frameworks/pipewire/format.hpp>

struct spa_buffer;
struct spa_chunk;

namespace tenon {
inline namespace v1 {
namespace pipewire::detail {

/// How a picture lies in one memory that can be handed over.
struct Offered {
  Ref<Memory> memory;
  Layout layout;
};

/// Nothing if the memory cannot be handed over: no descriptor, several memories, or one that could shrink under a reader.
std::optional<Offered> find_offered(const Frame& frame);
/// Blocks, sizes and types of buffers for pictures that lie so.
BufferWish wish_for(const FrameInfo& info, const Layout& layout, bool is_dmabuf);
/// Hands `memory` over in a buffer. @param doing  For messages. @errors kUnimplemented: the reader asks for another number of blocks.
void fill(spa_buffer& given, const Memory& memory, const Layout& layout, bool is_writable, const std::string& doing);
/// Says where the bytes of a picture are in a buffer.
void fill_chunks(const spa_buffer& given, const FrameInfo& info, const Layout& layout);

/// A block of a buffer that came: a part of a memory.
struct Block {
  Ref<Memory> memory;
  std::size_t offset = 0, size_bytes = 0;
};
/// Where the planes of a picture lie, by what its producer says, which is not believed. @param chunks  One for each block, copied out of
/// shared memory.  @return the number of planes.
/// @errors kInvalidArgument: too few blocks, or a single block whose stride makes rows overlap; kOutOfRange: a plane that reaches past its
/// block, rows of a block of its own that overlap; kUnimplemented: rows from below to above.
std::size_t find_planes(const FrameInfo& info, std::span<const Block> blocks, std::span<const spa_chunk> chunks,
                        std::array<PlanePlace, 4>& places, const std::string& doing);

}  // namespace pipewire::detail
}  // namespace v1
}  // namespace tenon
