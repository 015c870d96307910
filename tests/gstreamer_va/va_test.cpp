// SPDX-License-Identifier: Apache-2.0
// Frames of vah264dec in each of the memories that it offers, beside software decoding of the same clip.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include <tenon/bridges/gstreamer_vaapi/gstreamer_vaapi.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/router.hpp>
#include <tenon/frameworks/cpu/cpu.hpp>
#include <tenon/frameworks/ffmpeg/ffmpeg.hpp>
#include <tenon/frameworks/vaapi/vaapi.hpp>
#include <tenon/tests/gstreamer_va/va_elements.hpp>
#include <tenon/tests/support/error_of.hpp>
#ifdef TEST_DEVICES
#include <tenon/runtime/runtime.hpp>
#include <tenon/vision/decode.hpp>
#endif

namespace va_test {

using namespace tenon;
using namespace tenon::gstreamer_testing;
using namespace tenon::gstreamer_va_test;

const std::size_t kFrames = expects_dmabufs() ? 3 : 12;  // The VM is emulated.

/// The picture's planes as packed I420, whatever lies between their rows.
std::vector<std::uint8_t> packed(const Frame& frame) {
  std::vector<std::uint8_t> bytes;
  const bool pairs = frame.plane_count() == 2;
  const auto append = [&](const Tensor& plane, std::size_t first, std::size_t step, std::size_t columns) {
    for (std::size_t y = 0; y < plane.shape()[0]; ++y) {
      const auto* row =
          static_cast<const std::uint8_t*>(plane.data()) + y * static_cast<std::size_t>(plane.byte_strides()[0]);
      for (std::size_t x = 0; x < columns; ++x) bytes.push_back(row[first + x * step]);
    }
  };
  append(frame.plane(0), 0, 1, frame.plane(0).shape()[1]);
  const std::size_t columns = frame.plane(1).shape()[1];
  append(frame.plane(1), 0, pairs ? 2 : 1, columns);
  append(frame.plane(pairs ? 1 : 2), pairs ? 1 : 0, pairs ? 2 : 1, columns);
  return bytes;
}

/// Decodes into `caps` and compares with software. @return the kind of the frames' memory
std::string decode(Router& router, const std::string& caps, const MapOptions& options) {
  Pipeline pipeline(decoding(caps));
  gs::PoolOptions offered;
  gs::offer_pool(pipeline.sink(), offered);
  pipeline.play();
  ffmpeg::Video software(clip());
  gs::CapsCache cache;
  std::string kind;
  for (std::size_t i = 0; i < kFrames; ++i) {
    const SamplePtr sample = pipeline.pull();
    const std::optional<Frame> expected = software.read();
    if (!sample || !expected) {
      ADD_FAILURE() << caps << ": the stream ends at frame " << i;
      break;
    }
    const Frame frame = gs::wrap(sample.get(), cache);
    EXPECT_EQ(frame.info().format, kNv12) << caps;
    kind = frame.plane(0).kind().name();
    if (expects_dmabufs() && kind == "dmabuf") {
      EXPECT_FALSE(dmabuf::is_stand_in(frame.plane(0))) << "this kernel has dma-bufs";
    }
    EXPECT_EQ(packed(router.map(frame, host_context(), options)), packed(*expected)) << caps << " frame " << i;
  }
  return kind;
}

TEST_F(VaElements, DmabufsAreSharedWithoutACopy) {
  Ledger ledger;
  MapOptions options;
  options.policy = ZeroCopy::kRequire;
  options.ledger = &ledger;
  EXPECT_EQ(decode(router, "video/x-raw(memory:DMABuf),format=NV12", options), "dmabuf");
  EXPECT_EQ(ledger.total().copied + ledger.total().transferred, 0u);
}

TEST_F(VaElements, SurfacesAreFetchedAndBooked) {
  Ledger ledger;
  MapOptions options;
  options.ledger = &ledger;
  EXPECT_EQ(decode(router, "video/x-raw(memory:VAMemory),format=NV12", options), "gstreamer.device");
  EXPECT_GT(ledger.total().transferred, 0u);
}

TEST_F(VaElements, SystemMemoryIsRead) {
  Ledger ledger;
  MapOptions options;
  options.ledger = &ledger;
  decode(router, "video/x-raw,format=NV12", options);
}

TEST_F(VaElements, SurfacesAreFramesOfTheirDisplay) {
  Pipeline pipeline(decoding("video/x-raw(memory:VAMemory),format=NV12"));
  pipeline.play();
  ffmpeg::Video software(clip());
  gs::CapsCache cache;
  gstreamer_vaapi::Surfaces surfaces;
  Ledger ledger;
  MapOptions options;
  options.policy = ZeroCopy::kRequire;
  options.ledger = &ledger;
  std::atomic<int> ended{0};
  for (std::size_t i = 0; i < kFrames; ++i) {
    SamplePtr sample = pipeline.pull();
    const std::optional<Frame> expected = software.read();
    ASSERT_TRUE(sample && expected) << i;
    GstBuffer* const buffer = gst_sample_get_buffer(sample.get());
    count_end(buffer, ended);
    const Frame frame = surfaces.wrap(buffer, cache.of(gst_sample_get_caps(sample.get())));
    EXPECT_EQ(frame.timestamp_ns(), static_cast<std::int64_t>(GST_BUFFER_PTS(buffer)));
    const int before = ended;
    sample.reset();
    EXPECT_EQ(ended, before) << "the frame holds the decoder's buffer";
    EXPECT_EQ(frame.plane(0).context(), surfaces.context());
    EXPECT_NE(vaapi::surface(frame), VA_INVALID_SURFACE);
    if (i == 0) router.add(surfaces.context());
    EXPECT_EQ(router.map(frame, dmabuf::context(), options).plane(0).kind(), dmabuf::kDmabufMemory);
    EXPECT_EQ(packed(router.map(frame, host_context(), options)), packed(*expected)) << i;
  }
  EXPECT_EQ(ledger.total().copied + ledger.total().transferred, 0u);
}

TEST_F(VaElements, DmabufsBecomeSurfacesAgain) {
  Pipeline pipeline(decoding("video/x-raw(memory:DMABuf),format=NV12"));
  pipeline.play();
  const Context display = vaapi::open();
  router.add(display);
  gs::CapsCache cache;
  Ledger ledger;
  MapOptions options;
  options.policy = ZeroCopy::kRequire;
  options.ledger = &ledger;
  const SamplePtr sample = pipeline.pull();
  ASSERT_TRUE(sample);
  const Frame surface = router.map(gs::wrap(sample.get(), cache), display, options);
  EXPECT_NE(vaapi::surface(surface), VA_INVALID_SURFACE);
  EXPECT_EQ(packed(router.map(surface, host_context(), options)), packed(*ffmpeg::Video(clip()).read()));
  EXPECT_EQ(ledger.total().copied + ledger.total().transferred, 0u);
}

#ifdef TEST_DEVICES
/// What a model finds in frames; none of them may be copied on the way.
std::vector<vision::Detection> detect(InferRequest& request, vision::Decoder& decoder, const Frame& frame) {
  request.set_frame(frame);
  request.infer();
  return vision::detections(request, decoder);
}

TEST_F(VaElements, DecodedSurfacesReachModelsWithoutACopy) {
  ffmpeg::Video software(clip());
  std::vector<Frame> expected;
  for (std::size_t i = 0; i < kFrames; ++i) expected.push_back(*software.read());
  FrameInfo info = expected[0].info();
  Core core;
  const auto model = core.read_model(std::string(std::getenv("TENON_MODELS")) + "/demo.onnx");
  vision::Decoder decoder(vision::decode_options(*model, info));
  CompiledModel reference = core.compile_model(model, "CPU", input_frames(info));
  InferRequest reference_request = reference.create_infer_request();
  FrameInfo nv12 = info;
  nv12.format = kNv12;
  std::istringstream devices(TEST_DEVICES);
  for (std::string device; devices >> device;) {
    CompiledModel compiled = core.compile_model(model, device, input_frames(nv12), zero_copy(ZeroCopy::kRequire));
    InferRequest request = compiled.create_infer_request();
    Pipeline pipeline(decoding("video/x-raw(memory:DMABuf),format=NV12"));
    pipeline.play();
    gs::CapsCache cache;
    const std::uint64_t copied = Ledger::process().total().copied;
    std::size_t objects = 0;
    std::vector<std::vector<vision::Detection>> found;
    for (std::size_t i = 0; i < kFrames; ++i) {
      const SamplePtr sample = pipeline.pull();
      ASSERT_TRUE(sample) << device;
      found.push_back(detect(request, decoder, gs::wrap(sample.get(), cache)));
    }
    EXPECT_EQ(Ledger::process().total().copied, copied) << device;
    for (std::size_t i = 0; i < kFrames; ++i) {
      const auto wanted = detect(reference_request, decoder, expected[i]);
      ASSERT_EQ(found[i].size(), wanted.size()) << device << " frame " << i;
      for (std::size_t k = 0; k < wanted.size(); ++k) {
        EXPECT_EQ(found[i][k].label_id, wanted[k].label_id) << device;
        EXPECT_NEAR(found[i][k].box.x1, wanted[k].box.x1, 4) << device;
      }
      objects += wanted.size();
    }
    EXPECT_GT(objects, 0u);
  }
}
#endif

TEST_F(VaElements, WhatIsNoSurfaceIsRefused) {
  gstreamer_vaapi::Surfaces surfaces;
  const gs::VideoCaps caps = gs::video_caps(gs::caps(FrameInfo{kNv12, 64, 48}).get());
  error_of([&] { surfaces.wrap(nullptr, caps); }, Code::kInvalidArgument);
  const gs::ObjectPtr<GstElement> element(gst_element_factory_make("vah264dec", nullptr));  // Loads the library.
  const gs::BufferPtr plain = filled_buffer(caps.size_bytes, 0), empty(gst_buffer_new());
  error_of([&] { surfaces.wrap(plain.get(), caps); }, Code::kFailedPrecondition);
  error_of([&] { surfaces.wrap(empty.get(), caps); }, Code::kFailedPrecondition);
  EXPECT_FALSE(surfaces.context());
}

}  // namespace va_test
