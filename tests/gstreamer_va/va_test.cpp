// SPDX-License-Identifier: Apache-2.0
// Frames of vah264dec in each of the memories that it offers, beside software decoding of the same clip.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <tenon/core/ledger.hpp>
#include <tenon/core/router.hpp>
#include <tenon/frameworks/cpu/cpu.hpp>
#include <tenon/frameworks/dmabuf/dmabuf.hpp>
#include <tenon/frameworks/ffmpeg/ffmpeg.hpp>
#include <tenon/frameworks/gstreamer/gstreamer.hpp>
#include <tenon/frameworks/gstreamer/testing/gst_testing.hpp>

namespace {

using namespace tenon;
using namespace tenon::gstreamer_testing;
namespace gs = tenon::gstreamer;

constexpr std::size_t kFrames = 12;

std::string clip() { return std::string(std::getenv("TENON_MODELS")) + "/demo.mp4"; }

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

class VaElements : public ::testing::Test {
 protected:
  void SetUp() override {
    gs::start();
    const gs::ObjectPtr<GstElementFactory> decoder(gst_element_factory_find("vah264dec"));
    if (!decoder) GTEST_SKIP() << "no vah264dec: gstreamer1.0-plugins-bad is not installed";
    const gs::ObjectPtr<GstElementFactory> demuxer(gst_element_factory_find("qtdemux"));
    if (!demuxer) GTEST_SKIP() << "no qtdemux: gstreamer1.0-plugins-good is not installed";
    router.add(gs::context());
    router.add(gs::device_context());
    router.add(dmabuf::context());
    router.add(host_context());
  }

  /// Decodes into `caps` and compares with software. @return the kind of the frames' memory
  std::string decode(const std::string& caps, const MapOptions& options) {
    Pipeline pipeline("filesrc location=" + clip() + " ! qtdemux ! h264parse ! vah264dec ! " + caps +
                      " ! appsink name=sink max-buffers=2");
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
      EXPECT_EQ(packed(router.map(frame, host_context(), options)), packed(*expected)) << caps << " frame " << i;
    }
    return kind;
  }

  Router router;
};

TEST_F(VaElements, DmabufsAreSharedWithoutACopy) {
  Ledger ledger;
  MapOptions options;
  options.policy = ZeroCopy::kRequire;
  options.ledger = &ledger;
  EXPECT_EQ(decode("video/x-raw(memory:DMABuf),format=NV12", options), "dmabuf");
  EXPECT_EQ(ledger.total().copied + ledger.total().transferred, 0u);
}

TEST_F(VaElements, SurfacesAreFetchedAndBooked) {
  Ledger ledger;
  MapOptions options;
  options.ledger = &ledger;
  EXPECT_EQ(decode("video/x-raw(memory:VAMemory),format=NV12", options), "gstreamer.device");
  EXPECT_GT(ledger.total().transferred, 0u);
}

TEST_F(VaElements, SystemMemoryIsRead) {
  Ledger ledger;
  MapOptions options;
  options.ledger = &ledger;
  decode("video/x-raw,format=NV12", options);
}

}  // namespace
