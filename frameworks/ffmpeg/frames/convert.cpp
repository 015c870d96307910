// SPDX-License-Identifier: Apache-2.0
// Conversion with swscale.
#include <tenon/frameworks/ffmpeg/convert.hpp>

#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>

#include <tenon/core/error.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/frameworks/ffmpeg/frame_lease.hpp>
#include <tenon/frameworks/ffmpeg/pixel_format.hpp>

namespace tenon {
inline namespace v1 {
namespace ffmpeg {
namespace detail {

/// Pictures that have luma only, perhaps with alpha.
TENON_INLINE bool is_grey(int format) {
  const AVPixFmtDescriptor* d = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(format));
  constexpr std::uint64_t kColours = AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_HWACCEL;
  return d && d->nb_components <= 2 && (d->flags & kColours) == 0;
}

TENON_INLINE AVPixelFormat nearest_mapped(AVPixelFormat from) {
  AVPixelFormat best = AV_PIX_FMT_NONE;
  const AVPixFmtDescriptor* descriptor = av_pix_fmt_desc_get(from);
  const bool alpha = descriptor && (descriptor->flags & AV_PIX_FMT_FLAG_ALPHA);
  for (const FormatMapping& mapping : kMappings) {
    if (mapping.full_range) continue;  // The J formats are deprecated spellings.
    if (!find_common(mapping.av) || !sws_isSupportedOutput(mapping.av)) continue;
    // A column of chroma is worth more than two bits of depth, which is what P010 would keep of RGB and 4:4:4.
    const AVPixFmtDescriptor* to = av_pix_fmt_desc_get(mapping.av);
    if (descriptor && descriptor->log2_chroma_w == 0 && to->log2_chroma_w != 0) continue;
    int loss = 0;
    best = best == AV_PIX_FMT_NONE ? mapping.av : av_find_best_pix_fmt_of_2(best, mapping.av, from, alpha, &loss);
  }
  return best;
}

TENON_INLINE bool is_other_layout(AVPixelFormat from, AVPixelFormat to) {
  const AVPixFmtDescriptor *a = av_pix_fmt_desc_get(from), *b = av_pix_fmt_desc_get(to);
  constexpr std::uint64_t kNoSamples = AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_HWACCEL | AV_PIX_FMT_FLAG_BITSTREAM;
  if (!a || !b || ((a->flags | b->flags) & kNoSamples) != 0 || a->nb_components != b->nb_components) return false;
  if (((a->flags ^ b->flags) & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_BE | AV_PIX_FMT_FLAG_FLOAT)) != 0) return false;
  // swscale moves RGB through other values where it has no way of its own: other than 8 bits, alpha into planes.
  const bool changes_planes = ((a->flags ^ b->flags) & AV_PIX_FMT_FLAG_PLANAR) != 0;
  if ((a->flags & AV_PIX_FMT_FLAG_RGB) != 0 && (a->comp[0].depth != 8 || (changes_planes && a->nb_components == 4)))
    return false;
  if (a->log2_chroma_w != b->log2_chroma_w || a->log2_chroma_h != b->log2_chroma_h) return false;
  for (int c = 0; c < a->nb_components; ++c) {
    if (a->comp[c].depth != b->comp[c].depth || a->comp[c].shift != b->comp[c].shift) return false;
  }
  return true;
}

TENON_INLINE Converter::~Converter() { sws_freeContext(context_); }

/// swscale takes grey for a palette where it makes packed RGB without scaling, and ignores the range. As YUV it does not.
TENON_INLINE FramePtr Converter::as_yuv(const AVFrame& source, Ledger& ledger) {
  FramePtr yuv = new_frame();
  yuv->format = AV_PIX_FMT_YUV444P;
  yuv->width = source.width;
  yuv->height = source.height;
  if (const int error = av_frame_get_buffer(yuv.get(), 0); error < 0)
    throw make_error(error, "conversion of " + describe(source) + " to yuv444p", "av_frame_get_buffer");
  convert(source, *yuv, ledger);
  return yuv;
}

TENON_INLINE void Converter::convert(const AVFrame& source, AVFrame& out, Ledger& ledger) {
  const AVPixFmtDescriptor* target = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(out.format));
  const bool is_colour = target && (target->flags & AV_PIX_FMT_FLAG_RGB) != 0;
  if (source.format == AV_PIX_FMT_GRAY8 && source.color_range == AVCOL_RANGE_MPEG && is_colour)
    return convert(*as_yuv(source, ledger), out, ledger);
  const auto from = static_cast<AVPixelFormat>(source.format), to = static_cast<AVPixelFormat>(out.format);
  const std::string what = "conversion of " + describe(source) + " to " + ffmpeg::to_string(to);
  context_ = sws_getCachedContext(context_, source.width, source.height, from, out.width, out.height, to,
                                  SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT, nullptr, nullptr, nullptr);
  if (!context_) throw Error(Code::kUnimplemented, what + ": swscale does not offer it");
  if (const int error = av_frame_copy_props(&out, &source); error < 0)
    throw make_error(error, what, "av_frame_copy_props");
  set_colours(source, out);
  const int rows = sws_scale(context_, source.data, source.linesize, 0, source.height, out.data, out.linesize);
  if (rows != out.height) throw make_error(rows < 0 ? rows : AVERROR(EINVAL), what, "sws_scale");
  static const EdgeId edge = register_edge("ffmpeg.swscale");
  ledger.book_map(edge, false);
  const int bytes = av_image_get_buffer_size(from, source.width, source.height, 1);
  const auto read = bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0;
  const bool is_moved = source.width == out.width && source.height == out.height && is_other_layout(from, to);
  is_moved ? ledger.book_copied(edge, read) : ledger.book_converted(edge, read);
}

TENON_INLINE void Converter::set_colours(const AVFrame& source, AVFrame& out) {
  const auto is_rgb = [](int format) {
    const AVPixFmtDescriptor* d = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(format));
    return d && (d->flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL)) != 0;
  };
  AVColorSpace space = source.colorspace;
  if (ffmpeg::colour_space(space) == ColourSpace::kUnknown)
    space = source.height >= 720 ? AVCOL_SPC_BT709 : AVCOL_SPC_SMPTE170M;
  const int* matrix = sws_getCoefficients(space == AVCOL_SPC_BT2020_CL ? SWS_CS_BT2020 : static_cast<int>(space));
  const auto is_j_name = [](int format) {
    return std::string_view(ffmpeg::to_string(static_cast<AVPixelFormat>(format))).starts_with("yuvj");
  };
  // Grey without a range is full, as core says; so is grey that is made of RGB.
  const bool source_full = is_rgb(source.format) || is_j_name(source.format) ||
                           source.color_range == AVCOL_RANGE_JPEG ||
                           (is_grey(source.format) && source.color_range == AVCOL_RANGE_UNSPECIFIED);
  const bool out_full =
      is_rgb(out.format) || is_j_name(out.format) || (is_rgb(source.format) ? is_grey(out.format) : source_full);
  sws_setColorspaceDetails(context_, matrix, source_full, matrix, out_full, 0, 1 << 16, 1 << 16);
  out.color_range = out_full ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG;
  out.colorspace = is_rgb(out.format) ? AVCOL_SPC_RGB : space;
}

}  // namespace detail
}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
