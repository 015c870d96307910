// SPDX-License-Identifier: Apache-2.0
// Programs that know nothing of us, on the driver: vainfo, ffmpeg, GStreamer's va elements. Every clip must come out frame
// by frame as the program's own software decoder gives it.
#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <vector>

#include <tenon/drivers/vaapi/testing/programs.hpp>

namespace tenon::va::test {
namespace {

void expect_same_frames(const Clip& clip) {
  const fs::path file = make(clip);
  const std::string format = std::string("format=") + clip.pixels;
  const std::string software = frames_of(file, "ffmpeg -v error", format);
  const std::string ours =
      frames_of(file, decoding(clip), std::string("hwdownload,format=") + clip.surface + "," + format);
  ASSERT_FALSE(software.empty());
  EXPECT_EQ(ours, software);
}

class VaClips : public ::testing::TestWithParam<Clip> {};

TEST_P(VaClips, DecodeAsInSoftware) { expect_same_frames(GetParam()); }

std::string name_of(const ::testing::TestParamInfo<Clip>& info) {
  std::string name = info.param.name;
  for (char& letter : name)
    if (!std::isalnum(static_cast<unsigned char>(letter))) letter = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, VaClips, ::testing::ValuesIn(chosen_clips()), name_of);

/// docs/reference/va_clips.md lists every clip; TENON_WRITE_DOCS=1 writes it.
TEST(VaPrograms, TheDocumentListsTheClips) {
  const char* path = std::getenv("TENON_VA_CLIPS_DOC");
  if (!path) GTEST_SKIP() << "TENON_VA_CLIPS_DOC does not name the document";
  std::string wanted =
      "# Clips that the software VA-API driver decodes\n\n"
      "Written by `va_programs_test` with `TENON_WRITE_DOCS=1`, which fails if this list is not true. Each clip is "
      "ffmpeg's `testsrc2` with\n"
      "noise, encoded with the options given, decoded by `ffmpeg -hwaccel vaapi` on the driver and in software; all "
      "frames must\n"
      "be identical. CI decodes those in bold, `./dev check va` all.\n\n"
      "| clip | size | frames | surface | encoder |\n|---|---|---|---|---|\n";
  for (const Clip& clip : all_clips()) {
    const bool bold = is_few(clip);
    wanted += std::string("| ") + (bold ? "**" : "") + clip.name + (bold ? "**" : "") + " | " + clip.size + " | " +
              std::to_string(clip.frames) + " | " + clip.surface + " | `" + clip.arguments + "` |\n";
  }
  if (const char* write = std::getenv("TENON_WRITE_DOCS"); write && std::string(write) == "1")
    std::ofstream(path) << wanted;
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), wanted) << "run this test with TENON_WRITE_DOCS=1";
}

/// Filters on surfaces beside ffmpeg's own, with libswscale's flags that the driver uses.
TEST(VaPrograms, FfmpegProcessesSurfacesAsItsFiltersDo) {
  const fs::path clip = make({"processed.mp4", "176x144", 6, kH264});
  const std::string exact = ":flags=bicubic+accurate_rnd+full_chroma_int";
  struct Pair {
    std::string ours, theirs, format;
  };
  for (const Pair& pair : std::vector<Pair>{
           {"scale_vaapi=w=320:h=200", "scale=320:200" + exact, "nv12"},
           {"scale_vaapi=w=64:h=36", "scale=64:36" + exact, "nv12"},
           {"scale_vaapi=format=bgra", "scale=w=176:h=144" + exact, "bgra"},
           {"scale_vaapi=format=p010", "format=yuv420p10le", "p010le"},
           {"transpose_vaapi=clock", "transpose=clock", "nv12"},
           {"transpose_vaapi=cclock", "transpose=cclock", "nv12"},
           {"transpose_vaapi=clock_flip", "transpose=clock_flip", "nv12"},
           {"transpose_vaapi=cclock_flip", "transpose=cclock_flip", "nv12"},
           {"transpose_vaapi=reversal", "hflip,vflip", "nv12"},
           {"transpose_vaapi=hflip", "hflip", "nv12"},
           {"transpose_vaapi=vflip", "vflip", "nv12"},
           {"crop=64:32:16:8,scale_vaapi=w=64:h=32", "crop=64:32:16:8", "nv12"},
       }) {
    const std::string ours = frames_of(clip, decoding({}), pair.ours + ",hwdownload,format=" + pair.format);
    EXPECT_FALSE(ours.empty()) << pair.ours;
    EXPECT_EQ(ours, frames_of(clip, "ffmpeg -v error", "format=nv12," + pair.theirs + ",format=" + pair.format))
        << pair.ours;
  }
}

TEST(VaPrograms, FfmpegFollowsAStreamThatChangesSize) {
  const Clip small{"change_a.h264", "176x144", 10, kH264}, large{"change_b.h264", "320x240", 10, kH264};
  const fs::path both = clips() / "change.h264";
  run("cat " + quoted(make(small)) + " " + quoted(make(large)) + " " + quoted(make(small)) + " > " + quoted(both));
  const std::string ours =
      frames_of(both, decoding(small), "hwdownload,format=nv12,scale=176:144:flags=neighbor,format=yuv420p");
  const std::string software =
      frames_of(both, "ffmpeg -v error", "format=nv12,scale=176:144:flags=neighbor,format=yuv420p");
  EXPECT_EQ(std::count(ours.begin(), ours.end(), '\n'), 30);
  EXPECT_EQ(ours, software);
}

TEST(VaPrograms, DamagedStreamsEndWithoutACrash) {
  const fs::path whole = make({"damaged.h264", "176x144", 20, kH264}), damaged = clips() / "damaged_now.h264";
  for (const char* seed : {"1", "2", "3", "4"}) {
    run("ffmpeg -v quiet -y -i " + quoted(whole) + " -c copy -bsf:v noise=amount=" + seed + "00 " + quoted(damaged));
    const Outcome done =
        run(on_driver("ffmpeg -v quiet -hwaccel vaapi -i " + quoted(damaged) + " -f null - >/dev/null"));
    EXPECT_GE(done.status, 0) << "killed by a signal";
    EXPECT_LT(done.status, 128) << done.out;
  }
}

TEST(VaPrograms, VainfoListsProfiles) {
  if (!has("vainfo")) GTEST_SKIP() << "vainfo is not installed";
  const Outcome done = run(on_driver("vainfo --display drm"));
  EXPECT_EQ(done.status, 0) << done.out;
  EXPECT_NE(done.out.find("Tenon software VA-API driver"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("VAProfileH264High"), std::string::npos) << done.out;
}

TEST(VaPrograms, TestVaApiPasses) {
  if (!has("test_va_api")) GTEST_SKIP() << "libva-utils' test_va_api is not on the PATH";
  const Outcome done = run(on_driver("test_va_api --gtest_brief=1"));
  EXPECT_EQ(done.status, 0) << done.out.substr(0, 4000);
}

class VaGstreamer : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has("gst-launch-1.0") || !has("gst-inspect-1.0")) GTEST_SKIP() << "GStreamer's tools are not installed";
    ::setenv("GST_REGISTRY", (clips() / "gst_registry.bin").c_str(), 1);  // Not the user's: it holds what was found.
    if (run(on_driver("gst-inspect-1.0 vah264dec")).status != 0)
      GTEST_SKIP() << "no vah264dec: gstreamer1.0-plugins-bad is not installed";
  }
  /// The bytes of all frames that a pipeline writes.
  static std::string frames(const std::string& pipeline) {
    const fs::path file = clips() / "gst_frames.yuv";
    fs::remove(file);
    const Outcome done =
        run(on_driver("timeout 60 gst-launch-1.0 -q " + pipeline + " ! filesink location=" + quoted(file)));
    EXPECT_EQ(done.status, 0) << done.out;
    return run("md5sum < " + quoted(file)).out;
  }
};

TEST_F(VaGstreamer, DecodesAsInSoftware) {
  for (const char* clip : {"pyramid.mp4", "mbaff.mp4", "lists_jvt.mp4", "slices_4.mp4", "size_64x36.mp4"}) {
    for (const Clip& one : h264_clips()) {
      if (std::string(one.name) != clip) continue;
      const std::string source = "filesrc location=" + quoted(make(one)) + " ! qtdemux ! h264parse ! ";
      EXPECT_EQ(frames(source + "vah264dec ! video/x-raw,format=NV12"),
                run("ffmpeg -v error -i " + quoted(make(one)) + " -f rawvideo -pix_fmt nv12 - | md5sum").out)
          << clip;
    }
  }
}

TEST_F(VaGstreamer, DecodesTheOtherCodecs) {
  struct Other {
    const char *clip, *parse, *decode;
  };
  for (const Other& other : {Other{"hevc_b.mp4", "qtdemux ! h265parse", "vah265dec"},
                             Other{"vp9_hidden.webm", "matroskademux ! vp9parse", "vavp9dec"},
                             Other{"av1.mkv", "matroskademux ! av1parse", "vaav1dec"},
                             Other{"av1_many_references.mkv", "matroskademux ! av1parse", "vaav1dec"}}) {
    if (run(on_driver(std::string("gst-inspect-1.0 ") + other.decode)).status != 0) continue;
    for (const Clip& one : all_clips()) {
      if (std::string(one.name) != other.clip) continue;
      EXPECT_EQ(frames("filesrc location=" + quoted(make(one)) + " ! " + other.parse + " ! " + other.decode +
                       " ! video/x-raw,format=NV12"),
                run("ffmpeg -v error -i " + quoted(make(one)) + " -f rawvideo -pix_fmt nv12 - | md5sum").out)
          << other.clip;
    }
  }
}

TEST_F(VaGstreamer, ProcessesSurfaces) {
  if (run(on_driver("gst-inspect-1.0 vapostproc")).status != 0) GTEST_SKIP() << "no vapostproc";
  const fs::path clip = make({"processed.mp4", "176x144", 6, kH264});
  const std::string source = "filesrc location=" + quoted(clip) + " ! qtdemux ! h264parse ! vah264dec ! vapostproc ";
  EXPECT_EQ(frames(source + "! video/x-raw,format=NV12,width=88,height=72"),
            run("ffmpeg -v error -i " + quoted(clip) +
                " -vf format=nv12,scale=88:72:flags=bicubic+accurate_rnd+full_chroma_int -f rawvideo - | md5sum")
                .out);
}

}  // namespace
}  // namespace tenon::va::test
