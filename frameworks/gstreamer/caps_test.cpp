// SPDX-License-Identifier: Apache-2.0
// Caps both ways: every format, colours, rates, memory features, drm-format, audio; and caps that are wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <sstream>
#include <string>

#include <tenon/frameworks/gstreamer/caps.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace caps_test {

using namespace tenon;
namespace gs = tenon::gstreamer;
/// The message that `body` throws.
template <typename Body>
std::string why(Body&& body) {
  return tenon::error_of(std::forward<Body>(body)).what();
}

gs::CapsPtr parsed(const char* text) {
  gs::start();
  return gs::CapsPtr(gst_caps_from_string(text));
}

TEST(Caps, AreReadAndWrittenForEveryFormat) {
  gs::start();
  std::size_t count = 0;
  const PixelFormatInfo* formats = all_formats(count);
  std::size_t known = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (!gs::find_mapping(formats[i].format)) continue;  // FFmpeg's.
    ++known;
    for (const auto& [width, height] : {std::pair{640u, 480u}, std::pair{1921u, 1081u}, std::pair{1u, 1u}}) {
      FrameInfo info{formats[i].format, width, height};
      if (formats[i].model == ColourModel::kYuv)
        info.colour_space = ColourSpace::kBt709, info.colour_range = ColourRange::kLimited;
      const gs::CapsPtr caps = gs::caps(info);
      FrameInfo back = gs::video_caps(caps.get()).info;
      if (formats[i].model != ColourModel::kYuv) back.colour_space = {}, back.colour_range = {};
      EXPECT_EQ(back, info) << formats[i].name;
    }
  }
  EXPECT_EQ(known, std::size(gs::detail::kMappings));
}

/// docs/guide/gstreamer.md says how many of how many.
TEST(Caps, OfEveryOtherFormatAreRefusedByName) {
  gs::start();
  std::istringstream names(GST_VIDEO_FORMATS_ALL);  // "{ A, B }"
  std::size_t all = 0, taken = 0;
  for (std::string format; names >> format;) {
    format.erase(std::remove(format.begin(), format.end(), ','), format.end());
    if (format == "{" || format == "}" || format == "DMA_DRM") continue;
    ++all;
    const gs::CapsPtr caps = parsed(("video/x-raw,width=64,height=48,format=" + format).c_str());
    if (gs::find_mapping(gst_video_format_from_string(format.c_str()))) {
      EXPECT_NO_THROW(gs::video_caps(caps.get())) << format;
      ++taken;
    } else {
      const std::string message = why([&] { gs::video_caps(caps.get()); });
      EXPECT_NE(message.find(format), std::string::npos) << format << ": " << message;
      EXPECT_NE(message.find("videoconvert"), std::string::npos) << format << ": " << message;
    }
  }
  EXPECT_EQ(taken, std::size(gs::detail::kMappings)) << "a line of the table that GStreamer does not list";
  EXPECT_EQ(taken, 96u);
#if GST_CHECK_VERSION(1, 22, 0) && !GST_CHECK_VERSION(1, 24, 0)
  EXPECT_EQ(all, 111u);
#endif
  EXPECT_GT(all, taken);
}

TEST(Caps, PlanesAreThoseOfGStreamer) {
  gs::start();
  for (const gs::FormatMapping& mapping : gs::detail::kMappings) {
    for (const auto& [width, height] : {std::pair{640u, 480u}, std::pair{321u, 241u}}) {
      GstVideoInfo video;
      ASSERT_TRUE(gst_video_info_set_format(&video, mapping.gst, width, height));
      const FrameInfo info{mapping.format, width, height};
      const PixelFormatInfo& format = format_info(mapping.format);
      ASSERT_EQ(GST_VIDEO_INFO_N_PLANES(&video), format.plane_count) << format.name;
      for (std::size_t p = 0; p < format.plane_count; ++p) {
        const PlaneExtent extent = plane_extent(info, p);
        EXPECT_GE(static_cast<std::size_t>(video.stride[p]), extent.row_bytes) << format.name << " plane " << p;
        const std::size_t end = p + 1 < format.plane_count ? video.offset[p + 1] : video.size;
        EXPECT_LE(video.offset[p] + static_cast<std::size_t>(video.stride[p]) * extent.height_px, end)
            << format.name << " plane " << p;
      }
    }
  }
}

TEST(Caps, KeepWhatNothingHereInterprets) {
  const gs::CapsPtr caps = parsed(
      "video/x-raw,format=NV12,width=1920,height=1080,framerate=30/1,pixel-aspect-ratio=1/1,interlace-mode=mixed,"
      "field-order=top-field-first,colorimetry=bt2100-pq,multiview-mode=side-by-side,"
      "multiview-flags=0:ffffffff:/right-view-first,views=(int)2,chroma-site=mpeg2,max-framerate=60/1");
  gs::VideoCaps video = gs::video_caps(caps.get());
  EXPECT_TRUE(gst_caps_is_equal(gs::caps(video).get(), caps.get())) << gs::detail::describe(gs::caps(video).get());
  // What the new picture contradicts goes.
  video.info.format = kRgb24;
  video.info.colour_space = ColourSpace::kUnknown, video.info.colour_range = ColourRange::kFull;
  video.interlaced = false;
  const gs::CapsPtr other = gs::caps(video);
  const GstStructure* const fields = gst_caps_get_structure(other.get(), 0);
  EXPECT_STREQ(gst_structure_get_string(fields, "multiview-mode"), "side-by-side");
  EXPECT_STREQ(gst_structure_get_string(fields, "interlace-mode"), "progressive");
  EXPECT_FALSE(gst_structure_has_field(fields, "field-order"));
  EXPECT_FALSE(gst_structure_has_field(fields, "chroma-site"));
  EXPECT_EQ(gs::video_caps(other.get()).info.colour_range, ColourRange::kFull);
}

TEST(Caps, SayColourRateAspectAndFields) {
  const gs::CapsPtr caps = parsed(
      "video/x-raw,format=NV12,width=1920,height=1080,framerate=30000/1001,pixel-aspect-ratio=4/3,"
      "interlace-mode=interleaved,colorimetry=bt2020");
  const gs::VideoCaps video = gs::video_caps(caps.get());
  EXPECT_EQ(video.info, (FrameInfo{kNv12, 1920, 1080, ColourSpace::kBt2020, ColourRange::kLimited}));
  EXPECT_EQ(video.rate_num, 30000);
  EXPECT_EQ(video.rate_den, 1001);
  EXPECT_EQ(video.aspect_num, 4);
  EXPECT_EQ(video.aspect_den, 3);
  EXPECT_TRUE(video.interlaced);
  EXPECT_TRUE(video.memory.empty());
  const gs::VideoCaps again = gs::video_caps(gs::caps(video).get());
  EXPECT_EQ(again.info, video.info);
  EXPECT_EQ(again.rate_num, 30000);
  EXPECT_TRUE(again.interlaced);
}

TEST(Caps, ColoursComeBackInEveryCombination) {
  gs::start();
  for (ColourSpace space : {ColourSpace::kBt601, ColourSpace::kBt709, ColourSpace::kBt2020}) {
    for (ColourRange range : {ColourRange::kLimited, ColourRange::kFull}) {
      const FrameInfo info{kI420, 320, 240, space, range};
      EXPECT_EQ(gs::video_caps(gs::caps(info).get()).info, info);
    }
  }
}

TEST(Caps, WithoutColoursMeanGStreamersDefaults) {
  EXPECT_EQ(gs::video_caps(parsed("video/x-raw,format=I420,width=640,height=480").get()).info.colour_space,
            ColourSpace::kBt601);
  EXPECT_EQ(gs::video_caps(parsed("video/x-raw,format=I420,width=1920,height=1080").get()).info.colour_space,
            ColourSpace::kBt709);
  EXPECT_EQ(gs::video_caps(parsed("video/x-raw,format=RGB,width=64,height=48").get()).info.colour_range,
            ColourRange::kFull);
}

TEST(Caps, MemoryFeaturesAndDrmFormatsComeBack) {
  const gs::VideoCaps va = gs::video_caps(parsed("video/x-raw(memory:VAMemory),format=NV12,width=64,height=48").get());
  EXPECT_EQ(va.memory, "memory:VAMemory");
  EXPECT_EQ(gs::video_caps(gs::caps(va).get()).memory, "memory:VAMemory");

  const gs::CapsPtr tiled = parsed(
      "video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=NV12:0x0100000000000002,width=64,height=48,framerate=25/1");
  const gs::VideoCaps video = gs::video_caps(tiled.get());
  EXPECT_EQ(video.memory, "memory:DMABuf");
  EXPECT_EQ(video.info.format, (PixelFormat{kNv12.fourcc, 0x0100000000000002ull}));
  EXPECT_EQ(video.rate_num, 25);
  const gs::CapsPtr back = gs::caps(video);
  EXPECT_STREQ(gst_structure_get_string(gst_caps_get_structure(back.get(), 0), "drm-format"),
               "NV12:0x0100000000000002");
  EXPECT_EQ(gs::video_caps(back.get()).info, video.info);

  const gs::CapsPtr linear = parsed("video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=AB24,width=64,height=48");
  EXPECT_EQ(gs::video_caps(linear.get()).info.format, kRgba);
  // GStreamer 1.22 and earlier write linear dma-bufs without drm-format.
  const gs::CapsPtr old = parsed("video/x-raw(memory:DMABuf),format=NV12,width=64,height=48");
  EXPECT_EQ(gs::video_caps(old.get()).memory, "memory:DMABuf");
  const gs::CapsPtr written = gs::caps(gs::video_caps(linear.get()));
  EXPECT_EQ(gs::video_caps(written.get()).info.format, kRgba);
  EXPECT_EQ(gs::video_caps(written.get()).memory, "memory:DMABuf");
  EXPECT_STREQ(gst_structure_get_string(gst_caps_get_structure(written.get(), 0), "format"),
               GST_CHECK_VERSION(1, 24, 0) ? "DMA_DRM" : "RGBA");
}

#if GST_CHECK_VERSION(1, 24, 0)
TEST(Caps, FourccsAreThoseOfGStreamer) {
  gs::start();
  for (const gs::FormatMapping& mapping : gs::detail::kMappings) {
    const guint32 theirs = gst_video_dma_drm_fourcc_from_format(mapping.gst);
    if (theirs == 0) continue;
    EXPECT_EQ(theirs, mapping.format.fourcc) << gst_video_format_to_string(mapping.gst);
  }
}
#endif

TEST(Caps, CacheParsesOnceAndFollowsChanges) {
  gs::CapsCache cache;
  const gs::CapsPtr first = parsed("video/x-raw,format=NV12,width=640,height=480");
  const gs::VideoCaps* const parsed_first = &cache.of(first.get());
  EXPECT_EQ(parsed_first->info.width_px, 640u);
  EXPECT_EQ(&cache.of(first.get()), parsed_first);
  const gs::CapsPtr second = parsed("video/x-raw,format=RGB,width=320,height=240");
  EXPECT_EQ(cache.of(second.get()).info, gs::video_caps(second.get()).info);
  EXPECT_EQ(cache.of(first.get()).info.format, kNv12);
  // A failure leaves what was known.
  EXPECT_THROW(cache.of(parsed("audio/x-raw").get()), Error);
  EXPECT_EQ(cache.of(first.get()).info.width_px, 640u);
}

TEST(Caps, ThatAreWrongAreRefusedWithTheReason) {
  const std::pair<const char*, const char*> wrong[] = {
      {"video/x-h264,width=640,height=480", "video/x-raw"},
      {"audio/x-raw,format=S16LE,rate=8000,channels=1,layout=interleaved", "video/x-raw"},
      {"video/x-raw,format={NV12,RGB},width=640,height=480", "not fixed"},
      {"video/x-raw,format=NV12,width=[1,640],height=480", "not fixed"},
      {"video/x-raw,format=NV12,width=640", "width and height"},
      {"video/x-raw,width=640,height=480", "format"},
      {"video/x-raw,format=NOPE,width=640,height=480", "NOPE"},
      {"video/x-raw,format=NV12,width=-3,height=480", ""},
      {"video/x-raw,format=NV12,width=0,height=480", ""},
      {"video/x-raw,format=NV12,width=2147483647,height=480", ""},
      {"video/x-raw,format=v210,width=640,height=480", "videoconvert"},
      {"video/x-raw(format:Interlaced),format=NV12,width=640,height=480,interlace-mode=alternate", "deinterlace"},
      {"video/x-raw(memory:DMABuf),format=DMA_DRM,width=640,height=480", "drm-format"},
      {"video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=NV12:0xzz,width=640,height=480", "NV12:0xzz"},
      {"video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=LONGER,width=640,height=480", "LONGER"},
      {"video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=XX99,width=640,height=480", "does not know"},
  };
  for (const auto& [text, reason] : wrong) {
    const gs::CapsPtr caps = parsed(text);
    ASSERT_TRUE(caps) << text;
    const std::string message = why([&] { gs::video_caps(caps.get()); });
    EXPECT_FALSE(message.empty()) << text << ": taken";
    EXPECT_NE(message.find(reason), std::string::npos) << text << ": " << message;
  }
  EXPECT_FALSE(why([] { gs::video_caps(static_cast<const GstCaps*>(nullptr)); }).empty());
}

TEST(Caps, ThatCannotBeWrittenAreRefused) {
  gs::start();
  gs::VideoCaps video;
  video.info = {PixelFormat{fourcc('X', 'X', '9', '9')}, 64, 48};
  EXPECT_FALSE(why([&] { gs::caps(video); }).empty());
  video.info = {kNv12, 64, 48};
  video.rate_den = 0;
  EXPECT_FALSE(why([&] { gs::caps(video); }).empty());
}

TEST(AudioCaps, AreReadAndWrittenForEverySampleType) {
  gs::start();
  for (const gs::detail::SampleMapping& mapping : gs::detail::kSamples) {
    for (std::uint32_t channels : {1u, 2u, 6u}) {
      for (bool planar : {false, true}) {
        const AudioInfo info{mapping.type, channels, 48000, planar};
        EXPECT_EQ(gs::audio_info(gs::caps(info).get()), info) << name(mapping.type) << " " << channels;
      }
    }
  }
}

TEST(AudioCaps, ThatAreWrongAreRefusedWithTheReason) {
  const std::pair<const char*, const char*> wrong[] = {
      {"video/x-raw,format=NV12,width=64,height=48", "audio/x-raw"},
      {"audio/x-raw,format=S24LE,rate=48000,channels=2,layout=interleaved", "audioconvert"},
      {"audio/x-raw,format=S16BE,rate=48000,channels=2,layout=interleaved", "audioconvert"},
      {"audio/x-raw,format=S16LE,channels=2,layout=interleaved", "rate"},
      {"audio/x-raw,format=S16LE,rate=48000,channels=6,layout=interleaved", "channel-mask"},
      {"audio/x-raw,format=S16LE,rate=[1,48000],channels=2,layout=interleaved", "not fixed"},
  };
  for (const auto& [text, reason] : wrong) {
    const std::string message = why([&] { gs::audio_info(parsed(text).get()); });
    EXPECT_NE(message.find(reason), std::string::npos) << text << ": " << message;
    EXPECT_FALSE(message.empty()) << text;
  }
  EXPECT_FALSE(why([] { gs::caps(AudioInfo{}); }).empty());
  EXPECT_FALSE(why([] { gs::caps(AudioInfo{ElementType::kF16, 2, 48000, false}); }).empty());
}

}  // namespace caps_test
