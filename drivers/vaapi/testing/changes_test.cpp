// SPDX-License-Identifier: Apache-2.0
// Streams whose pictures change their size or their depth in flight, decoded by ffmpeg and by GStreamer's va elements.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <tenon/drivers/vaapi/testing/programs.hpp>

namespace tenon::va::test {
namespace {

/// Parts that follow each other in one stream.
struct Change {
  const char* name;
  std::vector<Clip> parts;
  const char* parse;  ///< GStreamer's elements: to the decoder's input, and the decoder.
  const char* decode;
};

std::vector<Change> changes() {
  const std::string h264 = kH264, hevc = "-c:v libx265 -preset ultrafast -x265-params log-level=none -pix_fmt ";
  const std::string vp9 = "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -pix_fmt ";
  const std::string av1 = "-c:v libaom-av1 -cpu-used 8 -crf 30 -pix_fmt ",
                    jpeg = "-c:v mjpeg -q:v 3 -f mjpeg -pix_fmt yuvj420p";
  const char* by_av1 = "-c:v av1";
  const auto part = [](const char* name, const char* size, const std::string& arguments, const char* decoder = "") {
    return Clip{name, size, 10, arguments, "yuv420p", "nv12", decoder};
  };
  const Clip h264_small = part("change_a.h264", "176x144", h264), h264_large = part("change_b.h264", "320x240", h264);
  const Clip hevc_small = part("change_a.hevc", "176x144", hevc + "yuv420p"),
             hevc_large = part("change_b.hevc", "320x240", hevc + "yuv420p"),
             hevc_deep = part("change_c.hevc", "352x288", hevc + "yuv420p10le");
  const Clip vp9_small = part("change_a_vp9.ivf", "176x144", vp9 + "yuv420p"),
             vp9_large = part("change_b_vp9.ivf", "320x240", vp9 + "yuv420p"),
             vp9_deep = part("change_c_vp9.ivf", "352x288", vp9 + "yuv420p10le -profile:v 2");
  const Clip av1_small = part("change_a_av1.ivf", "176x144", av1 + "yuv420p", by_av1),
             av1_large = part("change_b_av1.ivf", "320x240", av1 + "yuv420p", by_av1),
             av1_deep = part("change_c_av1.ivf", "352x288", av1 + "yuv420p10le", by_av1);
  const Clip jpeg_small = part("change_a.mjpeg", "176x144", jpeg), jpeg_large = part("change_b.mjpeg", "320x240", jpeg);
  return {
      {"change.h264", {h264_small, h264_large, h264_small}, "h264parse", "vah264dec"},
      {"change.hevc", {hevc_small, hevc_large, hevc_small}, "h265parse", "vah265dec"},
      {"change_depth.hevc", {hevc_small, hevc_deep, hevc_large}, "h265parse", "vah265dec"},
      {"change_vp9.ivf", {vp9_small, vp9_large, vp9_small}, "ivfparse ! vp9parse", "vavp9dec"},
      {"change_depth_vp9.ivf", {vp9_small, vp9_deep, vp9_large}, "ivfparse ! vp9parse", "vavp9dec"},
      {"change_av1.ivf", {av1_small, av1_large, av1_small}, "ivfparse ! av1parse", "vaav1dec"},
      {"change_depth_av1.ivf", {av1_small, av1_deep, av1_large}, "ivfparse ! av1parse", "vaav1dec"},
      {"change.mjpeg", {jpeg_small, jpeg_large, jpeg_small}, "jpegparse", "vajpegdec"},
  };
}

/// The parts one after another. For IVF, the file header (32 bytes) is written once, and the timestamps, the last 8 of
/// the 12 bytes before each frame, continue: ffmpeg drops frames with repeated timestamps.
fs::path join(const Change& change) {
  const fs::path file = clips() / change.name;
  const bool is_ivf = file.extension() == ".ivf";
  std::ofstream out(file, std::ios::binary);
  std::uint64_t time = 0;
  for (std::size_t i = 0; i < change.parts.size(); ++i) {
    std::ifstream in(make(change.parts[i]), std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(in), {}};
    std::uint32_t size = 0;
    for (std::size_t at = 32; is_ivf && at + 12 <= bytes.size(); at += 12 + size, ++time) {
      std::memcpy(&size, &bytes[at], sizeof size);
      std::memcpy(&bytes[at + 4], &time, sizeof time);
    }
    out << (is_ivf && i > 0 ? bytes.substr(32) : bytes);
  }
  return file;
}

class VaChanges : public ::testing::TestWithParam<Change> {};

/// All frames in one size and depth, with any timestamps, because the filter graph is created anew at each change.
TEST_P(VaChanges, FfmpegFollows) {
  if (std::string(GetParam().name).find("av1") != std::string::npos)
    GTEST_SKIP() << "FFmpeg's AV1 decoder (5.1) asks for surfaces once: pictures of 320x240 come in surfaces of "
                    "176x144, which no "
                    "driver can read; GStreamer's asks again, and gives all";
  const fs::path file = join(GetParam());
  const Clip& first = GetParam().parts.front();
  const std::string same = "format=yuv420p10le,scale=176:144:flags=neighbor -fps_mode passthrough";
  const std::string ours = frames_of(file, decoding(first), "scale_vaapi=format=p010,hwdownload,format=p010le," + same);
  EXPECT_EQ(std::count(ours.begin(), ours.end(), '\n'), 30);
  EXPECT_EQ(ours, frames_of(file, "ffmpeg -v error", same));
}

class VaGstreamerChanges : public VaGstreamer, public ::testing::WithParamInterface<Change> {};

TEST_P(VaGstreamerChanges, DecodesAllParts) {
  const Change& change = GetParam();
  if (run(on_driver(std::string("gst-inspect-1.0 ") + change.decode)).status != 0)
    GTEST_SKIP() << "no " << change.decode;
  const fs::path file = join(change);
  std::string each;
  for (const Clip& part : change.parts) {
    const std::string format = part.arguments.find("10le") != std::string::npos ? "p010le" : "nv12";
    // JPEG's range does not change.
    each += "ffmpeg -v error -i " + quoted(make(part)) + " -vf scale=in_range=pc:out_range=pc,format=" + format +
            " -f rawvideo - ; ";
  }
  EXPECT_EQ(
      frames("filesrc location=" + quoted(file) + " ! " + change.parse + " ! " + change.decode + " ! video/x-raw"),
      run("( " + each + ") | md5sum").out);
}

/// vah265dec keeps its context and its surfaces if only the depth changes: the driver must support that.
TEST_F(VaGstreamer, DecodesAnotherDepthInOneContext) {
  if (run(on_driver("gst-inspect-1.0 vah265dec")).status != 0) GTEST_SKIP() << "no vah265dec";
  const std::string hevc = "-c:v libx265 -preset ultrafast -x265-params log-level=none -pix_fmt ";
  const Change change{"change_depth_only.hevc",
                      {{"change_a.hevc", "176x144", 10, hevc + "yuv420p"},
                       {"change_d.hevc", "176x144", 10, hevc + "yuv420p10le"},
                       {"change_a.hevc", "176x144", 10, hevc + "yuv420p"}},
                      "h265parse",
                      "vah265dec"};
  frames("filesrc location=" + quoted(join(change)) + " ! h265parse ! vah265dec ! video/x-raw,format=NV12");
  EXPECT_EQ(bytes().size(), 30u * 176 * 144 * 3 / 2);
}

/// VP9 whose pictures get smaller without a key frame. ffmpeg then creates a new context, and continues with its
/// references.
TEST_F(VaGstreamer, FfmpegFollowsReferencesOfAnotherSize) {
  if (run("gst-inspect-1.0 vp9enc").status != 0) GTEST_SKIP() << "no vp9enc";
  const fs::path file = clips() / "resized.webm";
  const Outcome made =
      run("gst-launch-1.0 -q videotestsrc pattern=snow num-buffers=120 ! "
          "video/x-raw,format=I420,width=640,height=360,framerate=30/1 ! vp9enc deadline=1 cpu-used=8 end-usage=cbr "
          "target-bitrate=100000 resize-allowed=true undershoot=50 buffer-size=1000 buffer-initial-size=500 "
          "buffer-optimal-size=600 keyframe-max-dist=9999 ! webmmux ! filesink location=" +
          quoted(file));
  ASSERT_EQ(made.status, 0) << made.out;
  const Outcome probed = run("ffprobe -v error -show_entries frame=width,pict_type -of csv " + quoted(file));
  ASSERT_NE(probed.out.find("frame,320,P"), std::string::npos) << probed.out;
  const std::string same = "format=yuv420p,scale=320:180:flags=neighbor";
  const std::string ours = frames_of(file, decoding({}), "hwdownload,format=nv12," + same);
  EXPECT_EQ(std::count(ours.begin(), ours.end(), '\n'), 120);
  EXPECT_EQ(ours, frames_of(file, "ffmpeg -v error", same));
}

std::string name_of(const ::testing::TestParamInfo<Change>& info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(All, VaChanges, ::testing::ValuesIn(changes()), name_of);
INSTANTIATE_TEST_SUITE_P(All, VaGstreamerChanges, ::testing::ValuesIn(changes()), name_of);

}  // namespace
}  // namespace tenon::va::test
