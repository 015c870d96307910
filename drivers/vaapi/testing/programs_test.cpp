// SPDX-License-Identifier: Apache-2.0
// Third-party programs on the driver: vainfo, ffmpeg, GStreamer's va elements. Every frame of every clip must equal the
// output of the program's own software decoder.
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

TEST_P(VaClips, DecodeAsInSoftware) {
  const std::string profile = GetParam().profile;
  if (!profile.empty() && run(on_driver("vainfo --display drm | grep -w " + profile)).status != 0)
    GTEST_SKIP() << "this libva has no " << profile;
  expect_same_frames(GetParam());
}

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
      "noise, encoded with the options given, or written by the test itself; decoded by `ffmpeg -hwaccel vaapi` on the "
      "driver and in software; all\n"
      "frames must be identical. CI decodes those in bold, `./dev check va` all. high_10.mp4 needs libva 2.18 and "
      "FFmpeg "
      "7.\n\n"
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

/// The kept field equals the source's; at field rate there are twice as many frames; still parts do not change.
TEST(VaPrograms, FfmpegDeinterlacesSurfaces) {
  const auto known = h264_clips();
  const auto mbaff =
      std::find_if(known.begin(), known.end(), [](const Clip& one) { return std::string(one.name) == "mbaff.mp4"; });
  ASSERT_NE(mbaff, known.end());
  const fs::path clip = make(*mbaff);  // Its bottom field is the first.
  const std::string plain = "ffmpeg -v error", down = ",hwdownload,format=nv12", kept = ",field=type=bottom";
  const std::string field = frames_of(clip, plain, "format=nv12" + kept);
  ASSERT_FALSE(field.empty());
  for (const std::string mode : {"bob", "motion_adaptive"}) {
    // The filter omits the first frame if it needs the previous one.
    const std::string made = frames_of(clip, decoding({}), "deinterlace_vaapi=mode=" + mode + down + kept);
    EXPECT_TRUE(!made.empty() && field.ends_with(made)) << mode << "\n" << made;
    EXPECT_GE(std::count(made.begin(), made.end(), '\n'), mbaff->frames - 1) << mode;
    EXPECT_NE(frames_of(clip, decoding({}), "deinterlace_vaapi=mode=" + mode + down),
              frames_of(clip, plain, "format=nv12"))
        << mode;
  }
  EXPECT_EQ(frames_of(clip, decoding({}), "deinterlace_vaapi=mode=weave" + down),
            frames_of(clip, plain, "format=nv12"));
  const std::string twice = frames_of(clip, decoding({}), "deinterlace_vaapi=mode=bob:rate=field" + down);
  EXPECT_EQ(std::count(twice.begin(), twice.end(), '\n'), 2 * mbaff->frames);
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

TEST_F(VaGstreamer, DecodesAsInSoftware) {
  for (const std::string clip :
       {"pyramid.mp4", "mbaff.mp4", "lists_jvt.mp4", "slices_4.mp4", "size_64x36.mp4", "fields.h264"}) {
    for (const Clip& one : h264_clips()) {
      if (one.name != clip) continue;
      const std::string source =
          "filesrc location=" + quoted(make(one)) + (clip.ends_with(".mp4") ? " ! qtdemux" : "") + " ! h264parse ! ";
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

/// Profiles that ffmpeg's own client does not use.
TEST_F(VaGstreamer, DecodesOtherChroma) {
  struct Other {
    Clip clip;
    const char *parse, *decode, *format;
  };
  const std::string vp9 = "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -profile:v 1 -pix_fmt ";
  for (const Other& other : std::vector<Other>{
           {{"hevc_444.mp4", "176x144", 12, "-c:v libx265 -preset fast -x265-params log-level=none -pix_fmt yuv444p"},
            "qtdemux ! h265parse",
            "vah265dec",
            "yuv444p"},
           {{"vp9_444.webm", "176x144", 12, vp9 + "yuv444p"}, "matroskademux ! vp9parse", "vavp9dec", "yuv444p"},
           {{"vp9_422.webm", "176x144", 12, vp9 + "yuv422p"}, "matroskademux ! vp9parse", "vavp9dec", "yuyv422"},
           {{"av1_444.mkv", "176x144", 12, "-c:v libaom-av1 -cpu-used 8 -crf 30 -pix_fmt yuv444p"},
            "matroskademux ! av1parse",
            "vaav1dec",
            "yuv444p"}}) {
    if (run(on_driver(std::string("gst-inspect-1.0 ") + other.decode)).status != 0) continue;
    const fs::path file = make(other.clip);
    EXPECT_EQ(
        frames("filesrc location=" + quoted(file) + " ! " + other.parse + " ! " + other.decode + " ! video/x-raw"),
        run("ffmpeg -v error -i " + quoted(file) + " -f rawvideo -pix_fmt " + other.format + " - | md5sum").out)
        << other.clip.name;
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

/// One frame of each field; the kept rows of the first are the source's.
TEST_F(VaGstreamer, Deinterlaces) {
  if (run(on_driver("gst-inspect-1.0 vadeinterlace")).status != 0) GTEST_SKIP() << "no vadeinterlace";
  const std::string source = "videotestsrc pattern=ball num-buffers=6 ! video/x-raw,format=NV12,width=176,height=144";
  const std::string on_surfaces = source + ",interlace-mode=interleaved ! vapostproc ! 'video/x-raw(memory:VAMemory)' ";
  frames(source);
  const std::string given = bytes();
  constexpr std::size_t kFrame = 176 * 144 * 3 / 2;
  for (const std::string method : {"bob", "adaptive"}) {
    frames(on_surfaces + "! vadeinterlace method=" + method + " ! vapostproc ! video/x-raw,format=NV12");
    const std::string made = bytes();
    const std::size_t left_out = method == "bob" ? 0 : 1;  // The first frame has no previous one.
    ASSERT_EQ(made.size(), 2 * (given.size() - left_out * kFrame)) << method;
    for (std::size_t y = 0; y < 144; y += 2)
      EXPECT_EQ(made.compare(y * 176, 176, given, left_out * kFrame + y * 176, 176), 0) << method << ", row " << y;
  }
}

TEST_F(VaGstreamer, DecodesJpeg) {
  if (run(on_driver("gst-inspect-1.0 vajpegdec")).status != 0) GTEST_SKIP() << "no vajpegdec";
  const fs::path clip = make({"jpeg_176.avi", "176x144", 4, "-c:v mjpeg -q:v 3 -pix_fmt yuvj420p"});
  EXPECT_EQ(
      frames("filesrc location=" + quoted(clip) +
             " ! avidemux ! jpegparse ! vajpegdec ! video/x-raw,format=NV12 ! videoconvert ! video/x-raw,format=I420"),
      run("ffmpeg -v error -i " + quoted(clip) + " -f rawvideo - | md5sum").out);
}

/// White, and black over its corner, half transparent.
TEST_F(VaGstreamer, BlendsPictures) {
  if (run(on_driver("gst-inspect-1.0 vacompositor")).status != 0) GTEST_SKIP() << "no vacompositor";
  const auto source = [](const char* colour, const std::string& side) {
    return std::string(" videotestsrc pattern=solid-color foreground-color=") + colour +
           " num-buffers=2 ! video/x-raw,format=NV12,width=" + side + ",height=" + side + ",framerate=10/1 ! mix.";
  };
  frames(source("0xffffffff", "128") + "sink_0" + source("0xff000000", "64") +
         "sink_1 vacompositor name=mix sink_1::xpos=64 sink_1::ypos=64 sink_1::width=64 sink_1::height=64 "
         "sink_1::alpha=0.5 ! video/x-raw,format=NV12,width=128,height=128");
  const std::string made = bytes();
  ASSERT_EQ(made.size(), 2u * 128 * 128 * 3 / 2);
  const auto luma = [&](std::size_t x, std::size_t y) { return static_cast<unsigned char>(made[y * 128 + x]); };
  EXPECT_EQ(luma(0, 0), 235);
  EXPECT_EQ(luma(63, 63), 235);
  EXPECT_NEAR(luma(64, 64), (235 + 16) / 2, 1);
  EXPECT_NEAR(luma(127, 127), (235 + 16) / 2, 1);
}

}  // namespace
}  // namespace tenon::va::test
