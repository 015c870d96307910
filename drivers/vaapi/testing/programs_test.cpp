// SPDX-License-Identifier: Apache-2.0
// Programs that know nothing of us, on the driver: vainfo, ffmpeg, GStreamer's va elements. Every clip must come out frame
// by frame as the program's own software decoder gives it.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tenon::va::test {
namespace {

namespace fs = std::filesystem;

struct Outcome {
  int status = -1;
  std::string out;
};

/// Runs a shell command; its errors are part of the output.
Outcome run(const std::string& command) {
  Outcome outcome;
  FILE* pipe = ::popen(("exec 2>&1; " + command).c_str(), "r");
  if (!pipe) return outcome;
  std::array<char, 4096> part;
  while (const std::size_t count = std::fread(part.data(), 1, part.size(), pipe))
    outcome.out.append(part.data(), count);
  const int status = ::pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

bool has(const std::string& program) { return run("command -v " + program).status == 0; }

std::string quoted(const fs::path& path) { return "'" + path.string() + "'"; }

/// On the driver, with the stand-in where there is no render node, as `tenon va-env` does.
std::string on_driver(const std::string& command) {
  const char* stand_in = std::getenv("TENON_RENDER_NODE");
  if (fs::exists("/dev/dri/renderD128") || !stand_in) return command;
  return "env LD_PRELOAD=" + quoted(stand_in) + " " + command;
}

fs::path clips() {
  const char* folder = std::getenv("TENON_VA_CLIPS");
  const fs::path made = folder ? fs::path(folder) : fs::temp_directory_path() / "tenon_va_clips";
  fs::create_directories(made);
  return made;
}

constexpr const char* kH264 = "-c:v libx264 -pix_fmt yuv420p ";

struct Clip {
  const char* name;
  const char* size;
  int frames;
  std::string arguments;  ///< Of ffmpeg's encoder.
  const char* pixels = "yuv420p";
  const char* surface = "nv12";
};

/// A moving picture with noise, so that every prediction has a rest.
fs::path make(const Clip& clip) {
  const fs::path file = clips() / clip.name;
  if (fs::exists(file)) return file;
  const fs::path part = clips() / ("part_" + std::to_string(::getpid()) + "_" + clip.name);
  const Outcome made = run("ffmpeg -v error -y -f lavfi -i testsrc2=size=" + std::string(clip.size) +
                           ":rate=25,noise=alls=12:allf=t -frames:v " + std::to_string(clip.frames) + " -threads 1 " +
                           clip.arguments + " " + quoted(part));
  EXPECT_EQ(made.status, 0) << made.out;
  if (made.status == 0) fs::rename(part, file);
  return file;
}

/// One line per frame.
std::string frames_of(const fs::path& file, const std::string& before, const std::string& filters) {
  const Outcome done =
      run(before + " -i " + quoted(file) + " -an -vf " + filters + " -f framemd5 - 2>/dev/null | grep -v '^#'");
  return done.out;
}

void expect_same_frames(const Clip& clip) {
  const fs::path file = make(clip);
  const std::string format = std::string("format=") + clip.pixels;
  const std::string software = frames_of(file, "ffmpeg -v error", format);
  const std::string ours = frames_of(file, on_driver("ffmpeg -v error -hwaccel vaapi -hwaccel_output_format vaapi"),
                                     std::string("hwdownload,format=") + clip.surface + "," + format);
  ASSERT_FALSE(software.empty());
  EXPECT_EQ(ours, software);
}

class VaClips : public ::testing::TestWithParam<Clip> {};

TEST_P(VaClips, DecodeAsInSoftware) { expect_same_frames(GetParam()); }

std::vector<Clip> h264_clips() {
  const std::string h264 = kH264;
  return {
      {"baseline.mp4", "176x144", 30, h264 + "-profile:v baseline"},
      {"main.mp4", "176x144", 30, h264 + "-profile:v main"},
      {"main_cavlc.mp4", "176x144", 30, h264 + "-profile:v main -coder 0"},
      {"high.mp4", "176x144", 30, h264 + "-profile:v high"},
      {"high_cavlc.mp4", "176x144", 30, h264 + "-profile:v high -coder 0"},
      {"transform_4x4.mp4", "176x144", 30, h264 + "-x264-params 8x8dct=0"},
      {"refs_1.mp4", "176x144", 30, h264 + "-refs 1"},
      {"refs_5.mp4", "176x144", 40, h264 + "-refs 5"},
      {"refs_16.mp4", "176x144", 50, h264 + "-refs 16 -bf 3"},
      {"no_b.mp4", "176x144", 30, h264 + "-bf 0"},
      {"one_b.mp4", "176x144", 30, h264 + "-bf 1"},
      {"pyramid.mp4", "176x144", 50, h264 + "-bf 8 -x264-params b-pyramid=normal:b-adapt=0"},
      {"pyramid_strict.mp4", "176x144", 40, h264 + "-bf 3 -x264-params b-pyramid=strict"},
      {"temporal.mp4", "176x144", 40, h264 + "-bf 3 -x264-params direct=temporal"},
      {"spatial.mp4", "176x144", 40, h264 + "-bf 3 -x264-params direct=spatial"},
      {"weighted_p.mp4", "176x144", 40, h264 + "-vf fade=in:0:30 -x264-params weightp=2"},
      {"weighted_b.mp4", "176x144", 40, h264 + "-vf fade=in:0:30 -bf 3 -x264-params weightb=1:weightp=2"},
      {"lists_jvt.mp4", "176x144", 30, h264 + "-x264-params cqm=jvt"},
      {"lists_own.mp4", "176x144", 30, h264 + "-x264-params cqm4=17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32"},
      {"lists_4x4.mp4", "176x144", 30, h264 + "-x264-params cqm=jvt:8x8dct=0"},
      {"slices_4.mp4", "176x144", 30, h264 + "-x264-params slices=4"},
      {"slices_many.mp4", "352x288", 12, h264 + "-x264-params slice-max-size=400"},
      {"size_178x146.mp4", "178x146", 20, h264},
      {"size_130x98.mp4", "130x98", 20, h264},
      {"size_64x36.mp4", "64x36", 20, h264},
      {"size_1366x768.mp4", "1366x768", 4, h264 + "-preset veryfast"},
      {"size_1920x1080.mp4", "1920x1080", 4, h264 + "-preset veryfast"},
      {"mbaff.mp4", "176x144", 30, h264 + "-flags +ildct+ilme -x264-params interlaced=1"},
      {"mbaff_cavlc.mp4", "176x144", 30, h264 + "-flags +ildct+ilme -coder 0 -x264-params interlaced=1:bff=1"},
      {"flagged_interlaced.mp4", "176x144", 20, h264 + "-x264-params fake-interlaced=1"},
      {"fine.mp4", "176x144", 20, h264 + "-qp 4"},
      {"coarse.mp4", "176x144", 20, h264 + "-qp 48"},
      {"intra.mp4", "176x144", 12, h264 + "-g 1"},
      {"closed_groups.mp4", "176x144", 40, h264 + "-g 12"},
      {"open_groups.mp4", "176x144", 40, h264 + "-g 12 -x264-params open-gop=1:bframes=3"},
      {"intra_refresh.mp4", "176x144", 40, h264 + "-x264-params intra-refresh=1:keyint=20"},
      {"no_deblocking.mp4", "176x144", 20, h264 + "-x264-params no-deblock=1"},
      {"deblocking.mp4", "176x144", 20, h264 + "-x264-params deblock=3,-3"},
      {"constrained_intra.mp4", "176x144", 20, h264 + "-x264-params constrained-intra=1"},
      {"chroma_offset.mp4", "176x144", 20, h264 + "-x264-params chroma-qp-offset=5"},
      {"full_range.mp4", "176x144", 20, h264 + "-color_range pc -colorspace bt709"},
  };
}

std::string name_of(const ::testing::TestParamInfo<Clip>& info) {
  std::string name = info.param.name;
  for (char& letter : name)
    if (!std::isalnum(static_cast<unsigned char>(letter))) letter = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(H264, VaClips, ::testing::ValuesIn(h264_clips()), name_of);

std::vector<Clip> hevc_clips() {
  const std::string plain = "-c:v libx265 -preset fast -pix_fmt ", hevc = plain + "yuv420p -x265-params log-level=none";
  return {
      {"hevc.mp4", "176x144", 30, hevc},
      {"hevc_10_bits.mp4", "176x144", 20, plain + "yuv420p10le -x265-params log-level=none", "yuv420p10le", "p010le"},
      {"hevc_b.mp4", "176x144", 40, hevc + ":bframes=8:b-adapt=0"},
      {"hevc_refs.mp4", "176x144", 30, hevc + ":ref=6"},
      {"hevc_slices.mp4", "352x288", 8, hevc + ":slices=3"},
      {"hevc_lists.mp4", "176x144", 12, hevc + ":scaling-list=default"},
      {"hevc_no_filters.mp4", "176x144", 12, hevc + ":no-sao=1:no-deblock=1"},
      {"hevc_weighted.mp4", "176x144", 30, hevc + ":weightb=1 -vf fade=in:0:25"},
      {"hevc_178x146.mp4", "178x146", 12, hevc},
      {"hevc_small_units.mp4", "176x144", 12, hevc + ":ctu=16:max-tu-size=16"},
      {"hevc_lossless.mp4", "176x144", 8, hevc + ":tskip=1:cu-lossless=1"},
      {"hevc_open_groups.mp4", "176x144", 40, hevc + ":keyint=12:open-gop=1"},
      {"hevc_wavefront.mp4", "640x360", 6, hevc + ":wpp=1:amp=1:rect=1"},
  };
}
INSTANTIATE_TEST_SUITE_P(Hevc, VaClips, ::testing::ValuesIn(hevc_clips()), name_of);

std::vector<Clip> frame_clips() {
  const std::string vp9 = "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -pix_fmt ";
  return {
      {"vp9.webm", "176x144", 20, vp9 + "yuv420p"},
      {"vp9_hidden.webm", "176x144", 40,
       "-c:v libvpx-vp9 -pix_fmt yuv420p -deadline good -cpu-used 5 -auto-alt-ref 1 -lag-in-frames 16"},
      {"vp9_178x146.webm", "178x146", 12, vp9 + "yuv420p"},
      {"vp9_tiles.webm", "1024x256", 6, vp9 + "yuv420p -tile-columns 2"},
      {"vp9_10_bits.webm", "176x144", 12, vp9 + "yuv420p10le -profile:v 2", "yuv420p10le", "p010le"},
      {"jpeg_420.avi", "178x146", 4, "-c:v mjpeg -q:v 3 -pix_fmt yuvj420p", "yuvj420p", "nv12"},
      {"jpeg_422.avi", "178x146", 4, "-c:v mjpeg -q:v 3 -pix_fmt yuvj422p", "yuvj422p", "yuyv422"},
      {"jpeg_444.avi", "178x146", 4, "-c:v mjpeg -q:v 3 -pix_fmt yuvj444p", "yuvj444p", "yuv444p"},
  };
}
INSTANTIATE_TEST_SUITE_P(Frames, VaClips, ::testing::ValuesIn(frame_clips()), name_of);

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
    const std::string ours = frames_of(clip, on_driver("ffmpeg -v error -hwaccel vaapi -hwaccel_output_format vaapi"),
                                       pair.ours + ",hwdownload,format=" + pair.format);
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
      frames_of(both, on_driver("ffmpeg -v error -hwaccel vaapi"), "scale=176:144:flags=neighbor,format=yuv420p");
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
