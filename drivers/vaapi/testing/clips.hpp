// SPDX-License-Identifier: Apache-2.0
// The clips that programs decode on the driver, made by ffmpeg from a moving picture with noise.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/drivers/vaapi/testing/fields.hpp>

namespace tenon::va::test {

/// A reference picture is missing: the decoder must replace it.
inline constexpr const char* kLost = " -bsf:v 'noise=drop=eq(n\\,7)'";
inline constexpr const char* kH264 = "-c:v libx264 -pix_fmt yuv420p ";

struct Clip {
  const char* name;
  const char* size;
  int frames;
  std::string arguments;  ///< Arguments of ffmpeg's encoder.
  const char* pixels = "yuv420p";
  const char* surface = "nv12";
  const char* decoder = "";  ///< Decoder for ffmpeg to use, if its default one does not support VA-API.
  const char* profile = "";  ///< Profile that vainfo must list, if only newer versions of libva and ffmpeg support it.
  std::string (*write)() = nullptr;  ///< Writes the clip if no available encoder can; `arguments` then describe it.
};

inline std::vector<Clip> h264_clips() {
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
      {"size_1280x720.mp4", "1280x720", 10, h264 + "-preset veryfast"},
      {"long.mp4", "352x288", 100, h264 + "-preset veryfast"},
      {"lost.mkv", "176x144", 30, h264 + "-bf 0 -refs 1" + kLost},
      {"fields.h264", "96x64", 27, "written by hand: fields, CAVLC, PCM, skipped, P 16x16", "yuv420p", "nv12", "", "",
       fields_of_h264},
      {"high_10.mp4", "176x144", 20, "-c:v libx264 -pix_fmt yuv420p10le", "yuv420p10le", "p010le", "",
       "VAProfileH264High10"},
  };
}

inline std::vector<Clip> hevc_clips() {
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
      {"hevc_no_wavefront.mp4", "352x288", 30, hevc + ":wpp=0"},
      {"hevc_1280x720.mp4", "1280x720", 10,
       "-c:v libx265 -preset ultrafast -pix_fmt yuv420p -x265-params log-level=none"},
      {"hevc_lost.mkv", "176x144", 30, hevc + ":bframes=0" + kLost},
      {"hevc_422.mp4", "176x144", 20, plain + "yuv422p -x265-params log-level=none", "yuv422p", "yuyv422"},
      {"hevc_422_10_bits.mp4", "176x144", 20, plain + "yuv422p10le -x265-params log-level=none", "yuv422p10le",
       "y210le"},
  };
}
inline std::vector<Clip> frame_clips() {
  const std::string vp9 = "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -pix_fmt ";
  return {
      {"vp9.webm", "176x144", 20, vp9 + "yuv420p"},
      {"vp9_hidden.webm", "176x144", 40,
       "-c:v libvpx-vp9 -pix_fmt yuv420p -deadline good -cpu-used 5 -auto-alt-ref 1 -lag-in-frames 16"},
      {"vp9_178x146.webm", "178x146", 12, vp9 + "yuv420p"},
      {"vp9_tiles.webm", "1024x256", 6, vp9 + "yuv420p -tile-columns 2"},
      {"vp9_1280x720.webm", "1280x720", 10, vp9 + "yuv420p"},
      {"vp9_10_bits.webm", "176x144", 12, vp9 + "yuv420p10le -profile:v 2", "yuv420p10le", "p010le"},
      {"jpeg_420.avi", "178x146", 4, "-c:v mjpeg -q:v 3 -pix_fmt yuvj420p", "yuvj420p", "nv12"},
      {"jpeg_422.avi", "178x146", 4, "-c:v mjpeg -q:v 3 -pix_fmt yuvj422p", "yuvj422p", "yuyv422"},
      {"jpeg_444.avi", "178x146", 4, "-c:v mjpeg -q:v 3 -pix_fmt yuvj444p", "yuvj444p", "yuv444p"},
  };
}

inline std::vector<Clip> av1_clips() {
  const std::string aom = "-c:v libaom-av1 -cpu-used 8 -crf 30 -pix_fmt ", plain = aom + "yuv420p ";
  const std::string svt = "-c:v libsvtav1 -preset 8 -pix_fmt ";
  const auto clip = [](const char* name, const char* size, int frames, const std::string& arguments) {
    return Clip{name, size, frames, arguments, "yuv420p", "nv12", "-c:v av1"};
  };
  const auto deep = [](const char* name, const char* size, int frames, const std::string& arguments) {
    return Clip{name, size, frames, arguments, "yuv420p10le", "p010le", "-c:v av1"};
  };
  // Its references have other sizes; the output is scaled to one size.
  const auto resized = [](const char* name, const std::string& arguments) {
    return Clip{name, "320x240", 30, arguments, "yuv420p,scale=320:240:flags=neighbor", "nv12", "-c:v av1"};
  };
  return {
      clip("av1.mkv", "176x144", 20, plain),
      clip("av1_many_references.mkv", "176x144", 60, plain + "-lag-in-frames 35"),
      clip("av1_179x147.mkv", "179x147", 12, plain),
      deep("av1_10_bits.mkv", "176x144", 12, aom + "yuv420p10le"),
      clip("av1_tiles.mkv", "640x360", 6, plain + "-tiles 2x2"),
      clip("av1_grain.mkv", "176x144", 12, plain + "-aom-params film-grain-test=3"),
      clip("av1_screen.mkv", "320x240", 12,
           plain + "-aom-params tune-content=screen:enable-palette=1:enable-intrabc=1"),
      clip("av1_large_blocks.mkv", "320x240", 8, plain + "-aom-params sb-size=128"),
      clip("av1_segments.mkv", "320x240", 12, plain + "-b:v 200k -usage realtime -aom-params aq-mode=3"),
      clip("av1_resilient.mkv", "176x144", 12, plain + "-aom-params error-resilient=1"),
      clip("av1_lossless.mkv", "176x144", 6, plain + "-aom-params lossless=1"),
      clip("av1_quantiser_deltas.mkv", "176x144", 12, plain + "-aom-params deltaq-mode=1:delta-lf-mode=1"),
      clip("av1_global_motion.mkv", "352x288", 16, plain + "-vf rotate=a=t/3,scale=352:288"),
      clip("av1_svt.mkv", "320x240", 40, svt + "yuv420p"),
      deep("av1_svt_10_bits.mkv", "320x240", 12, svt + "yuv420p10le"),
      clip("av1_svt_tiles.mkv", "640x360", 8, svt + "yuv420p -svtav1-params tile-columns=1:tile-rows=1"),
      clip("av1_svt_grain.mkv", "320x240", 12, svt + "yuv420p -svtav1-params film-grain=20"),
      clip("av1_svt_super_resolution.mkv", "320x240", 12,
           svt + "yuv420p -svtav1-params superres-mode=1:superres-denom=12"),
      resized("av1_svt_fixed_size.mkv", svt + "yuv420p -svtav1-params resize-mode=1:resize-denom=12"),
      resized("av1_svt_random_sizes.mkv", svt + "yuv420p -svtav1-params resize-mode=2"),
  };
}

inline std::vector<Clip> all_clips() {
  std::vector<Clip> all = h264_clips();
  for (auto* more : {hevc_clips, frame_clips, av1_clips}) {
    std::vector<Clip> part = more();
    std::move(part.begin(), part.end(), std::back_inserter(all));
  }
  return all;
}

/// Decoded by every build; ./dev check va decodes all.
inline bool is_few(const Clip& clip) {
  constexpr std::string_view kFew[] = {"baseline.mp4",
                                       "main_cavlc.mp4",
                                       "high.mp4",
                                       "refs_16.mp4",
                                       "pyramid.mp4",
                                       "temporal.mp4",
                                       "weighted_b.mp4",
                                       "lists_jvt.mp4",
                                       "lists_own.mp4",
                                       "mbaff.mp4",
                                       "mbaff_cavlc.mp4",
                                       "lost.mkv",
                                       "fields.h264",
                                       "slices_4.mp4",
                                       "slices_many.mp4",
                                       "size_178x146.mp4",
                                       "size_1280x720.mp4",
                                       "long.mp4",
                                       "open_groups.mp4",
                                       "constrained_intra.mp4",
                                       "hevc_b.mp4",
                                       "hevc_lists.mp4",
                                       "hevc_10_bits.mp4",
                                       "hevc_slices.mp4",
                                       "hevc_no_wavefront.mp4",
                                       "hevc_1280x720.mp4",
                                       "hevc_lost.mkv",
                                       "hevc_422.mp4",
                                       "hevc_422_10_bits.mp4",
                                       "vp9_hidden.webm",
                                       "vp9_tiles.webm",
                                       "vp9_10_bits.webm",
                                       "vp9_1280x720.webm",
                                       "jpeg_420.avi",
                                       "jpeg_422.avi",
                                       "av1.mkv",
                                       "av1_10_bits.mkv",
                                       "av1_grain.mkv",
                                       "av1_many_references.mkv",
                                       "av1_svt_random_sizes.mkv"};
  return std::find(std::begin(kFew), std::end(kFew), clip.name) != std::end(kFew);
}

/// All with TENON_VA_ALL_CLIPS=1.
inline std::vector<Clip> chosen_clips() {
  std::vector<Clip> chosen = all_clips();
  const char* all = std::getenv("TENON_VA_ALL_CLIPS");
  if (!all || std::string_view(all) != "1") std::erase_if(chosen, [](const Clip& clip) { return !is_few(clip); });
  return chosen;
}

}  // namespace tenon::va::test
