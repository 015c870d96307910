// SPDX-License-Identifier: Apache-2.0
#include <tenon/frameworks/ffmpeg/frame.hpp>

#include <cstring>
#include <numeric>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tenon/core/carried_formats.hpp>
#include <tenon/core/frame_layout.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/proof.hpp>
#include <tenon/core/router.hpp>
#include <tenon/core/testing/bytes_of.hpp>
#include <tenon/frameworks/ffmpeg/testing/clip.hpp>

// Tests refuse allocations; the sanitizers would end the program instead of returning null.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char* __tsan_default_options() { return "allocator_may_return_null=1"; }

namespace ffmpeg_frame_test {

using tenon::Code;
using tenon::Error;
using tenon::Frame;
using tenon::FrameInfo;
using tenon::FrameLayout;
using tenon::PixelFormat;
using tenon::Tensor;
using tenon_test::bytes_of;
using tenon_test::packed;
namespace ff = tenon::ffmpeg;

ff::FramePtr picture(AVPixelFormat format, int width, int height, int align = 0) {
  ff::FramePtr frame(av_frame_alloc());
  frame->format = format;
  frame->width = width;
  frame->height = height;
  EXPECT_GE(av_frame_get_buffer(frame.get(), align), 0);
  tenon_test::draw(frame.get(), 3, 5);
  return frame;
}

template <typename Function>
Code code_of(Function function, std::string* message = nullptr) {
  try {
    function();
  } catch (const Error& error) {
    if (message) *message = error.what();
    return error.code();
  }
  return Code::kOk;
}

/// An AVBuffer that counts how often it is freed.
struct Counted {
  int freed = 0;
  std::vector<std::uint8_t> bytes;
  explicit Counted(std::size_t size) : bytes(size) {}
  AVBufferRef* buffer(int flags = 0) {
    return av_buffer_create(
        bytes.data(), bytes.size(), [](void* self, std::uint8_t*) { ++static_cast<Counted*>(self)->freed; }, this,
        flags);
  }
};

ff::FramePtr gray_over(Counted& counted, int width, int height, int flags = 0) {
  ff::FramePtr frame(av_frame_alloc());
  frame->format = AV_PIX_FMT_GRAY8;
  frame->width = width;
  frame->height = height;
  frame->buf[0] = counted.buffer(flags);
  frame->data[0] = counted.bytes.data();
  frame->linesize[0] = width;
  return frame;
}

class FormatTest : public testing::TestWithParam<AVPixelFormat> {};

TEST_P(FormatTest, WrapsEveryPlaneWhereItLiesAndGivesItBack) {
  for (const auto& [width, height] : {std::pair{64, 48}, std::pair{35, 17}, std::pair{1, 1}}) {
    ff::FramePtr frame = picture(GetParam(), width, height);
    const std::vector<std::uint8_t> expected = packed(frame.get());
    const Frame wrapped = ff::wrap(frame.get());
    // av_image_copy_to_buffer is the oracle for the positions of rows and planes.
    EXPECT_EQ(bytes_of(wrapped), expected) << width << "x" << height;
    for (std::size_t p = 0; p < wrapped.plane_count(); ++p) EXPECT_EQ(wrapped.plane(p).data(), frame->data[p]);

    const ff::FramePtr back = ff::av_frame(wrapped);
    EXPECT_EQ(packed(back.get()), expected);
    for (int p = 0; p < 4; ++p) {
      EXPECT_EQ(back->data[p], frame->data[p]);
      EXPECT_EQ(back->linesize[p], frame->data[p] ? frame->linesize[p] : 0);
    }
  }
}
/// All formats of FFmpeg that lie in host memory.
std::vector<AVPixelFormat> software_formats() {
  std::vector<AVPixelFormat> all;
  for (const AVPixFmtDescriptor* d = av_pix_fmt_desc_next(nullptr); d; d = av_pix_fmt_desc_next(d)) {
    if ((d->flags & AV_PIX_FMT_FLAG_HWACCEL) == 0) all.push_back(av_pix_fmt_desc_get_id(d));
  }
  return all;
}
std::vector<AVPixelFormat> described_formats() {
  std::vector<AVPixelFormat> all = software_formats();
  std::erase_if(all, [](AVPixelFormat format) { return !ff::find_mapping(format); });
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, FormatTest, testing::ValuesIn(described_formats()),
                         [](const auto& info) { return std::string(av_get_pix_fmt_name(info.param)); });

/// A value of a component of a Tenon frame, as FrameLayout says where it is.
unsigned value_at(const Frame& frame, const FrameLayout& layout, std::size_t k, std::size_t x, std::size_t y) {
  const tenon::FrameComponent& c = layout.components[k];
  const Tensor& plane = frame.plane(c.plane);
  const auto* row =
      static_cast<const std::byte*>(plane.data()) + plane.byte_strides()[0] * static_cast<std::ptrdiff_t>(y);
  const std::size_t at = x * c.step + c.offset;
  if (layout.bits == 8) return reinterpret_cast<const std::uint8_t*>(row)[at];
  return layout.value_of(reinterpret_cast<const std::uint16_t*>(row)[at]);
}

// libavutil's reader, which goes by FFmpeg's own descriptors, is the oracle: planes, strides, order, depth, shift, byte order.
TEST(FfmpegFrame, ReadsEveryPixelFormatInPlaceAsFfmpegDoes) {
  std::size_t read = 0;
  for (const AVPixelFormat format : described_formats()) {
    SCOPED_TRACE(av_get_pix_fmt_name(format));
    constexpr int kWidth = 37, kHeight = 11;
    ff::FramePtr frame = picture(format, kWidth, kHeight);
    std::uint32_t state = 7;
    for (int p = 0; p < 4 && frame->buf[p]; ++p)
      for (std::size_t i = 0; i < frame->buf[p]->size; ++i)
        frame->buf[p]->data[i] = static_cast<std::uint8_t>((state = state * 1664525u + 1013904223u) >> 24);
    const Frame wrapped = ff::wrap(frame.get());
    if (!tenon::is_readable(wrapped.info().format)) continue;
    ++read;
    const FrameLayout layout = tenon::frame_layout(wrapped.info());
    const AVPixFmtDescriptor* d = av_pix_fmt_desc_get(format);
    EXPECT_EQ(layout.component_count == 1, d->nb_components < 3);
    EXPECT_EQ(layout.is_yuv, layout.component_count == 3 && (d->flags & AV_PIX_FMT_FLAG_RGB) == 0);
    for (int k = 0; k < layout.component_count; ++k) {
      EXPECT_EQ(layout.bits, d->comp[k].depth);
      const bool chroma = layout.is_yuv && k > 0;
      const int width = chroma ? AV_CEIL_RSHIFT(kWidth, d->log2_chroma_w) : kWidth;
      const int height = chroma ? AV_CEIL_RSHIFT(kHeight, d->log2_chroma_h) : kHeight;
      std::vector<std::uint16_t> line(static_cast<std::size_t>(width));
      for (int y = 0; y < height; ++y) {
        av_read_image_line(line.data(), const_cast<const std::uint8_t**>(frame->data), frame->linesize, d, 0, y, k,
                           width, 0);
        for (std::size_t x = 0; x < line.size(); ++x)
          ASSERT_EQ(value_at(wrapped, layout, static_cast<std::size_t>(k), x, static_cast<std::size_t>(y)), line[x])
              << "component " << k << " at " << x << "," << y;
      }
    }
  }
  EXPECT_GE(read, 130u);
}

TEST(FfmpegFrame, SaysWhyItDescribesNoPlanesOfAFormat) {
  std::size_t refused = 0;
  for (const AVPixelFormat format : software_formats()) {
    if (ff::find_mapping(format)) continue;
    ++refused;
    std::string message;
    const ff::FramePtr frame = picture(format, 32, 8);
    EXPECT_EQ(code_of([&] { ff::wrap(frame.get()); }, &message), Code::kUnimplemented) << av_get_pix_fmt_name(format);
    EXPECT_THAT(message,
                testing::AllOf(testing::HasSubstr(av_get_pix_fmt_name(format)), testing::HasSubstr("convert it to")));
    EXPECT_THAT(message, testing::AnyOf(testing::HasSubstr("palette"), testing::HasSubstr("share a byte"),
                                        testing::HasSubstr("mosaic"), testing::HasSubstr("XYZ")));
  }
  EXPECT_GE(refused, 15u);
}

// Formats of packed words are handed on, though nothing in Tenon reads them: their names must mean FFmpeg's bits.
TEST(FfmpegFrame, NamesPackedWordsByTheirBits) {
  struct Word {
    PixelFormat format;
    int red, blue;  ///< Bits below the component.
  };
  for (const Word& word : {Word{tenon::kRgb565, 11, 0}, Word{tenon::kBgr565, 0, 11}, Word{tenon::kXrgb555, 10, 0},
                           Word{tenon::kXbgr555, 0, 10}, Word{tenon::kXrgb444, 8, 0}, Word{tenon::kXbgr444, 0, 8},
                           Word{tenon::kRgb10x2, 0, 20}, Word{tenon::kBgr10x2, 20, 0}, Word{tenon::kRgb10a2, 0, 20},
                           Word{tenon::kBgr10a2, 20, 0}}) {
    const Frame frame = Frame::allocate({word.format, 1, 1});
    const unsigned red = 1u << word.red, blue = 1u << word.blue;
    std::memset(frame.plane(0).data(), 0, frame.plane(0).size_bytes());
    const ff::FramePtr av = ff::av_frame(frame);
    for (const auto& [bits, component] : {std::pair{red, 0}, std::pair{blue, 2}}) {
      std::memcpy(frame.plane(0).data(), &bits, tenon::size_bytes(frame.plane(0).element_type()));
      std::uint16_t value = 0;
      av_read_image_line(&value, const_cast<const std::uint8_t**>(av->data), av->linesize,
                         av_pix_fmt_desc_get(static_cast<AVPixelFormat>(av->format)), 0, 0, component, 1, 0);
      EXPECT_EQ(value, 1) << tenon::to_string(word.format) << " component " << component;
    }
  }
}

/// A Tenon frame of one colour of 8 bits.
Frame one_colour(PixelFormat format, int a, int b, int c) {
  Frame frame = Frame::allocate({format, 16, 8, tenon::ColourSpace::kBt601, tenon::ColourRange::kUnknown});
  const FrameLayout layout = tenon::frame_layout(frame.info());
  const int values[] = {a, b, c};
  for (std::size_t k = 0; k < layout.component_count; ++k) {
    const tenon::FrameComponent& at = layout.components[k];
    const Tensor& plane = frame.plane(at.plane);
    for (std::size_t y = 0; y < 8u >> at.shift_y; ++y) {
      auto* row = static_cast<std::uint8_t*>(plane.data()) + plane.byte_strides()[0] * static_cast<std::ptrdiff_t>(y);
      for (std::size_t x = 0; x < 16u >> at.shift_x; ++x) {
        const std::size_t i = x * at.step + at.offset;
        if (layout.bits == 8)
          row[i] = static_cast<std::uint8_t>(values[k]);
        else
          reinterpret_cast<std::uint16_t*>(row)[i] =
              layout.sample_of(static_cast<std::uint16_t>(values[k] << (layout.bits - 8)));
      }
    }
  }
  return frame;
}

TEST(FfmpegFrame, EveryTenonFormatMeansTheSameToSwscale) {
  std::size_t count = 0;
  const tenon::PixelFormatInfo* formats = tenon::all_formats(count);
  for (std::size_t i = 0; i < count; ++i) {
    SCOPED_TRACE(std::string(formats[i].name));
    if (!ff::find_mapping(formats[i].format)) {
      EXPECT_THROW(ff::av_frame(Frame::allocate({formats[i].format, 16, 8})), tenon::Error);
      continue;
    }
    if (!tenon::is_readable(formats[i].format)) continue;
    const Frame frame = one_colour(formats[i].format, 200, 90, 40);
    const ff::FramePtr av = ff::av_frame(frame);
    // Compared with the descriptor's own reader: which byte FFmpeg takes for which component.
    const AVPixFmtDescriptor* descriptor = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(av->format));
    const bool rgb = formats[i].model == tenon::ColourModel::kRgb;
    const int components = formats[i].model == tenon::ColourModel::kGray ? 1 : 3;
    const int expected[] = {200, 90, 40};
    for (int c = 0; c < components; ++c) {
      std::uint16_t value = 0;
      const bool luma = rgb || c == 0;
      const int x = luma ? 8 : 8 >> descriptor->log2_chroma_w, y = luma ? 4 : 4 >> descriptor->log2_chroma_h;
      av_read_image_line(&value, const_cast<const std::uint8_t**>(av->data), av->linesize, descriptor, x, y, c, 1, 0);
      EXPECT_EQ(value >> (descriptor->comp[c].depth - 8), expected[c]) << "component " << c;
    }
    // Also compared with swscale where it reads the format; P010 and GRAY16 lose a last bit to rounding there.
    if (sws_isSupportedInput(static_cast<AVPixelFormat>(av->format))) {
      const AVPixelFormat wanted = rgb ? AV_PIX_FMT_RGB24 : components == 3 ? AV_PIX_FMT_YUV444P : AV_PIX_FMT_GRAY8;
      ff::FramePtr seen = picture(wanted, 16, 8);
      SwsContext* sws = sws_getContext(16, 8, static_cast<AVPixelFormat>(av->format), 16, 8, wanted,
                                       SWS_POINT | SWS_ACCURATE_RND, nullptr, nullptr, nullptr);
      ASSERT_TRUE(sws);
      ASSERT_EQ(sws_scale(sws, av->data, av->linesize, 0, 8, seen->data, seen->linesize), 8);
      sws_freeContext(sws);
      const std::vector<std::uint8_t> bytes = packed(seen.get());
      const std::size_t middle = 4 * 16 + 8;
      for (int c = 0; c < components; ++c) {
        const std::size_t at =
            rgb ? middle * 3 + static_cast<std::size_t>(c) : static_cast<std::size_t>(c) * 128 + middle;
        EXPECT_NEAR(bytes[at], expected[c], formats[i].sample == tenon::ElementType::kU16 ? 1 : 0) << "component " << c;
      }
    }
    EXPECT_EQ(av->data[ff::find_mapping(formats[i].format)->planes[0]], frame.plane(0).data());
  }
}

TEST(FfmpegFrame, CarriesColourAndTime) {
  ff::FramePtr frame = picture(AV_PIX_FMT_YUV420P, 64, 48);
  frame->colorspace = AVCOL_SPC_BT709;
  frame->color_range = AVCOL_RANGE_JPEG;
  frame->pts = 3;
  const Frame wrapped = ff::wrap(frame.get(), AVRational{1, 25});
  EXPECT_EQ(wrapped.info().colour_space, tenon::ColourSpace::kBt709);
  EXPECT_EQ(wrapped.info().colour_range, tenon::ColourRange::kFull);
  EXPECT_EQ(wrapped.timestamp_ns(), 120'000'000);
  const ff::FramePtr back = ff::av_frame(wrapped);
  EXPECT_EQ(back->colorspace, AVCOL_SPC_BT709);
  EXPECT_EQ(back->color_range, AVCOL_RANGE_JPEG);
  EXPECT_EQ(back->pts, 120'000'000);
  EXPECT_EQ(av_cmp_q(back->time_base, AVRational{1, 1'000'000'000}), 0);
  EXPECT_EQ(ff::wrap(frame.get()).timestamp_ns(), tenon::kNoTimestamp) << "no time base, no time";
  EXPECT_EQ(ff::wrap(picture(AV_PIX_FMT_YUVJ420P, 8, 8).get()).info().colour_range, tenon::ColourRange::kFull);
}

TEST(FfmpegFrame, RespectsCropping) {
  ff::FramePtr frame = picture(AV_PIX_FMT_NV12, 64, 48);
  frame->crop_top = 4;
  frame->crop_left = 6;
  frame->crop_right = 8;
  frame->crop_bottom = 2;
  const Frame wrapped = ff::wrap(frame.get());
  EXPECT_EQ(wrapped.info().width_px, 50u);
  EXPECT_EQ(wrapped.info().height_px, 42u);
  EXPECT_EQ(wrapped.plane(0).data(), frame->data[0] + 4 * frame->linesize[0] + 6);
  EXPECT_EQ(wrapped.plane(1).data(), frame->data[1] + 2 * frame->linesize[1] + 6);
  EXPECT_EQ(frame->crop_top, 4u) << "the caller's frame is not touched";
  frame->crop_left = 1000;
  std::string message;
  EXPECT_NE(code_of([&] { ff::wrap(frame.get()); }, &message), Code::kOk);
  EXPECT_THAT(message, testing::HasSubstr("cropping"));
}

TEST(FfmpegFrame, OneBufferIsOneMemoryAndSeveralAreSeveral) {
  ff::FramePtr several = picture(AV_PIX_FMT_YUV420P, 64, 48);  // av_frame_get_buffer makes one since FFmpeg 5.
  ff::FramePtr one(av_frame_alloc());
  one->format = AV_PIX_FMT_YUV420P;
  one->width = 64;
  one->height = 48;
  Counted a(64 * 48), b(32 * 24), c(32 * 24);
  one->buf[0] = a.buffer();
  one->buf[1] = b.buffer();
  one->buf[2] = c.buffer();
  for (int p = 0; p < 3; ++p) one->data[p] = one->buf[p]->data, one->linesize[p] = p ? 32 : 64;
  {
    const Frame frame = ff::adopt(one.get());
    EXPECT_FALSE(frame.plane(0).memory() == frame.plane(1).memory());
    EXPECT_EQ(frame.plane(2).memory()->size_bytes(), std::size_t{32} * 24);
    EXPECT_EQ(a.freed + b.freed + c.freed, 0);
  }
  EXPECT_EQ(a.freed, 1);
  EXPECT_EQ(b.freed, 1);
  EXPECT_EQ(c.freed, 1);
  const Frame shared = ff::wrap(several.get());
  EXPECT_TRUE(shared.plane(0).memory() == shared.plane(1).memory() || several->buf[1]);
}

TEST(FfmpegFrame, LivesAsLongAsAnyPlaneAndReleasesOnce) {
  Counted counted(64 * 8);
  Tensor region;
  {
    ff::FramePtr frame = gray_over(counted, 64, 8);
    Frame wrapped = ff::wrap(frame.get());
    region = wrapped.plane(0).slice({2, 8}, {4, 16});
  }
  EXPECT_EQ(counted.freed, 0);
  counted.bytes[2 * 64 + 8] = 77;
  EXPECT_EQ(region.data<std::uint8_t>()[0], 77);
  tenon::Ref<tenon::Memory> memory = region.memory();
  region = {};
  EXPECT_EQ(counted.freed, 0) << "the memory alone keeps the buffer too";
  memory = nullptr;
  EXPECT_EQ(counted.freed, 1);
}

TEST(FfmpegFrame, ReleasesOnceFromManyThreads) {
  Counted counted(64 * 8);
  for (int round = 0; round < 200; ++round) {
    ff::FramePtr frame = gray_over(counted, 64, 8);
    Frame wrapped = ff::adopt(frame.get());
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([copy = wrapped]() mutable { copy = ff::wrap(ff::av_frame(copy).get()); });
    wrapped = {};
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(counted.freed, 200);
}

TEST(FfmpegFrame, IsWritableOnlyForASoleOwner) {
  Counted counted(64 * 8);
  ff::FramePtr frame = gray_over(counted, 64, 8);
  {
    const Frame wrapped = ff::wrap(frame.get());
    EXPECT_FALSE(wrapped.plane(0).is_writable()) << "the AVFrame refers to it too";
    av_frame_unref(frame.get());
    EXPECT_TRUE(wrapped.plane(0).is_writable());
    const ff::FramePtr again = ff::av_frame(wrapped);
    EXPECT_FALSE(wrapped.plane(0).is_writable());
    EXPECT_FALSE(av_frame_is_writable(again.get()));
  }
  ff::FramePtr read_only = gray_over(counted, 64, 8, AV_BUFFER_FLAG_READONLY);
  EXPECT_FALSE(ff::adopt(read_only.get()).plane(0).is_writable());
  EXPECT_EQ(counted.freed, 2);
}

TEST(FfmpegFrame, AdoptLeavesTheFrameBlankOrUntouched) {
  Counted counted(64 * 8);
  ff::FramePtr frame = gray_over(counted, 64, 8);
  const Frame adopted = ff::adopt(frame.get());
  EXPECT_EQ(frame->buf[0], nullptr);
  EXPECT_EQ(frame->data[0], nullptr);
  ff::FramePtr bad = gray_over(counted, 64, 8);
  bad->height = 9;  // Reaches past its buffer.
  EXPECT_EQ(code_of([&] { ff::adopt(bad.get()); }), Code::kOutOfRange);
  EXPECT_NE(bad->buf[0], nullptr) << "still the caller's";
  EXPECT_EQ(counted.freed, 0);
}

TEST(FfmpegFrame, RefusesWithAReason) {
  std::string message;
  EXPECT_EQ(code_of([] { ff::wrap(nullptr); }), Code::kInvalidArgument);
  ff::FramePtr empty(av_frame_alloc());
  EXPECT_EQ(code_of([&] { ff::wrap(empty.get()); }), Code::kInvalidArgument);

  ff::FramePtr flipped = picture(AV_PIX_FMT_GRAY8, 64, 8);
  flipped->data[0] += 7 * flipped->linesize[0];
  flipped->linesize[0] = -flipped->linesize[0];
  EXPECT_EQ(code_of([&] { ff::wrap(flipped.get()); }, &message), Code::kUnimplemented);
  EXPECT_THAT(message, testing::HasSubstr("bottom-up"));

  ff::FramePtr hardware(av_frame_alloc());
  hardware->format = AV_PIX_FMT_VAAPI;
  hardware->width = hardware->height = 64;
  EXPECT_EQ(code_of([&] { ff::wrap(hardware.get()); }, &message), Code::kInvalidArgument);
  EXPECT_THAT(message, testing::HasSubstr("reference-counted"));
  hardware->buf[0] = av_buffer_alloc(1);
  EXPECT_EQ(code_of([&] { ff::wrap(hardware.get()); }, &message), Code::kUnimplemented) << "of no device";
  EXPECT_THAT(message, testing::HasSubstr("av_hwframe_transfer_data"));

  Counted counted(64 * 8);
  ff::FramePtr borrowed = gray_over(counted, 64, 8);
  av_buffer_unref(&borrowed->buf[0]);
  EXPECT_EQ(code_of([&] { ff::wrap(borrowed.get()); }, &message), Code::kInvalidArgument);
  EXPECT_THAT(message, testing::HasSubstr("reference-counted"));

  ff::FramePtr narrow = gray_over(counted, 64, 8);
  narrow->linesize[0] = 63;
  EXPECT_EQ(code_of([&] { ff::wrap(narrow.get()); }, &message), Code::kInvalidArgument);
  EXPECT_THAT(message, testing::HasSubstr("linesize of 63"));

  ff::FramePtr stray = gray_over(counted, 64, 8);
  std::uint8_t elsewhere[64 * 8];
  stray->data[0] = elsewhere;
  EXPECT_EQ(code_of([&] { ff::wrap(stray.get()); }), Code::kInvalidArgument);

  EXPECT_EQ(code_of([] { ff::av_frame(Frame()); }), Code::kInvalidArgument);
}

TEST(FfmpegFrame, KeepsTenonMemoryAliveUntilFfmpegLetsGo) {
  int released = 0;
  std::vector<std::uint8_t> bytes(64 * 8, 9);
  ff::FramePtr av;
  {
    auto memory = tenon::HostMemory::borrow(bytes.data(), bytes.size(), false, [&] { ++released; });
    const Frame frame({tenon::kGray8, 64, 8},
                      {Tensor(tenon::TensorInfo{tenon::ElementType::kU8, {8, 64}, {}}, memory)});
    av = ff::av_frame(frame);
    EXPECT_TRUE(av_frame_is_writable(av.get()));
  }
  EXPECT_EQ(released, 0);
  EXPECT_EQ(av->data[0], bytes.data());
  AVFrame* second = av_frame_clone(av.get());
  av.reset();
  EXPECT_EQ(released, 0);
  av_frame_free(&second);
  EXPECT_EQ(released, 1);

  auto read_only = tenon::HostMemory::borrow(bytes.data(), bytes.size(), true);
  const Frame frame({tenon::kGray8, 64, 8},
                    {Tensor(tenon::TensorInfo{tenon::ElementType::kU8, {8, 64}, {}}, read_only)});
  EXPECT_FALSE(av_frame_is_writable(ff::av_frame(frame).get()));
}

TEST(FfmpegFrame, ARegionOfAWrappedFrameBecomesAnAvFrameInPlace) {
  ff::FramePtr frame = picture(AV_PIX_FMT_GRAY8, 64, 48);
  const Frame wrapped = ff::wrap(frame.get());
  const Frame region({tenon::kGray8, 20, 10}, {wrapped.plane(0).slice({5, 7}, {15, 27})});
  const ff::FramePtr av = ff::av_frame(region);
  EXPECT_EQ(av->data[0], frame->data[0] + 5 * frame->linesize[0] + 7);
  EXPECT_EQ(av->width, 20);
  EXPECT_EQ(av->linesize[0], frame->linesize[0]);
}

TEST(FfmpegEdges, AreProvedBothWays) {
  tenon::Router router;
  router.add(tenon::host_context());
  router.add(ff::context());
  for (const auto& [from, to] :
       {std::pair{ff::context(), tenon::host_context()}, std::pair{tenon::host_context(), ff::context()}}) {
    const tenon::ProofResult result = tenon::prove(router, from, to);
    EXPECT_EQ(result.proof, tenon::Proof::kProved) << result.reason;
  }
}

TEST(FfmpegEdges, AreProvedByFfmpegsPointers) {
  // The proof must access FFmpeg's side through the AVBuffer, strided or not, whatever core's pointer
  // is.
  ff::FramePtr av = picture(AV_PIX_FMT_GRAY8, 40, 6);
  std::uint8_t* const data = av->data[0];
  const int pitch = av->linesize[0];
  const Frame frame = ff::adopt(av.get());
  const tenon::Tensor part = frame.plane(0).slice({1, 3}, {5, 20});
  std::vector<std::byte> in(part.size_bytes()), out(part.size_bytes());
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::byte>(3 * i + 1);
  std::memset(data, 0, static_cast<std::size_t>(pitch) * 6);
  ff::context()->write(part, in);
  for (int y = 0; y < 6; ++y) {
    for (int x = 0; x < 40; ++x) {
      const bool inside = y >= 1 && y < 5 && x >= 3 && x < 20;
      EXPECT_EQ(data[y * pitch + x], inside ? static_cast<std::uint8_t>(in[(y - 1) * 17 + x - 3]) : 0) << x << ' ' << y;
    }
  }
  data[2 * pitch + 4] = 201;
  ff::context()->read(part, out);
  EXPECT_EQ(out[17 + 1], static_cast<std::byte>(201));
  out[17 + 1] = in[17 + 1];
  EXPECT_EQ(in, out);
  // Any rank and any strides: [planes, rows, columns] with gaps.
  std::vector<std::uint8_t> bytes(4 * 200);
  const tenon::Tensor deep({tenon::ElementType::kU16, {4, 3, 5}, {200, 40, 4}},
                           tenon::HostMemory::borrow(bytes.data(), bytes.size(), false));
  std::vector<std::byte> deep_in(4 * 3 * 5 * 2), deep_out(deep_in.size());
  for (std::size_t i = 0; i < deep_in.size(); ++i) deep_in[i] = static_cast<std::byte>(5 * i + 2);
  ff::context()->write(deep, deep_in);
  tenon::host_context()->read(deep, deep_out);
  EXPECT_EQ(deep_in, deep_out);
  EXPECT_EQ(bytes[200 + 2 * 40 + 4], static_cast<std::uint8_t>(deep_in[(15 + 10 + 1) * 2]));
}

TEST(FfmpegFrame, CarriesTheDisplayMatrixBothWays) {
  ff::FramePtr av = picture(AV_PIX_FMT_NV12, 64, 48);
  const std::int32_t quarter[9] = {0, 1 << 16, 0, -(1 << 16), 0, 0, 0, 0, 1 << 30};  // 90 degrees clockwise.
  std::memcpy(av_frame_new_side_data(av.get(), AV_FRAME_DATA_DISPLAYMATRIX, sizeof quarter)->data, quarter,
              sizeof quarter);
  const Frame wrapped = ff::wrap(av.get());
  EXPECT_EQ(wrapped.info().rotation, tenon::Rotation::k90);
  EXPECT_EQ(wrapped.info().width_px, 64u) << "planes lie as they are stored";
  EXPECT_EQ(wrapped.info().upright_width_px(), 48u);
  const auto same_matrix = [&](const AVFrame* frame) {
    const AVFrameSideData* side = av_frame_get_side_data(frame, AV_FRAME_DATA_DISPLAYMATRIX);
    return side && side->size >= sizeof quarter && std::memcmp(side->data, quarter, 6 * sizeof(std::int32_t)) == 0;
  };
  EXPECT_TRUE(same_matrix(ff::av_frame(wrapped).get()));
  // A frame that never came from FFmpeg carries it too.
  tenon::FrameInfo info = wrapped.info();
  const Frame own = Frame::allocate(info);
  EXPECT_TRUE(same_matrix(ff::av_frame(own).get()));
  info.rotation = tenon::Rotation::kNone;
  EXPECT_EQ(av_frame_get_side_data(ff::av_frame(Frame::allocate(info)).get(), AV_FRAME_DATA_DISPLAYMATRIX), nullptr);
  const auto rotation_by = [&](std::int32_t a, std::int32_t b, std::int32_t c, std::int32_t d) {
    auto* matrix = reinterpret_cast<std::int32_t*>(av_frame_get_side_data(av.get(), AV_FRAME_DATA_DISPLAYMATRIX)->data);
    matrix[0] = a, matrix[1] = b, matrix[3] = c, matrix[4] = d;
    return ff::wrap(av.get()).info().rotation;
  };
  // A matrix takes the place x, y of a stored pixel to a x + c y, b x + d y of the upright picture.
  constexpr std::int32_t kOne = 1 << 16;
  EXPECT_EQ(rotation_by(-kOne, 0, 0, kOne), tenon::Rotation::kMirrored) << "EXIF 2";
  EXPECT_EQ(rotation_by(kOne, 0, 0, -kOne), tenon::Rotation::kMirrored180) << "EXIF 4";
  EXPECT_EQ(rotation_by(0, kOne, kOne, 0), tenon::Rotation::kMirrored270) << "EXIF 5";
  EXPECT_EQ(rotation_by(0, -kOne, -kOne, 0), tenon::Rotation::kMirrored90) << "EXIF 7";
  for (unsigned r = 0; r < 8; ++r) {
    info.rotation = static_cast<tenon::Rotation>(r);
    EXPECT_EQ(ff::wrap(ff::av_frame(Frame::allocate(info)).get()).info().rotation, info.rotation);
  }
  // Pictures rotated by other angles are left as stored.
  EXPECT_EQ(rotation_by(46341, 46341, -46341, 46341), tenon::Rotation::kNone);
  EXPECT_EQ(rotation_by(0, 0, 0, 0), tenon::Rotation::kNone);
}

TEST(FfmpegEdges, MapAFrameOnceAndThenLookItUp) {
  tenon::Router router;
  router.add(ff::context());
  tenon::Ledger ledger;
  tenon::MapOptions options;
  options.ledger = &ledger;
  ff::FramePtr av = picture(AV_PIX_FMT_NV12, 64, 48);
  const Frame wrapped = ff::wrap(av.get());
  EXPECT_EQ(wrapped.plane(0).kind(), ff::kFfmpegMemory);
  for (int i = 0; i < 3; ++i) {
    const Frame host = router.map(wrapped, tenon::host_context(), options);
    EXPECT_EQ(host.plane(1).kind(), tenon::kCpuMemory);
    EXPECT_EQ(host.plane(1).data(), av->data[1]);
  }
  EXPECT_EQ(ledger.total().maps, 3u);
  EXPECT_EQ(ledger.total().view_hits, 2u);
  EXPECT_EQ(ledger.total().copied, 0u);
  options.access = tenon::Access::kWrite;
  EXPECT_EQ(code_of([&] { router.map(wrapped, tenon::host_context(), options); }), Code::kPermissionDenied);
}

TEST(FfmpegEdges, RefuseWhatAnAvFrameCannotSay) {
  tenon::Description description;
  description.context = tenon::host_context();
  description.kind = tenon::kCpuMemory;
  description.info = {tenon::ElementType::kU8, {2, 16}, {std::ptrdiff_t{1} << 32, 1}};
  description.host_addressable = true;
  for (const tenon::Edge* edge : ff::context()->edges()) {
    if (!(edge->from() == tenon::kCpuMemory)) continue;
    EXPECT_TRUE(std::holds_alternative<tenon::Refusal>(edge->step(description, ff::context(), tenon::Access::kRead)));
    description.info.strides = {16, 1};
    EXPECT_TRUE(std::holds_alternative<tenon::Reached>(edge->step(description, ff::context(), tenon::Access::kRead)));
    description.host_addressable = false;
    EXPECT_TRUE(std::holds_alternative<tenon::Refusal>(edge->step(description, ff::context(), tenon::Access::kRead)));
  }
}

TEST(FfmpegContext, AllocatesAlignedAndRefusesDescriptors) {
  tenon::Requirements wanted;
  wanted.size_bytes = 10000;
  wanted.alignment = 4096;
  const auto memory = ff::context()->allocate(wanted);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory->host()) % 4096, 0u);
  wanted.fd = tenon::FdKind::kMemfd;
  EXPECT_EQ(code_of([&] { ff::context()->allocate(wanted); }), Code::kUnimplemented);
  wanted.fd = tenon::FdKind::kNone;
  wanted.size_bytes = std::size_t{1} << 60;
  EXPECT_EQ(code_of([&] { ff::context()->allocate(wanted); }), Code::kResourceExhausted);
}

}  // namespace ffmpeg_frame_test
