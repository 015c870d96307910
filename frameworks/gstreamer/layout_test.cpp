// SPDX-License-Identifier: Apache-2.0
// Buffers whose metas, sizes and memories are arbitrary: each is refused, or a frame that stays within its memory.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <random>

#include <tenon/core/ledger.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/frameworks/gstreamer/frame.hpp>
#include <tenon/frameworks/gstreamer/testing/gst_testing.hpp>

namespace layout_test {

using namespace tenon;
using namespace tenon::gstreamer_testing;
namespace gs = tenon::gstreamer;

class Dice {
 public:
  explicit Dice(unsigned seed) : engine_(seed) {}
  std::size_t up_to(std::size_t most) { return std::uniform_int_distribution<std::size_t>(0, most)(engine_); }
  bool one_in(std::size_t n) { return up_to(n - 1) == 0; }

 private:
  std::mt19937 engine_;
};

/// Mostly as `caps` say, with something wrong here and there.
gs::BufferPtr arbitrary_buffer(const gs::VideoCaps& caps, Dice& dice) {
  std::size_t size = caps.size_bytes + (dice.one_in(2) ? 0 : dice.up_to(256));
  if (dice.one_in(4)) size -= dice.up_to(size);
  gs::BufferPtr buffer(gst_buffer_new());
  for (std::size_t left = size, parts = dice.up_to(3); left != 0;) {
    const std::size_t part = parts == 0 ? left : 1 + dice.up_to(left - 1);
    gst_buffer_append_memory(buffer.get(), gst_allocator_alloc(nullptr, part, nullptr));
    left -= part;
    if (parts != 0) --parts;
  }
  gst_buffer_memset(buffer.get(), 0, 7, size);
  const PixelFormatInfo& format = format_info(caps.info.format);
  if (dice.one_in(2)) {
    std::array<gsize, GST_VIDEO_MAX_PLANES> offset{};
    std::array<gint, GST_VIDEO_MAX_PLANES> stride{};
    for (std::size_t p = 0; p < format.plane_count; ++p) {
      offset[p] = dice.one_in(4) ? dice.up_to(2 * caps.size_bytes) : caps.offset[p];
      stride[p] = dice.one_in(4) ? static_cast<gint>(dice.up_to(300)) - 20 : caps.stride[p];
      if (dice.one_in(40)) offset[p] = G_MAXSIZE - dice.up_to(100);
      if (dice.one_in(40)) stride[p] = dice.one_in(2) ? G_MAXINT : G_MININT;
    }
    const guint planes = dice.one_in(10) ? static_cast<guint>(1 + dice.up_to(3)) : format.plane_count;
    gst_buffer_add_video_meta_full(
        buffer.get(), GST_VIDEO_FRAME_FLAG_NONE, gs::find_mapping(caps.info.format)->gst, caps.info.width_px,
        caps.info.height_px + static_cast<guint>(dice.up_to(1) * dice.up_to(9)), planes, offset.data(), stride.data());
  }
  if (dice.one_in(4)) {
    GstVideoCropMeta* crop = gst_buffer_add_video_crop_meta(buffer.get());
    crop->x = static_cast<guint>(2 * dice.up_to(8)), crop->y = static_cast<guint>(2 * dice.up_to(8));
    crop->width = static_cast<guint>(dice.up_to(60)), crop->height = static_cast<guint>(dice.up_to(60));
    if (dice.one_in(20)) crop->x = crop->width = G_MAXUINT - 3;
  }
  return buffer;
}

/// Reads all pixels: a sanitizer sees what is not there.
std::size_t sum(const Frame& frame) {
  std::size_t total = 0;
  for (const Tensor& plane : frame.planes()) {
    const std::size_t rows = plane.shape()[0], bytes = rows ? plane.size_bytes() / rows : 0;
    EXPECT_LE(plane.offset(), plane.memory()->size_bytes());
    for (std::size_t y = 0; y < rows; ++y) {
      const auto* row =
          static_cast<const std::uint8_t*>(plane.data()) + static_cast<std::ptrdiff_t>(y) * plane.byte_strides()[0];
      for (std::size_t i = 0; i < bytes; ++i) total += row[i];
    }
  }
  return total;
}

TEST(GstLayouts, OfAnyKindStayInTheirMemoryOrAreRefused) {
  gs::start();
  std::size_t taken = 0, refused = 0;
  for (unsigned seed = 0; seed < 4000; ++seed) {
    Dice dice(seed);
    const gs::FormatMapping& mapping = gs::detail::kMappings[dice.up_to(std::size(gs::detail::kMappings) - 1)];
    const FrameInfo info{mapping.format, static_cast<std::uint32_t>(1 + dice.up_to(63)),
                         static_cast<std::uint32_t>(1 + dice.up_to(63))};
    const gs::VideoCaps caps = gs::video_caps(gs::caps(info).get());
    gs::BufferPtr buffer = arbitrary_buffer(caps, dice);
    std::atomic<int> ended{0};
    count_end(buffer.get(), ended);
    Ledger ledger;
    try {
      Frame frame = gs::wrap(buffer.get(), caps, &ledger);
      const std::size_t total = sum(frame);
      ASSERT_EQ(total % 7, 0u) << seed;
      ASSERT_EQ(total, 7 * frame.size_bytes()) << seed;
      // As another buffer, it is the same picture.
      const gs::BufferPtr fd_ownership = gs::buffer(frame);
      gs::VideoCaps seen = caps;
      seen.info = frame.info();
      const Frame back = gs::wrap(fd_ownership.get(), seen, &ledger);
      for (std::size_t p = 0; p < frame.plane_count(); ++p)
        ASSERT_EQ(back.plane(p).data(), frame.plane(p).data()) << seed << " plane " << p;
      ++taken;
    } catch (const Error& error) {
      ASSERT_NE(std::string(error.what()), "") << seed;
      ++refused;
    }
    buffer.reset();
    ASSERT_EQ(ended, 1) << seed << ": the buffer is kept";
  }
  EXPECT_GT(taken, 1000u);
  EXPECT_GT(refused, 500u);
}

}  // namespace layout_test
