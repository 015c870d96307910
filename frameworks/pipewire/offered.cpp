// SPDX-License-Identifier: Apache-2.0
// Pictures in memory that can be handed over, and the buffers that PipeWire is given for them.
#include <tenon/frameworks/pipewire/offered.hpp>

#include <fcntl.h>
#include <spa/buffer/buffer.h>

#include <algorithm>
#include <cstdint>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/tensor.hpp>

namespace tenon {
inline namespace v1 {
namespace pipewire::detail {

TENON_INLINE std::optional<Offered> find_offered(const Frame& frame) {
  Offered found{frame.plane(0).memory(), {}};
  const Memory& memory = *found.memory;
  if (memory.borrow_fd() < 0 || (memory.fd_kind() != FdKind::kMemfd && memory.fd_kind() != FdKind::kDmabuf) ||
      memory.size_bytes() > UINT32_MAX)
    return std::nullopt;
  if (memory.fd_kind() == FdKind::kMemfd) {
    const int seals = ::fcntl(memory.borrow_fd(), F_GET_SEALS);
    if (seals < 0 || !(seals & F_SEAL_SHRINK)) return std::nullopt;
  }
  found.layout.planes = frame.plane_count();
  found.layout.size_bytes = memory.size_bytes();
  for (std::size_t p = 0; p < frame.plane_count(); ++p) {
    const Tensor& plane = frame.plane(p);
    if (plane.memory().get() != &memory) return std::nullopt;
    found.layout.offset[p] = plane.offset();
    found.layout.pitch_bytes[p] = static_cast<std::size_t>(plane.byte_strides()[0]);
  }
  return found;
}

/// Whether the planes lie as a single block says them, from the first one on.
TENON_INLINE bool is_one_block(const FrameInfo& info, const Layout& layout) {
  const Layout usual = one_block(info, layout.pitch_bytes[0]);
  for (std::size_t p = 0; p < usual.planes; ++p)
    if (layout.pitch_bytes[p] != usual.pitch_bytes[p] || layout.offset[p] - layout.offset[0] != usual.offset[p])
      return false;
  return true;
}

TENON_INLINE BufferWish wish_for(const FrameInfo& info, const Layout& layout, bool is_dmabuf) {
  BufferWish wish;
  const bool one = is_one_block(info, layout);
  wish.least_blocks = wish.most_blocks = one ? 1 : static_cast<std::uint32_t>(layout.planes);
  wish.size_bytes = one ? one_block(info, layout.pitch_bytes[0]).size_bytes : 0;
  wish.pitch_bytes = layout.pitch_bytes[0];
  wish.types = is_dmabuf ? (1u << SPA_DATA_DmaBuf) | (1u << SPA_DATA_MemFd) : 1u << SPA_DATA_MemFd;
  return wish;
}

TENON_INLINE void fill(spa_buffer& given, const Memory& memory, const Layout& layout, bool is_writable,
                       const std::string& doing) {
  if (given.n_datas != 1 && given.n_datas != layout.planes)
    throw Error(Code::kUnimplemented, doing + ": a reader asks for buffers of " + std::to_string(given.n_datas) +
                                          " blocks, and a picture has " + std::to_string(layout.planes) + " planes");
  constexpr int kSealFutureWrite = 0x0010;  // Linux 5.1; fcntl.h of older libcs lacks it.
  const bool is_dmabuf = memory.fd_kind() == FdKind::kDmabuf;
  // A memfd that allows no more seals stays writable, as its owner wants it.
  if (!is_dmabuf && !is_writable) (void)::fcntl(memory.borrow_fd(), F_ADD_SEALS, kSealFutureWrite);
  for (std::uint32_t i = 0; i < given.n_datas; ++i) {
    spa_data& data = given.datas[i];
    data.type = is_dmabuf ? SPA_DATA_DmaBuf : SPA_DATA_MemFd;
    data.flags = is_writable || is_dmabuf ? SPA_DATA_FLAG_READWRITE : SPA_DATA_FLAG_READABLE;
    data.fd = memory.borrow_fd();
    data.mapoffset = static_cast<std::uint32_t>(layout.offset[i]);
    data.maxsize = static_cast<std::uint32_t>(memory.size_bytes() - layout.offset[i]);
    data.data = nullptr;
  }
}

TENON_INLINE void fill_chunks(const spa_buffer& given, const FrameInfo& info, const Layout& layout) {
  for (std::uint32_t i = 0; i < given.n_datas; ++i) {
    spa_chunk& chunk = *given.datas[i].chunk;
    const PlaneExtent extent = plane_extent(info, i);
    chunk.offset = 0;
    chunk.stride = static_cast<std::int32_t>(layout.pitch_bytes[i]);
    chunk.size = given.n_datas == 1 ? static_cast<std::uint32_t>(one_block(info, layout.pitch_bytes[0]).size_bytes)
                                    : static_cast<std::uint32_t>(layout.pitch_bytes[i] * extent.height_px);
    chunk.size = std::min(chunk.size, given.datas[i].maxsize);
    chunk.flags = SPA_CHUNK_FLAG_NONE;
  }
}

TENON_INLINE std::size_t find_planes(const FrameInfo& info, std::span<const Block> blocks,
                                     std::span<const spa_chunk> chunks, std::array<PlanePlace, 4>& places,
                                     const std::string& doing) {
  const PixelFormatInfo& format = format_info(info.format);
  const bool is_one = blocks.size() == 1;
  if (!is_one && blocks.size() < format.plane_count)
    throw Error(Code::kInvalidArgument, doing + ": a buffer of " + std::to_string(blocks.size()) + " blocks for " +
                                            std::to_string(format.plane_count) + " planes");
  const auto stride = [&](std::size_t i) {
    if (chunks[i].stride >= 0) return static_cast<std::size_t>(chunks[i].stride);
    throw Error(Code::kUnimplemented,
                doing + ": rows from below to above (a stride of " + std::to_string(chunks[i].stride) + " bytes)");
  };
  Layout layout;
  if (is_one) layout = one_block(info, stride(0));
  for (std::size_t p = 0; p < format.plane_count; ++p) {
    const std::size_t b = is_one ? 0 : p;
    const Block& block = blocks[b];
    const PlaneExtent extent = plane_extent(info, format, p);
    const std::size_t pitch = is_one ? layout.pitch_bytes[p] : stride(b) ? stride(b) : extent.row_bytes;
    const std::size_t begin = std::size_t{chunks[b].offset} + (is_one ? layout.offset[p] : 0);
    const std::size_t end = begin + pitch * (extent.height_px - 1) + extent.row_bytes;
    if (end > block.size_bytes || pitch < extent.row_bytes)
      throw Error(Code::kOutOfRange, doing + ": plane " + std::to_string(p) + " of " + to_string(info.format) + " " +
                                         std::to_string(info.width_px) + "x" + std::to_string(info.height_px) +
                                         " ends at byte " + std::to_string(end) + " of a block of " +
                                         std::to_string(block.size_bytes) + ", with a pitch of " +
                                         std::to_string(pitch));
    places[p] = {block.memory, block.offset + begin, pitch};
  }
  return format.plane_count;
}

}  // namespace pipewire::detail
}  // namespace v1
}  // namespace tenon
