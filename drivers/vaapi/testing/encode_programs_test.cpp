// SPDX-License-Identifier: Apache-2.0
// Programs that encode on the driver: ffmpeg's h264_vaapi and hevc_vaapi, GStreamer's vah264enc and vah265enc. The decoded result must match the
// input.
#include <cstdlib>
#include <string>

#include <tenon/drivers/vaapi/testing/programs.hpp>

namespace tenon::va::test {
namespace encode_programs_test {

constexpr const char* kSource = "-f lavfi -i testsrc2=size=320x240:rate=25";

bool offers_encoding() {
  return run(on_driver("vainfo --display drm")).out.find("VAEntrypointEncSlice") != std::string::npos;
}

bool offers_hevc() {
  return run(on_driver("vainfo --display drm | grep VAProfileHEVCMain10 | grep EncSlice")).status == 0;
}

/// PSNR in dB, over all planes; 0 if the file is invalid.
double likeness(const fs::path& file, const std::string& source = kSource) {
  const Outcome done = run("ffmpeg -v info -i " + quoted(file) + " " + source +
                           " -lavfi '[0:v][1:v]psnr=shortest=1' -f null - 2>&1 | grep -o 'average:[0-9.inf]*'");
  return done.out.size() < 9 ? 0 : std::atof(done.out.c_str() + 8);
}

std::string number_of_frames(const fs::path& file) {
  return run("ffprobe -v error -count_frames -show_entries stream=profile,width,height,nb_read_frames -of csv=p=0 " +
             quoted(file))
      .out;
}

class VaEncoders : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has("vainfo") || !offers_encoding()) GTEST_SKIP() << "no vainfo, or libavcodec has no libx264";
  }
};

TEST_F(VaEncoders, FfmpegEncodesWithEveryRateControl) {
  for (const char* rate : {"-qp 24", "-rc_mode CBR -b:v 800k", "-rc_mode VBR -b:v 800k -maxrate 1600k",
                           "-rc_mode ICQ -global_quality 24", "-qp 24 -profile:v constrained_baseline",
                           "-qp 24 -profile:v main -coder cavlc", "-qp 24 -g 7 -compression_level 7"}) {
    const fs::path file = clips() / "encoded.mp4";
    const Outcome done =
        run(on_driver(std::string("ffmpeg -v error -y -vaapi_device /dev/dri/renderD128 ") + kSource +
                      " -frames:v 30 -vf format=nv12,hwupload -c:v h264_vaapi " + rate + " " + quoted(file)));
    ASSERT_EQ(done.status, 0) << rate << ": " << done.out;
    EXPECT_NE(number_of_frames(file).find(",320,240,30"), std::string::npos) << rate << ": " << number_of_frames(file);
    EXPECT_GT(likeness(file), 33) << rate;
  }
}

TEST_F(VaEncoders, FfmpegEncodesHevcWithEveryRateControl) {
  if (!offers_hevc()) GTEST_SKIP() << "libavcodec has no libx265 of 10 bits";
  struct {
    const char *format, *options;
  } const kinds[] = {{"nv12", "-qp 24"},
                     {"nv12", "-rc_mode CBR -b:v 800k"},
                     {"nv12", "-rc_mode VBR -b:v 800k -maxrate 1600k -compression_level 7"},
                     {"nv12", "-rc_mode ICQ -global_quality 24 -g 7"},
                     {"p010", "-qp 24 -profile:v main10"}};
  for (const auto& [format, options] : kinds) {
    const fs::path file = clips() / "encoded_hevc.mp4";
    const Outcome done = run(on_driver(std::string("ffmpeg -v error -y -vaapi_device /dev/dri/renderD128 ") + kSource +
                                       " -frames:v 30 -vf format=" + format + ",hwupload -c:v hevc_vaapi " + options +
                                       " " + quoted(file)));
    ASSERT_EQ(done.status, 0) << options << ": " << done.out;
    const std::string expected = std::string(format) == "p010" ? "Main 10,320,240,30" : "Main,320,240,30";
    EXPECT_NE(number_of_frames(file).find(expected), std::string::npos) << options << ": " << number_of_frames(file);
    EXPECT_GT(likeness(file), 32) << options;
  }
}

// Clients round extents up to 16, and say what is shown in headers that the driver does not take.
TEST_F(VaEncoders, HevcOfAnySizeHasTheSurfacesPixels) {
  if (!offers_hevc()) GTEST_SKIP() << "libavcodec has no libx265 of 10 bits";
  const fs::path file = clips() / "encoded_180.mp4";
  const Outcome done =
      run(on_driver(std::string("ffmpeg -v error -y -vaapi_device /dev/dri/renderD128 ") + kSource +
                    " -frames:v 5 -vf crop=318:180,format=nv12,hwupload -c:v hevc_vaapi -qp 24 " + quoted(file)));
  ASSERT_EQ(done.status, 0) << done.out;
  EXPECT_NE(number_of_frames(file).find("Main,318,180,5"), std::string::npos) << number_of_frames(file);
}

TEST_F(VaEncoders, AQuantiserIsTheOneInTheStream) {
  const fs::path file = clips() / "quantiser.h264";
  ASSERT_EQ(run(on_driver(std::string("ffmpeg -v error -y -vaapi_device /dev/dri/renderD128 ") + kSource +
                          " -frames:v 20 -g 8 -vf format=nv12,hwupload -c:v h264_vaapi -qp 33 " + quoted(file)))
                .status,
            0);
  // 26, plus the offsets of the PPS and of each slice.
  const Outcome deltas =
      run("ffmpeg -v trace -i " + quoted(file) +
          " -c copy -bsf:v trace_headers -f null - 2>&1 | grep -oE '(pic_init_qp_minus26|slice_qp_delta).* "
          "= -?[0-9]+' | sed 's/ .*= / /' | sort -u");
  EXPECT_EQ(deltas.out.substr(0, 200), "pic_init_qp_minus26 7\nslice_qp_delta 0\n");
}

TEST_F(VaEncoders, FfmpegTranscodesOnSurfaces) {
  const fs::path clip = make({"transcoded.mp4", "352x288", 20, kH264}), file = clips() / "transcoded_half.mp4";
  const Outcome done = run(decoding({}) + " -y -i " + quoted(clip) +
                           " -vf scale_vaapi=w=176:h=144 -c:v h264_vaapi -qp 20 " + quoted(file));
  ASSERT_EQ(done.status, 0) << done.out;
  const fs::path expected = clips() / "transcoded_expected.mkv";
  ASSERT_EQ(run("ffmpeg -v error -y -i " + quoted(clip) + " -vf scale=176:144 -c:v ffv1 " + quoted(expected)).status,
            0);
  EXPECT_GT(likeness(file, "-i " + quoted(expected)), 33);
}

/// Thirty pictures through an element of GStreamer, with each of the options.
void encode_by_gstreamer(const std::string& encoder, const std::string& parser,
                         std::initializer_list<const char*> all) {
  if (!has("gst-launch-1.0") || !has("gst-inspect-1.0")) GTEST_SKIP() << "GStreamer's tools are not installed";
  ::setenv("GST_REGISTRY", (clips() / "gst_registry.bin").c_str(), 1);
  if (run(on_driver("gst-inspect-1.0 " + encoder)).status != 0) GTEST_SKIP() << "no " << encoder;
  const fs::path source = clips() / "gst_source.yuv", file = clips() / (encoder + ".bin");
  ASSERT_EQ(
      run(std::string("ffmpeg -v error -y ") + kSource + " -frames:v 30 -pix_fmt nv12 -f rawvideo " + quoted(source))
          .status,
      0);
  for (const char* options : all) {
    const Outcome done = run(on_driver("timeout 60 gst-launch-1.0 -q filesrc location=" + quoted(source) +
                                       " ! rawvideoparse format=nv12 width=320 height=240 framerate=25/1 ! " + encoder +
                                       " " + options + " ! " + parser + " ! filesink location=" + quoted(file)));
    ASSERT_EQ(done.status, 0) << options << ": " << done.out;
    EXPECT_EQ(done.out, "") << options << ": the driver writes no messages";
    EXPECT_NE(number_of_frames(file).find(",320,240,30"), std::string::npos)
        << options << ": " << number_of_frames(file);
    EXPECT_GT(likeness(file), 32) << options;
  }
}

TEST_F(VaEncoders, GstreamerEncodes) {
  encode_by_gstreamer("vah264enc", "h264parse",
                      {"", "rate-control=cbr bitrate=800", "rate-control=vbr bitrate=800",
                       "cabac=false dct8x8=false b-frames=2 ref-frames=3"});
}

TEST_F(VaEncoders, GstreamerEncodesHevc) {
  encode_by_gstreamer("vah265enc", "h265parse",
                      {"", "rate-control=cbr bitrate=800", "rate-control=vbr bitrate=800", "b-frames=2 ref-frames=3"});
}

}  // namespace encode_programs_test
}  // namespace tenon::va::test
