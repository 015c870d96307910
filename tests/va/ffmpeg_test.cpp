// SPDX-License-Identifier: Apache-2.0
// FFmpeg's hardware frames: decoding by a device into dma-bufs and VA surfaces, DRM_PRIME and VAAPI AVFrames both ways.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <string_view>

#include <tenon/core/host.hpp>
#include <tenon/frameworks/dmabuf/dmabuf.hpp>
#include <tenon/frameworks/dmabuf/frame.hpp>
#include <tenon/frameworks/ffmpeg/ffmpeg.hpp>
#include <tenon/frameworks/ffmpeg/hardware.hpp>

#include <tenon/bridges/ffmpeg_vaapi/ffmpeg_vaapi.hpp>
#include <tenon/frameworks/ffmpeg/testing/clip.hpp>
#include <tenon/tests/va/va_fixture.hpp>

namespace tenon::va_test {
namespace ffmpeg_test {

namespace ff = tenon::ffmpeg;
using tenon_test::ClipSpec;

/// FFmpeg's device on the node that the program stands in for; kept, as drivers keep what they set up for a display.
const ff::HardwareDevice& device() {
  static const ff::HardwareDevice the_one = ff::HardwareDevice::open("vaapi", "/dev/dri/renderD128");
  return the_one;
}
const Context& va() {
  static const Context the_one = ffmpeg_vaapi::context(device());
  return the_one;
}

const std::string& clip() {
  static const tenon_test::Folder folder;
  static const std::string path = [] {
    ClipSpec spec;
    spec.frames = 24;
    tenon_test::make_clip(folder.file("clip.mp4"), spec);
    return folder.file("clip.mp4");
  }();
  return path;
}

class VaFfmpeg : public VaTest {
 protected:
  void SetUp() override {
    for (const char* dry : {"hardware", "surfaces"}) {  // What libraries and the driver set up on first use.
      ff::Options options;
      options.hardware = device();
      if (std::strcmp(dry, "surfaces") == 0) options.take_hardware = ffmpeg_vaapi::surfaces(va());
      ff::Video video(clip(), options);
      while (video.read()) {
      }
    }
    VaTest::SetUp();
  }
};

/// The pixels of an NV12 frame in host memory, in the order of yuv420p.
std::vector<std::uint8_t> planar(const Frame& frame) {
  std::vector<std::uint8_t> all;
  for (const std::byte value : read(frame.plane(0))) all.push_back(std::to_integer<std::uint8_t>(value));
  const std::vector<std::byte> chroma = read(frame.plane(1));
  for (std::size_t first : {0u, 1u})
    for (std::size_t i = first; i < chroma.size(); i += 2) all.push_back(std::to_integer<std::uint8_t>(chroma[i]));
  return all;
}

Router& router() {
  static Router& the_one = *[] {
    auto* made = new Router;
    for (const Context& known : {va(), dmabuf::context(), host_context()}) made->add(known);
    return made;
  }();
  return the_one;
}

TEST_F(VaFfmpeg, EncodersGetFramesOfTheirDevice) {
  const tenon_test::Folder folder;
  for (const auto& [file, format] : {std::pair{"o.mp4", kNv12}, std::pair{"o.mkv", kI420}, std::pair{"o.ts", kRgb24},
                                     std::pair{"odd.mp4", kNv12}, std::pair{"deep.mkv", kP010}}) {
    SCOPED_TRACE(std::string(file) + " of " + to_string(format));
    const bool is_odd = file[1] == 'd';
    const FrameInfo info{format, is_odd ? 319u : 320u, is_odd ? 179u : 180u, ColourSpace::kBt601,
                         format == kRgb24 ? ColourRange::kFull : ColourRange::kLimited};
    const Frame frame = Frame::allocate(info);
    for (const Tensor& plane : frame.planes())  // Grey of half the brightness.
      plane.context()->write(plane, std::vector<std::byte>(plane.size_bytes(), std::byte{128}));
    Ledger ledger;
    ff::WriterOptions options;
    options.codec = "h264_vaapi";
    options.device = "/dev/dri/renderD128";
    options.ledger = &ledger;
    ff::Writer writer(folder.file(file), info, options);
    for (int i = 0; i < 12; ++i) writer.write(frame);
    writer.finish();
    const std::size_t bytes = 320u * 180 * 3 / 2;
    EXPECT_EQ(ledger.total().transferred, is_odd ? 12u * (318 * 178 * 3 / 2) : 12 * bytes);
    EXPECT_EQ(ledger.total().converted != 0, format == kRgb24 || format == kP010);
    const auto read = tenon_test::decode_by_ffmpeg(folder.file(file));
    ASSERT_EQ(read.size(), 12u);
    ASSERT_EQ(read[5].size(), is_odd ? 318u * 178 * 3 / 2 : bytes);
    EXPECT_NEAR(read[5][100 * 318 + 50], format == kRgb24 ? 16 + 128 * 219 / 255 : 128, 2);
    EXPECT_NEAR(read[5].back(), 128, 2);
    AVFormatContext* in = nullptr;
    ASSERT_EQ(avformat_open_input(&in, folder.file(file).c_str(), nullptr, nullptr), 0);
    if (std::string_view(file).ends_with("mp4")) {
      EXPECT_GT(in->streams[0]->codecpar->extradata_size, 10) << "players read the headers there";
    }
    avformat_close_input(&in);
  }
}

TEST_F(VaFfmpeg, SaysThatTheDeviceHasNoSuchEncoder) {
  const tenon_test::Folder folder;
  ff::WriterOptions options;
  options.device = "/dev/dri/renderD128";
  std::string message;
  for (const char* codec : {"mpeg2_vaapi", "vp9_vaapi"}) {
    if (!avcodec_find_encoder_by_name(codec)) continue;
    options.codec = codec;
    EXPECT_EQ(code_of(
                  [&] {
                    ff::Writer(folder.file("o.mkv"), {kNv12, 320, 180}, options);
                  },
                  &message),
              Code::kUnimplemented)
        << message;
    EXPECT_NE(message.find("choose another encoder"), std::string::npos) << message;
  }
  options.codec = "h264_vaapi";
  options.device = "/dev/dri/renderD199";
  EXPECT_EQ(code_of(
                [&] {
                  ff::Writer(folder.file("o.mkv"), {kNv12, 320, 180}, options);
                },
                &message),
            Code::kUnavailable);
  EXPECT_NE(message.find("renderD199"), std::string::npos) << message;
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST_F(VaFfmpeg, DecodesIntoDmabufsWithoutACopy) {
  const auto expected = tenon_test::decode_by_ffmpeg(clip());
  Ledger ledger;
  ff::Options options;
  options.hardware = device();
  options.policy = ZeroCopy::kRequire;
  options.ledger = &ledger;
  ff::Video video(clip(), options);
  EXPECT_EQ(video.path(), "h264 -> vaapi");
  EXPECT_EQ(video.info().format, kNv12);
  MapOptions map;
  map.policy = ZeroCopy::kRequire;
  map.ledger = &ledger;
  std::vector<const Memory*> memories;
  std::size_t count = 0;
  for (const Frame& frame : video) {
    ASSERT_LT(count, expected.size());
    EXPECT_EQ(frame.plane(0).kind(), dmabuf::kDmabufMemory);
    EXPECT_EQ(frame.timestamp_ns(), static_cast<std::int64_t>(count) * 40'000'000);
    const Frame host = router().map(frame, host_context(), map);
    EXPECT_EQ(planar(host), expected[count]) << "picture " << count;
    EXPECT_EQ(code_of([&] { router().map(frame, host_context(), Access::kReadWrite); }), Code::kPermissionDenied)
        << "the decoder still reads it";
    if (std::find(memories.begin(), memories.end(), frame.plane(0).memory().get()) == memories.end())
      memories.push_back(frame.plane(0).memory().get());
    ++count;
  }
  EXPECT_EQ(count, expected.size());
  EXPECT_LT(memories.size(), count) << "surfaces that recur are imported once";
  EXPECT_EQ(ledger.total().copied, 0u);
  EXPECT_EQ(ledger.total().converted, 0u);
}

TEST_F(VaFfmpeg, DecodesIntoSurfaces) {
  const auto expected = tenon_test::decode_by_ffmpeg(clip());
  ff::Options options;
  options.hardware = device();
  options.take_hardware = ffmpeg_vaapi::surfaces(va());
  Ledger ledger;
  MapOptions map;
  map.policy = ZeroCopy::kRequire;
  map.ledger = &ledger;
  ff::Video video(clip(), options);
  vaapi::Processor half(va(), {kRgbx, 160, 90});
  std::size_t count = 0;
  for (const Frame& frame : video) {
    EXPECT_EQ(frame.plane(0).kind(), vaapi::kVaapiMemory);
    EXPECT_NE(vaapi::surface(frame), VA_INVALID_SURFACE);
    EXPECT_EQ(planar(router().map(frame, host_context(), map)), expected[count]) << "picture " << count;
    const Frame small = half.run(frame, {}, default_deadline(), &ledger);
    EXPECT_EQ(small.timestamp_ns(), frame.timestamp_ns());
    ++count;
  }
  EXPECT_EQ(count, expected.size());
  EXPECT_EQ(ledger.total().copied, 0u);
  EXPECT_EQ(ledger.total().converted, count * expected[0].size());
}

TEST_F(VaFfmpeg, FramesOutliveTheVideoAndItsDevice) {
  std::vector<Frame> kept;
  std::vector<std::vector<std::uint8_t>> expected = tenon_test::decode_by_ffmpeg(clip());
  {
    ff::Options options;
    options.hardware = ff::HardwareDevice::open("vaapi", "/dev/dri/renderD128");
    ff::Video video(clip(), options);
    for (int i = 0; i < 8; ++i) kept.push_back(*video.read());
    options.take_hardware = ffmpeg_vaapi::surfaces(ffmpeg_vaapi::context(options.hardware));
    ff::Video other(clip(), options);
    for (int i = 0; i < 8; ++i) kept.push_back(*other.read());
  }
  for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(planar(kept[i]), expected[i % 8]);
}

TEST_F(VaFfmpeg, HoldingTooManyFramesIsAnError) {
  ff::Options options;
  options.hardware = device();
  options.hardware_frames = 2;
  ff::Video video(clip(), options);
  std::vector<Frame> held_frames;
  std::string message;
  EXPECT_EQ(code_of(
                [&] {
                  while (auto frame = video.read()) held_frames.push_back(*std::move(frame));
                },
                &message),
            Code::kResourceExhausted);
  EXPECT_NE(message.find("hardware_frames"), std::string::npos) << message;
}

TEST_F(VaFfmpeg, FollowsAStreamThatChangesSize) {
  const tenon_test::Folder folder;
  std::vector<std::vector<std::uint8_t>> expected;
  std::ofstream both(folder.file("both.h264"), std::ios::binary);
  for (const auto& [width, height] : {std::pair{320, 180}, std::pair{176, 144}, std::pair{640, 360}}) {
    ClipSpec spec;
    spec.width = width;
    spec.height = height;
    spec.frames = 5;
    const std::string part = folder.file("part" + std::to_string(width) + ".h264");
    tenon_test::make_clip(part, spec, "bf=0");
    both << std::ifstream(part, std::ios::binary).rdbuf();
    for (auto& picture : tenon_test::decode_by_ffmpeg(part)) expected.push_back(std::move(picture));
  }
  both.close();
  for (const bool surfaces : {false, true}) {
    ff::Options options;
    options.hardware = device();
    if (surfaces) options.take_hardware = ffmpeg_vaapi::surfaces(va());
    ff::Video video(folder.file("both.h264"), options);
    std::vector<Frame> kept;  // Frames of the size before are kept while the next is decoded.
    for (const Frame& frame : video) kept.push_back(frame);
    ASSERT_EQ(kept.size(), expected.size());
    for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(planar(kept[i]), expected[i]) << "picture " << i;
    EXPECT_EQ(kept.front().info().width_px, 320u);
    EXPECT_EQ(kept.back().info().width_px, 640u);
  }
}

TEST_F(VaFfmpeg, RefusesWhatTheDeviceDoesNotDecode) {
  const tenon_test::Folder folder;
  ff::Options options;
  options.hardware = device();
  ClipSpec spec;
  spec.frames = 3;
  spec.format = AV_PIX_FMT_YUV444P;
  tenon_test::make_clip(folder.file("444.mp4"), spec);
  std::string message;
  EXPECT_EQ(code_of([&] { ff::Video(folder.file("444.mp4"), options).read(); }, &message), Code::kUnimplemented);
  EXPECT_NE(message.find("4:4:4"), std::string::npos) << message;
  spec.codec = "rawvideo";
  spec.format = AV_PIX_FMT_YUV420P;
  tenon_test::make_clip(folder.file("raw.nut"), spec);
  EXPECT_EQ(code_of([&] { ff::Video(folder.file("raw.nut"), options); }), Code::kUnimplemented);
  EXPECT_EQ(code_of([&] { ff::Video(clip(), options).use_pool(); }), Code::kFailedPrecondition);
  EXPECT_EQ(code_of([] { ff::HardwareDevice::open("none such"); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([] { ff::HardwareDevice::open("vaapi", "/dev/null"); }), Code::kUnavailable);
  EXPECT_EQ(code_of([] { ff::HardwareDevice::wrap(nullptr); }), Code::kInvalidArgument);
}

TEST_F(VaFfmpeg, DamagedStreamsEndAndLeaveNothing) {
  const tenon_test::Folder folder;
  std::ifstream whole(clip(), std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(whole)), {});
  for (std::size_t i = bytes.size() / 2; i < bytes.size() / 2 + 2000; ++i) bytes[i] = static_cast<char>(i * 37);
  std::ofstream(folder.file("damaged.mp4"), std::ios::binary) << bytes;
  for (const bool surfaces : {false, true}) {
    ff::Options options;
    options.hardware = device();
    if (surfaces) options.take_hardware = ffmpeg_vaapi::surfaces(va());
    ff::Video video(folder.file("damaged.mp4"), options);
    std::size_t count = 0;
    code_of([&] {
      while (video.read()) ++count;
    });
    EXPECT_GT(count, 4u);
  }
}

/// By the CPU's decoder, into dma-bufs, into surfaces.
TEST_F(VaFfmpeg, FollowsAStreamThatChangesItsColours) {
  const tenon_test::Folder folder;
  ClipSpec spec;
  spec.frames = 6;
  spec.muxer = "h264";
  std::ofstream both(folder.file("both.h264"), std::ios::binary);
  for (const auto& [space, range] :
       {std::pair(AVCOL_SPC_SMPTE170M, AVCOL_RANGE_MPEG), std::pair(AVCOL_SPC_BT709, AVCOL_RANGE_MPEG),
        std::pair(AVCOL_SPC_BT709, AVCOL_RANGE_JPEG)}) {
    spec.space = space;
    spec.range = range;
    tenon_test::make_clip(folder.file("part.h264"), spec);
    both << std::ifstream(folder.file("part.h264"), std::ios::binary).rdbuf();
  }
  both.close();
  for (const std::string by : {"cpu", "dma-bufs", "surfaces"}) {
    ff::Options options;
    if (by != "cpu") options.hardware = device();
    if (by == "surfaces") options.take_hardware = ffmpeg_vaapi::surfaces(va());
    ff::Video video(folder.file("both.h264"), options);
    std::size_t count = 0;
    for (const Frame& frame : video) {
      const std::size_t part = count++ / 6;
      EXPECT_EQ(frame.info().colour_space, part == 0 ? ColourSpace::kBt601 : ColourSpace::kBt709) << by << count;
      EXPECT_EQ(frame.info().colour_range, part == 2 ? ColourRange::kFull : ColourRange::kLimited) << by << count;
      EXPECT_EQ(video.info(), frame.info());
    }
    EXPECT_EQ(count, 18u) << by;
  }
}

/// A picture of our own in dma-bufs.
Frame painted(const FrameInfo& info, unsigned seed) {
  Requirements wanted;
  wanted.pitch_alignment = 64;
  wanted.size_bytes = Frame::size_bytes_for(info, wanted);
  const Frame frame = Frame::over(info, dmabuf::context()->allocate(wanted), wanted);
  paint(frame, seed);
  return frame;
}

TEST_F(VaFfmpeg, DmabufsAreDrmPrimeFramesBothWays) {
  FrameInfo info{kNv12, 64, 48};
  info.colour_space = ColourSpace::kBt709;
  Frame source = painted(info, 21);
  source.set_timestamp_ns(7);
  ff::FramePtr drm = ff::drm_frame(source);
  EXPECT_EQ(drm->format, AV_PIX_FMT_DRM_PRIME);
  const Frame back = ff::wrap(drm.get());
  EXPECT_EQ(back.info(), info);
  EXPECT_EQ(back.timestamp_ns(), 7);
  EXPECT_EQ(back.plane(0).memory()->identity(), source.plane(0).memory()->identity());
  expect_painted(back, 21);
  source = {};
  drm.reset();
  expect_painted(back, 21);
  // FFmpeg takes them as VAAPI frames, by its own import.
  const Frame again = painted(info, 22);
  drm = ff::drm_frame(again);
  AVBufferRef* frames = nullptr;
  ASSERT_GE(av_hwframe_ctx_create_derived(&frames, AV_PIX_FMT_VAAPI, device().buffer(), drm->hw_frames_ctx,
                                          AV_HWFRAME_MAP_READ),
            0);
  {
    ff::FramePtr surface(av_frame_alloc());
    surface->format = AV_PIX_FMT_VAAPI;
    surface->hw_frames_ctx = av_buffer_ref(frames);
    ASSERT_GE(av_hwframe_map(surface.get(), drm.get(), AV_HWFRAME_MAP_READ), 0);
    expect_painted(ffmpeg_vaapi::wrap(va(), surface.get()), 22);
  }
  av_buffer_unref(&frames);
  EXPECT_EQ(code_of([&] { ff::drm_frame(Frame()); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { ff::drm_frame(Frame::allocate(info)); }), Code::kInvalidArgument);
}

TEST_F(VaFfmpeg, WrongDescriptorsAreRefused) {
  const Frame source = painted({kNv12, 64, 48}, 23);
  const auto broken = [&](auto change) {
    const ff::FramePtr drm = ff::drm_frame(source);
    auto* about = reinterpret_cast<AVDRMFrameDescriptor*>(drm->data[0]);
    change(*about, *drm);
    return code_of([&] { ff::wrap(drm.get()); });
  };
  using Drm = AVDRMFrameDescriptor;
  EXPECT_EQ(broken([](Drm& drm, AVFrame&) { drm.nb_objects = 0; }), Code::kInvalidArgument);
  EXPECT_EQ(broken([](Drm& drm, AVFrame&) { drm.nb_layers = 9; }), Code::kInvalidArgument);
  EXPECT_EQ(broken([](Drm& drm, AVFrame&) { drm.layers[0].planes[1].pitch = 16; }), Code::kInvalidArgument);
  EXPECT_EQ(broken([](Drm& drm, AVFrame&) { drm.layers[0].planes[1].offset = -1; }), Code::kInvalidArgument);
  EXPECT_EQ(broken([](Drm& drm, AVFrame&) { drm.layers[0].planes[1].offset = 1 << 20; }), Code::kOutOfRange);
  EXPECT_EQ(broken([](Drm& drm, AVFrame&) { drm.layers[0].planes[1].object_index = 3; }), Code::kInvalidArgument);
  EXPECT_EQ(broken([](Drm& drm, AVFrame&) { drm.layers[0].nb_planes = 1; }), Code::kInvalidArgument);
  EXPECT_EQ(broken([](Drm& drm, AVFrame&) { drm.objects[0].fd = -1; }), Code::kInvalidArgument);
  EXPECT_EQ(broken([](Drm& drm, AVFrame& frame) {
              av_buffer_unref(&frame.hw_frames_ctx);
              drm.layers[0].format = 0x12345678;
            }),
            Code::kUnimplemented);
  EXPECT_EQ(code_of([&] { ffmpeg_vaapi::wrap(va(), ff::drm_frame(source).get()); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { ffmpeg_vaapi::wrap(va(), nullptr); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([] { ffmpeg_vaapi::context({}); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([] { ffmpeg_vaapi::device(host_context()); }), Code::kInvalidArgument);
}

TEST_F(VaFfmpeg, SurfacesAreVaapiFramesBothWays) {
  const FrameInfo info{kNv12, 64, 48};
  const Frame surface = vaapi::allocate(va(), info);
  paint(surface, 24);
  const ffmpeg_vaapi::HardwareFrames frames(va(), info);
  const ff::FramePtr given = frames.av_frame(surface);
  // FFmpeg's own download shows what it sees.
  ff::FramePtr host(av_frame_alloc());
  host->format = AV_PIX_FMT_NV12;
  ASSERT_GE(av_hwframe_transfer_data(host.get(), given.get(), 0), 0);
  expect_painted(ff::wrap(host.get()), 24);
  EXPECT_EQ(vaapi::surface(ffmpeg_vaapi::wrap(va(), given.get())), vaapi::surface(surface));
  EXPECT_EQ(code_of([&] { frames.av_frame(Frame::allocate(info)); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { frames.av_frame(vaapi::allocate(va(), {kNv12, 640, 48})); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { frames.av_frame(vaapi::allocate(context(), info)); }), Code::kInvalidArgument)
      << "another display";
  EXPECT_EQ(code_of([&] { ffmpeg_vaapi::wrap(context(), given.get()); }), Code::kInvalidArgument) << "another display";
  // A frame that FFmpeg's pool made.
  ff::FramePtr pooled(av_frame_alloc());
  ASSERT_GE(av_hwframe_get_buffer(frames.buffer(), pooled.get(), 0), 0);
  paint(ffmpeg_vaapi::wrap(va(), pooled.get()), 25);
  expect_painted(ff::wrap(pooled.get()), 25);
}

}  // namespace ffmpeg_test
}  // namespace tenon::va_test
