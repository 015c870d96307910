// SPDX-License-Identifier: Apache-2.0
// Conversion with swscale.
#include <tenon/frameworks/ffmpeg/convert.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/frameworks/ffmpeg/frame_lease.hpp>
#include <tenon/frameworks/ffmpeg/pixel_format.hpp>

extern "C" {
#include <libavutil/opt.h>
}

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

/// Pictures of a byte for each of red, green and blue, side by side.
TENON_INLINE bool is_rgb_bytes(AVPixelFormat format) {
  constexpr AVPixelFormat kAll[] = {AV_PIX_FMT_RGB24, AV_PIX_FMT_BGR24, AV_PIX_FMT_RGBA,
                                    AV_PIX_FMT_BGRA,  AV_PIX_FMT_RGB0,  AV_PIX_FMT_BGR0};
  return std::find(std::begin(kAll), std::end(kAll), format) != std::end(kAll);
}

TENON_INLINE AVPixelFormat Converter::format_between(const AVFrame& source, const AVFrame& out) const {
  const auto from = static_cast<AVPixelFormat>(source.format), to = static_cast<AVPixelFormat>(out.format);
  const AVPixFmtDescriptor* target = av_pix_fmt_desc_get(to);
  // swscale takes grey for a palette where it makes packed RGB without scaling, and ignores the range. As YUV it does not.
  if (from == AV_PIX_FMT_GRAY8 && source.color_range == AVCOL_RANGE_MPEG && target &&
      (target->flags & AV_PIX_FMT_FLAG_RGB) != 0)
    return AV_PIX_FMT_YUV444P;
  constexpr std::pair<AVPixelFormat, AVPixelFormat> kPlanar[] = {{AV_PIX_FMT_NV12, AV_PIX_FMT_YUV420P},
                                                                 {AV_PIX_FMT_NV21, AV_PIX_FMT_YUV420P},
                                                                 {AV_PIX_FMT_YUYV422, AV_PIX_FMT_YUV422P},
                                                                 {AV_PIX_FMT_UYVY422, AV_PIX_FMT_YUV422P}};
  for (const auto& [packed, planar] : kPlanar) {
    if (from == packed && is_direct(planar, source, out)) return planar;
  }
  return AV_PIX_FMT_NONE;
}

TENON_INLINE const AVFrame& Converter::brought_to(AVPixelFormat format, const AVFrame& source, Ledger& ledger) {
  const bool fits = between_ && between_->format == format && between_->width == source.width &&
                    between_->height == source.height && av_frame_is_writable(between_.get());
  if (!fits) {
    between_ = new_frame();
    between_->format = format;
    between_->width = source.width;
    between_->height = source.height;
    if (const int error = av_frame_get_buffer(between_.get(), 0); error < 0)
      throw make_error(error, "conversion of " + describe(source) + " to " + ffmpeg::to_string(format),
                       "av_frame_get_buffer");
  }
  // The properties of the picture before it go: FFmpeg adds side data to what a frame has.
  while (between_->nb_side_data > 0) av_frame_remove_side_data(between_.get(), between_->side_data[0]->type);
  av_dict_free(&between_->metadata);
  if (!first_) first_ = std::make_unique<Converter>(quality_);
  first_->convert(source, *between_, ledger);
  return *between_;
}

/// Whether all rows of a plane have so many bytes within its buffer.
TENON_INLINE bool has_room(const AVFrame& frame, int plane, int rows, int row_bytes) {
  const AVBufferRef* const buffer = av_frame_get_plane_buffer(const_cast<AVFrame*>(&frame), plane);
  if (!buffer || frame.linesize[plane] < row_bytes) return false;
  const std::uint8_t* const end = frame.data[plane] + std::ptrdiff_t{rows - 1} * frame.linesize[plane] + row_bytes;
  return end <= buffer->data + buffer->size;
}

TENON_INLINE bool Converter::is_direct(AVPixelFormat from, const AVFrame& source, const AVFrame& out) const {
  constexpr AVPixelFormat kFrom[] = {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV422P, AV_PIX_FMT_YUVJ420P, AV_PIX_FMT_YUVJ422P};
  const auto to = static_cast<AVPixelFormat>(out.format);
  if (quality_ != Quality::kFast || source.width != out.width || source.height != out.height ||
      source.height % 2 != 0 || !is_rgb_bytes(to) ||
      std::find(std::begin(kFrom), std::end(kFrom), from) == std::end(kFrom))
    return false;
  // It reads and writes 16 columns at a time, up to 15 behind a row, and leaves the last ones out where a row is too short.
  constexpr int kColumns = 16;
  const int width = (out.width + kColumns - 1) / kColumns * kColumns;
  if (width == out.width) return true;
  const int pixel = av_pix_fmt_desc_get(to)->comp[0].step;
  if (!has_room(out, 0, out.height, pixel * width)) return false;
  if (source.format != from) return true;  // A picture of our own has room.
  const int chroma_rows = source.height >> av_pix_fmt_desc_get(from)->log2_chroma_h;
  return has_room(source, 0, source.height, width) && has_room(source, 1, chroma_rows, width / 2) &&
         has_room(source, 2, chroma_rows, width / 2);
}

TENON_INLINE void Converter::prepare(const Kind& kind, const std::string& what) {
  if (context_ && kind == kind_) return;
  sws_freeContext(context_);
  context_ = sws_alloc_context();
  if (!context_) throw Error(Code::kResourceExhausted, what + ": no memory for a context of swscale");
  int flags = SWS_BILINEAR;
  if (!kind.is_direct) flags |= SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT;
  if (quality_ == Quality::kExact) flags ^= SWS_BILINEAR | SWS_BICUBIC;
  const std::pair<const char*, int> options[] = {
      {"srcw", kind.width},      {"srch", kind.height},   {"src_format", kind.from}, {"dstw", kind.out_width},
      {"dsth", kind.out_height}, {"dst_format", kind.to}, {"sws_flags", flags},      {"threads", threads_}};
  for (const auto& [name, value] : options) av_opt_set_int(context_, name, value, 0);
  kind_ = kind;
  if (const int error = sws_init_context(context_, nullptr, nullptr); error < 0) {
    sws_freeContext(std::exchange(context_, nullptr));
    throw Error(Code::kUnimplemented, what + ": swscale does not offer it", "sws_init_context", error);
  }
}

TENON_INLINE void Converter::convert(const AVFrame& source, AVFrame& out, Ledger& ledger) {
  if (const AVPixelFormat between = format_between(source, out); between != AV_PIX_FMT_NONE)
    return convert(brought_to(between, source, ledger), out, ledger);
  const auto from = static_cast<AVPixelFormat>(source.format), to = static_cast<AVPixelFormat>(out.format);
  const std::string what = "conversion of " + describe(source) + " to " + ffmpeg::to_string(to);
  prepare({from, to, source.width, source.height, out.width, out.height, is_direct(from, source, out)}, what);
  if (const int error = av_frame_copy_props(&out, &source); error < 0)
    throw make_error(error, what, "av_frame_copy_props");
  set_colours(source, out);
  // Only this call uses threads.
  const int rows = threads_ == 1
                       ? sws_scale(context_, source.data, source.linesize, 0, source.height, out.data, out.linesize)
                       : sws_scale_frame(context_, &out, &source);
  if (rows < 0 || (threads_ == 1 && rows != out.height))
    throw make_error(rows < 0 ? rows : AVERROR(EINVAL), what, threads_ == 1 ? "sws_scale" : "sws_scale_frame");
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
  // The direct way cuts fractions of luma off; half a level more, in 1/65536 of the range, rounds them.
  const int brightness = kind_.is_direct ? 1 << 7 : 0;
  sws_setColorspaceDetails(context_, matrix, source_full, matrix, out_full, brightness, 1 << 16, 1 << 16);
  out.color_range = out_full ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG;
  out.colorspace = is_rgb(out.format) ? AVCOL_SPC_RGB : space;
}

}  // namespace detail
}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
