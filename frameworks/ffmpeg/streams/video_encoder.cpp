// SPDX-License-Identifier: Apache-2.0
// Frames to packets of a video stream.
#include <tenon/frameworks/ffmpeg/video_encoder.hpp>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/core/upright.hpp>
#include <tenon/frameworks/ffmpeg/frame.hpp>
#include <tenon/frameworks/ffmpeg/frame_lease.hpp>
#include <tenon/frameworks/ffmpeg/packets.hpp>
#include <tenon/frameworks/ffmpeg/rotation.hpp>

extern "C" {
#include <libavcodec/bsf.h>
}

namespace tenon {
inline namespace v1 {
namespace ffmpeg {
namespace detail {

/// The formats of pictures that are not encoded, of which readers of the container know which they have. Muxers take others, and
/// then write what is read as something else. Empty: any.
TENON_INLINE std::vector<AVPixelFormat> raw_formats(std::string_view container) {
  if (container == "rawvideo") return {};
  if (container == "yuv4mpegpipe")
    return {AV_PIX_FMT_YUV420P,     AV_PIX_FMT_YUV422P,     AV_PIX_FMT_YUV444P,     AV_PIX_FMT_YUV411P,
            AV_PIX_FMT_GRAY8,       AV_PIX_FMT_GRAY16LE,    AV_PIX_FMT_YUV420P10LE, AV_PIX_FMT_YUV422P10LE,
            AV_PIX_FMT_YUV444P10LE, AV_PIX_FMT_YUV420P12LE, AV_PIX_FMT_YUV422P12LE, AV_PIX_FMT_YUV444P12LE,
            AV_PIX_FMT_YUV420P16LE, AV_PIX_FMT_YUV422P16LE, AV_PIX_FMT_YUV444P16LE};
  if (container == "mov")
    return {AV_PIX_FMT_UYVY422, AV_PIX_FMT_YUYV422, AV_PIX_FMT_RGB24, AV_PIX_FMT_BGR24,
            AV_PIX_FMT_RGBA,    AV_PIX_FMT_BGRA,    AV_PIX_FMT_ARGB,  AV_PIX_FMT_ABGR};
  std::vector<AVPixelFormat> formats{AV_PIX_FMT_YUV420P, AV_PIX_FMT_NV12,    AV_PIX_FMT_NV21,
                                     AV_PIX_FMT_YUV422P, AV_PIX_FMT_YUYV422, AV_PIX_FMT_UYVY422,
                                     AV_PIX_FMT_YVYU422, AV_PIX_FMT_GRAY8,   AV_PIX_FMT_RGBA};
  if (container == "avi") formats.insert(formats.end(), {AV_PIX_FMT_BGR24, AV_PIX_FMT_BGRA});
  if (container == "nut")
    formats.insert(formats.end(), {AV_PIX_FMT_RGB24, AV_PIX_FMT_BGR24, AV_PIX_FMT_BGRA, AV_PIX_FMT_ARGB,
                                   AV_PIX_FMT_ABGR, AV_PIX_FMT_YUV444P, AV_PIX_FMT_GRAY16LE, AV_PIX_FMT_YUV420P10LE,
                                   AV_PIX_FMT_YUV422P10LE, AV_PIX_FMT_RGB48LE});
  return formats;
}

/// Whether the encoder's packets are the pictures.
TENON_INLINE bool is_raw(AVCodecID codec) {
  return codec == AV_CODEC_ID_RAWVIDEO || codec == AV_CODEC_ID_WRAPPED_AVFRAME;
}

/// The formats that an encoder takes for that container; empty: any.
TENON_INLINE std::vector<AVPixelFormat> listed_formats(const AVCodec& encoder, std::string_view container) {
  if (is_raw(encoder.id)) return raw_formats(container);
  const AVPixelFormat* all = nullptr;
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(61, 13, 100)
  const void* found = nullptr;
  if (avcodec_get_supported_config(nullptr, &encoder, AV_CODEC_CONFIG_PIX_FORMAT, 0, &found, nullptr) >= 0)
    all = static_cast<const AVPixelFormat*>(found);
#else
  all = encoder.pix_fmts;
#endif
  std::vector<AVPixelFormat> formats;
  for (; all && *all != AV_PIX_FMT_NONE; ++all) formats.push_back(*all);
  return formats;
}

/// The rates that a container or an encoder has; null: any rate.
TENON_INLINE const AVRational* listed_rates(const AVCodec& encoder, std::string_view container) {
  static constexpr AVRational kBroadcast[] = {{24000, 1001}, {24, 1}, {25, 1},       {30000, 1001}, {30, 1},
                                              {50, 1},       {60, 1}, {60000, 1001}, {0, 0}};
  if (container.starts_with("mxf") || container == "gxf") return kBroadcast;
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(61, 13, 100)
  const void* found = nullptr;
  avcodec_get_supported_config(nullptr, &encoder, AV_CODEC_CONFIG_FRAME_RATE, 0, &found, nullptr);
  return static_cast<const AVRational*>(found);
#else
  return encoder.supported_framerates;
#endif
}

TENON_INLINE bool is_x264(const AVCodec& encoder) { return std::string_view(encoder.name).starts_with("libx264"); }

/// JPEG's samples have full range; FFmpeg names the formats of such samples apart.
TENON_INLINE bool is_jpeg(AVCodecID codec) {
  return codec == AV_CODEC_ID_MJPEG || codec == AV_CODEC_ID_LJPEG || codec == AV_CODEC_ID_AMV;
}
TENON_INLINE bool has_full_range(AVPixelFormat format) {
  const FormatMapping* mapping = find_mapping(format);
  return mapping && mapping->full_range;
}
/// The format of the same layout whose name says nothing of the range.
TENON_INLINE AVPixelFormat of_any_range(AVPixelFormat format) {
  return has_full_range(format) ? find_mapping(find_mapping(format)->format)->av : format;
}
TENON_INLINE bool is_rgb(AVPixelFormat format) {
  const AVPixFmtDescriptor* of = av_pix_fmt_desc_get(format);
  return of && (of->flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL)) != 0;
}

TENON_INLINE AVPixelFormat encoder_format(const AVCodec& encoder, AVPixelFormat from, std::string_view container) {
  std::vector<AVPixelFormat> takes = listed_formats(encoder, container);
  if (takes.empty()) return from;
  std::erase_if(takes, [&](AVPixelFormat each) {
    const AVPixFmtDescriptor* of = av_pix_fmt_desc_get(each);
    return !of || (of->flags & AV_PIX_FMT_FLAG_HWACCEL) != 0 || (each != from && !sws_isSupportedOutput(each));
  });
  if (is_jpeg(encoder.id) && std::ranges::any_of(takes, has_full_range))
    std::erase_if(takes, [](AVPixelFormat each) { return !has_full_range(each) && !is_rgb(each); });
  const auto has = [&](AVPixelFormat format) { return std::ranges::count(takes, format) != 0; };
  const AVPixFmtDescriptor* of = av_pix_fmt_desc_get(from);
  const AVCodecDescriptor* codec = avcodec_descriptor_get(encoder.id);
  const bool is_for_players =
      codec && (codec->props & (AV_CODEC_PROP_LOSSY | AV_CODEC_PROP_INTRA_ONLY)) == AV_CODEC_PROP_LOSSY;
  const bool is_yuv = of && of->nb_components >= 3 && !is_rgb(from);
  if (is_for_players && !is_yuv && has(AV_PIX_FMT_YUV420P)) return AV_PIX_FMT_YUV420P;
  if (has(from)) return from;
  const bool has_alpha = of && (of->flags & AV_PIX_FMT_FLAG_ALPHA) != 0;
  AVPixelFormat best = AV_PIX_FMT_NONE;
  for (const AVPixelFormat each : takes)
    best = best == AV_PIX_FMT_NONE ? each : av_find_best_pix_fmt_of_2(best, each, from, has_alpha, nullptr);
  return best;
}

/// Containers whose pictures have numbers instead of times.
TENON_INLINE bool counts_pictures(const AVOutputFormat& container) {
  constexpr std::string_view kCounting[] = {"avi", "dv", "gxf", "mxf", "mxf_d10", "mxf_opatom", "swf", "yuv4mpegpipe"};
  return (container.flags & AVFMT_NOTIMESTAMPS) != 0 || std::ranges::count(kCounting, container.name) != 0;
}

/// How many steps apart two pictures may be: containers of numbered pictures have no gaps, but for AVI, whose muxer counts up to 60,000
/// pictures that are not there. Program streams have times for some of the pictures only, between which readers count.
TENON_INLINE std::int64_t most_steps(const AVOutputFormat& container) {
  if (std::string_view(container.name) == "avi") return 50000;
  const bool has_gaps = !counts_pictures(container) && !is_program_stream(container);
  return has_gaps ? std::numeric_limits<std::int64_t>::max() : 1;
}

/// The muxers of MP4 and QuickTime write display matrices in every FFmpeg version.
TENON_INLINE bool says_rotation(const AVOutputFormat& container) {
  constexpr std::string_view kTurning[] = {"mov", "mp4", "3gp", "3g2", "ipod", "ismv"};
  return std::ranges::count(kTurning, container.name) != 0;
}

/// The unit of times: fine enough for any source, unless the container or the encoder counts pictures, or gaps are filled with pictures.
TENON_INLINE AVRational time_base_of(const AVCodec& encoder, const AVOutputFormat& container, AVRational rate) {
  const AVRational step = av_inv_q(rate);
  const bool has_gaps = most_steps(container) == std::numeric_limits<std::int64_t>::max();
  if (!has_gaps || listed_rates(encoder, container.name) || encoder.id == AV_CODEC_ID_THEORA) return step;
  if (encoder.id != AV_CODEC_ID_MPEG4) return {1, 90000};
  const int parts = 65535 / rate.num;  // MPEG-4 has 16 bits for the unit.
  return parts > 0 ? AVRational{rate.den, rate.num * parts} : step;
}

TENON_INLINE VideoEncoder::VideoEncoder(std::string what, const FrameInfo& info, WriterOptions options,
                                        const AVOutputFormat& container, const std::string& path)
    : what_(std::move(what)), given_(info), info_(info), options_(std::move(options)) {
  if (info.rotation != Rotation::kNone && !says_rotation(container)) {
    info_.width_px = info.upright_width_px();
    info_.height_px = info.upright_height_px();
    info_.rotation = Rotation::kNone;
  }
  open(choose(container, path), container);
}

TENON_INLINE void VideoEncoder::add_to(AVFormatContext* format) {
  AVStream* stream = avformat_new_stream(format, nullptr);
  if (!stream) throw Error(Code::kResourceExhausted, what_ + ": no memory for a stream");
  if (const int error = avcodec_parameters_from_context(stream->codecpar, codec_.get()); error < 0) {
    throw make_error(error, what_, "avcodec_parameters_from_context");
  }
  if (!container_names(*format->oformat, codec_->codec_id, stream->codecpar->codec_tag))
    throw Error(Code::kInvalidArgument, what_ + ": " + format->oformat->name + " does not hold " +
                                            avcodec_get_name(codec_->codec_id) + "; use .mkv, or another encoder");
  set_rotation(*stream, info_.rotation);
  // Samples of more than 8 bits have no official name there; all readers know FFmpeg's.
  if (std::string_view(format->oformat->name) == "yuv4mpegpipe")
    format->strict_std_compliance = FF_COMPLIANCE_UNOFFICIAL;
  stream->time_base = codec_->time_base;
  stream->avg_frame_rate = codec_->framerate;
  stream->sample_aspect_ratio = codec_->sample_aspect_ratio;
}

TENON_INLINE bool VideoEncoder::write(const Frame& frame, AVFormatContext* format) {
  if (frame.info().rotation != given_.rotation) {
    const auto turn = [](Rotation rotation) {
      return rotation == Rotation::kNone ? std::string("shown as stored") : tenon::to_string(rotation);
    };
    throw Error(Code::kInvalidArgument, what_ + ": a frame that is to be " + turn(frame.info().rotation) +
                                            " cannot go into a video whose pictures are to be " +
                                            turn(given_.rotation));
  }
  if (frame.info().width_px != given_.width_px || frame.info().height_px != given_.height_px) {
    throw Error(Code::kInvalidArgument, what_ + ": a frame of " + std::to_string(frame.info().width_px) + "x" +
                                            std::to_string(frame.info().height_px) + " cannot go into a video of " +
                                            std::to_string(given_.width_px) + "x" + std::to_string(given_.height_px));
  }
  const std::optional<std::int64_t> time = next_time(frame.timestamp_ns());
  if (!time) return false;
  FramePtr picture = picture_of(info_.rotation == given_.rotation ? frame : upright(frame));
  picture->time_base = codec_->time_base;
  picture->pict_type = AV_PICTURE_TYPE_NONE;  // Key frames are chosen anew, not taken from the decoder.
  if (shown_) {
    for (; *time - shown_->pts > most_steps_;) {
      shown_->pts += most_steps_;
      encode(shown_.get(), format);
    }
  }
  picture->pts = *time;
  encode(picture.get(), format);
  if (most_steps_ != std::numeric_limits<std::int64_t>::max()) shown_ = std::move(picture);
  return true;
}

TENON_INLINE FramePtr VideoEncoder::picture_of(const Frame& frame) {
  FramePtr picture = av_frame(frame, default_deadline(), options_.ledger);
  // An encoder that takes even extents only gets the picture without its last column or row.
  picture->width = codec_->width;
  picture->height = codec_->height;
  // Planes are in the AVFrame's order here, so YV12 counts as yuv420p.
  const AVPixelFormat own = find_mapping(frame.info().format)->av;
  const bool is_full = resolved_colour_range(frame.info()) == ColourRange::kFull;
  const AVPixelFormat wanted = pixels();
  if (own == of_any_range(wanted) && (is_full || !has_full_range(wanted))) {
    picture->format = wanted;
    return device_ ? uploaded(*picture) : std::move(picture);
  }
  FramePtr out = new_frame();
  out->format = wanted;
  out->width = picture->width;
  out->height = picture->height;
  if (const int error = av_frame_get_buffer(out.get(), 0); error < 0)
    throw make_error(error, what_, "av_frame_get_buffer");
  converter_.convert(*picture, *out, options_.ledger ? *options_.ledger : Ledger::process());
  return device_ ? uploaded(*out) : std::move(out);
}

TENON_INLINE FramePtr VideoEncoder::uploaded(const AVFrame& picture) {
  FramePtr out = new_frame();
  if (const int error = av_hwframe_get_buffer(codec_->hw_frames_ctx, out.get(), 0); error < 0)
    throw make_error(error, what_ + ": encoder " + name_ + ": its device gives no frame", "av_hwframe_get_buffer");
  if (const int error = av_hwframe_transfer_data(out.get(), &picture, 0); error < 0)
    throw make_error(error, what_ + ": encoder " + name_ + ": its device takes no " + describe(picture),
                     "av_hwframe_transfer_data");
  if (const int error = av_frame_copy_props(out.get(), &picture); error < 0)
    throw make_error(error, what_, "av_frame_copy_props");
  static const EdgeId edge = register_edge("ffmpeg.upload");
  Ledger& ledger = options_.ledger ? *options_.ledger : Ledger::process();
  ledger.book_map(edge, false);
  const int bytes = av_image_get_buffer_size(pixels(), picture.width, picture.height, 1);
  ledger.book_transferred(edge, bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0);
  return out;
}

TENON_INLINE Frame VideoEncoder::upright(const Frame& frame) {
  Ledger& ledger = options_.ledger ? *options_.ledger : Ledger::process();
  const FramePtr picture = av_frame(frame, default_deadline(), options_.ledger);
  FrameInfo info = frame.info();
  Frame source = frame;
  FramePtr converted;
  if (is_quarter_turn(info.rotation) && !turns_into_itself(info.format)) {
    converted = new_frame();
    converted->format = AV_PIX_FMT_YUV420P;
    converted->width = picture->width;
    converted->height = picture->height;
    if (const int error = av_frame_get_buffer(converted.get(), 0); error < 0)
      throw make_error(error, what_, "av_frame_get_buffer");
    to_i420_.convert(*picture, *converted, ledger);
    const Frame made = wrap(converted.get());
    const Rotation rotation = info.rotation;
    info = made.info();
    info.rotation = rotation;
    source = Frame(info, {made.planes().begin(), made.planes().end()});
  }
  info.width_px = info_.width_px;
  info.height_px = info_.height_px;
  info.rotation = Rotation::kNone;
  if (!turned_ || !(turned_->info() == info)) {
    Requirements wanted;
    wanted.pitch_alignment = 64;
    turned_.emplace(info, wanted, 256);
  }
  static const EdgeId edge = register_edge("ffmpeg.upright");
  const Frame out = turned_->acquire();
  ledger.book_map(edge, false);
  ledger.book_copied(edge, copy_upright(source, out));
  return out;
}

TENON_INLINE AVColorRange VideoEncoder::range_of(AVPixelFormat format, const FormatMapping* mapping) const {
  if (is_rgb(format) || has_full_range(format)) return AVCOL_RANGE_JPEG;
  if (mapping && mapping->av == format) return av_colour_range(resolved_colour_range(info_));
  const bool is_yuv = mapping && !is_rgb(mapping->av);
  return is_yuv && resolved_colour_range(info_) == ColourRange::kFull ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG;
}

TENON_INLINE bool VideoEncoder::takes(const AVOutputFormat& container, AVCodecID codec) {
  // For pictures the name decides; the muxer takes any codec.
  if (std::string_view(container.name) == "image2") return false;
  constexpr std::string_view kStreams[] = {"mpegts", "rtp", "rtp_mpegts", "rtsp"};
  const int answer = avformat_query_codec(&container, codec, FF_COMPLIANCE_NORMAL);
  return answer == 1 || (answer == AVERROR_PATCHWELCOME && std::ranges::count(kStreams, container.name) != 0 &&
                         container_names(container, codec));
}

TENON_INLINE const AVCodec& VideoEncoder::choose(const AVOutputFormat& container, const std::string& path) const {
  const AVCodec* encoder = nullptr;
  if (!options_.codec.empty()) {
    encoder = avcodec_find_encoder_by_name(options_.codec.c_str());
  } else {
    encoder = avcodec_find_encoder_by_name("libx264");
    if (!encoder || !takes(container, encoder->id)) encoder = avcodec_find_encoder(AV_CODEC_ID_MPEG4);
    if (!encoder || !takes(container, encoder->id))
      encoder = avcodec_find_encoder(av_guess_codec(&container, nullptr, path.c_str(), nullptr, AVMEDIA_TYPE_VIDEO));
  }
  // Its packets are pointers, which other containers would write down.
  if (encoder && encoder->id == AV_CODEC_ID_WRAPPED_AVFRAME && container.video_codec != encoder->id)
    throw Error(Code::kInvalidArgument, what_ + ": encoder " + encoder->name +
                                            " is for .y4m only; rawvideo is the one for pictures as they are");
  if (!encoder || encoder->type != AVMEDIA_TYPE_VIDEO) {
    throw Error(Code::kUnimplemented,
                what_ + ": this FFmpeg has no video encoder \"" + options_.codec + "\"; leave the choice open");
  }
  return *encoder;
}

/// The kind of device whose frames the encoder takes; null: it takes none.
TENON_INLINE const AVCodecHWConfig* device_frames(const AVCodec& encoder) {
  for (int i = 0; const AVCodecHWConfig* config = avcodec_get_hw_config(&encoder, i); ++i)
    if ((config->methods & AV_CODEC_HW_CONFIG_METHOD_HW_FRAMES_CTX) != 0) return config;
  return nullptr;
}

TENON_INLINE std::vector<AVPixelFormat> VideoEncoder::open_device(const AVCodec& encoder, AVPixelFormat from) {
  const AVCodecHWConfig* config = device_frames(encoder);
  if (!config)
    throw Error(Code::kUnimplemented, what_ + ": encoder " + encoder.name +
                                          " takes neither pictures in host memory nor frames of a device; choose "
                                          "another encoder");
  const std::string kind = av_hwdevice_get_type_name(config->device_type);
  try {
    device_ = HardwareDevice::open(kind, options_.device);
  } catch (const Error& error) {
    throw Error(error.code(),
                what_ + ": encoder " + encoder.name + " takes frames of a device only: " + error.what() +
                    " Else choose another encoder.",
                error.native_api(), error.native_code());
  }
  const AVPixFmtDescriptor* of = av_pix_fmt_desc_get(from);
  std::vector<AVPixelFormat> formats{AV_PIX_FMT_NV12};
  AVHWFramesConstraints* known = av_hwdevice_get_hwframe_constraints(device_.buffer(), nullptr);
  for (const AVPixelFormat* each = known ? known->valid_sw_formats : nullptr; each && *each != AV_PIX_FMT_NONE; ++each)
    if (*each == AV_PIX_FMT_P010LE && of && of->comp[0].depth > 8) formats = {AV_PIX_FMT_P010LE, AV_PIX_FMT_NV12};
  av_hwframe_constraints_free(&known);
  return formats;
}

TENON_INLINE AVPixelFormat VideoEncoder::pixels() const {
  return codec_->hw_frames_ctx ? reinterpret_cast<AVHWFramesContext*>(codec_->hw_frames_ctx->data)->sw_format
                               : codec_->pix_fmt;
}

TENON_INLINE CodecPtr VideoEncoder::set_up(const AVCodec& encoder, const AVOutputFormat& container,
                                           AVPixelFormat pixels, AVRational time_base, int width, int height) const {
  CodecPtr codec(avcodec_alloc_context3(&encoder));
  if (!codec) throw Error(Code::kResourceExhausted, what_ + ": no memory for an encoder");
  codec->log_level_offset =
      AV_LOG_VERBOSE - AV_LOG_INFO;  // libx264 tells a screenful of every file; warnings still come.
  codec->pix_fmt = pixels;
  codec->width = width;
  codec->height = height;
  codec->colorspace = is_rgb(pixels) ? AVCOL_SPC_RGB : av_colour_space(resolved_colour_space(info_));
  codec->color_range = range_of(pixels, find_mapping(info_.format));
  if (device_) {
    codec->pix_fmt = device_frames(encoder)->pix_fmt;
    codec->sw_pix_fmt = pixels;
    codec->hw_frames_ctx = another(make_frames(device_.buffer(), codec->pix_fmt, pixels, width, height).get());
  }
  codec->sample_aspect_ratio = {static_cast<int>(options_.aspect_num), static_cast<int>(options_.aspect_den)};
  if (is_quarter_turn(given_.rotation) && info_.rotation == Rotation::kNone)
    std::swap(codec->sample_aspect_ratio.num, codec->sample_aspect_ratio.den);
  codec->framerate = rate_;
  codec->time_base = time_base;
  codec->thread_count = options_.threads;
  if (container.flags & AVFMT_GLOBALHEADER) codec->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
  if (is_x264(encoder)) return codec;
  if (device_) {
    // Devices take a quantiser as it is; encoders of other formats have other scales.
    if (encoder.id != AV_CODEC_ID_H264 && encoder.id != AV_CODEC_ID_HEVC) return codec;
    codec->flags |= AV_CODEC_FLAG_QSCALE;
    codec->global_quality = std::max(1, options_.quality);
    return codec;
  }
  // The scale of WebP's encoders is another one.
  if (encoder.id != AV_CODEC_ID_WEBP) {
    codec->flags |= AV_CODEC_FLAG_QSCALE;
    codec->global_quality = FF_QP2LAMBDA * std::max(2, options_.quality / 6);
  }
  if (encoder.id != AV_CODEC_ID_DIRAC) codec->bit_rate = 0;  // VC-2 has rates only.
  return codec;
}

/// The options of the encoder that are not the user's.
TENON_INLINE void add_own_options(const AVCodecContext& codec, const WriterOptions& options, Dictionary& to) {
  if (is_x264(*codec.codec)) {
    to.set("preset", options.preset);
    to.set("crf", std::to_string(options.quality));
    if (options.low_delay) to.set("tune", "zerolatency");
  }
  // It writes to standard error by itself.
  if (std::string_view(codec.codec->name) == "libx265" && av_log_get_level() <= AV_LOG_FATAL)
    to.set("x265-params", "log-level=none");
  // Without a profile it is DNxHD, which has a few sizes and bit rates only.
  if (std::string_view(codec.codec->name) == "dnxhd")
    to.set("profile", codec.pix_fmt == AV_PIX_FMT_YUV422P     ? "dnxhr_sq"
                      : codec.pix_fmt == AV_PIX_FMT_YUV422P10 ? "dnxhr_hqx"
                                                              : "dnxhr_444");
}

/// The names in options that FFmpeg hands to the encoder's own library as they are: x264-params=NAME=VALUE:NAME=VALUE.
TENON_INLINE std::vector<std::string> names_for_the_library(const WriterOptions& options) {
  std::vector<std::string> names;
  for (const auto& [key, value] : options.encoder) {
    if (!key.ends_with("-params") && key != "x264opts") continue;
    for (std::size_t at = 0; at < value.size();) {
      const std::size_t end = std::min(value.find(':', at), value.size());
      names.push_back(value.substr(at, std::min(value.find('=', at), end) - at));
      at = end + 1;
    }
  }
  return names;
}

/// Such a library warns of what it does not know ("Error parsing option 'NAME = VALUE'", "Unknown option: NAME", "Invalid value for NAME"), and
/// goes on without it. It warns of other things, too.
TENON_INLINE void check_taken_by_the_library(const std::vector<std::string>& names, const Reasons& warnings,
                                             const std::string& what) {
  const auto is_letter = [](char one) {
    return std::string_view("-_").find(one) != std::string_view::npos ||
           std::isalnum(static_cast<unsigned char>(one)) != 0;
  };
  for (const std::string& line : warnings.lines()) {
    const std::size_t refused = std::min(line.find("option"), line.find("alue for"));
    if (refused == std::string::npos) continue;
    for (const std::string& name : names) {
      const std::size_t at = name.empty() ? std::string::npos : line.find(name, refused), end = at + name.size();
      if (at == std::string::npos || (at > 0 && is_letter(line[at - 1])) || (end < line.size() && is_letter(line[end])))
        continue;
      throw Error(Code::kInvalidArgument, what + ": the encoder's library does not take \"" + name + "\": " + line);
    }
  }
}

TENON_INLINE std::vector<std::uint8_t> VideoEncoder::headers_of_a_picture() {
  const FramePtr frame = new_frame();
  const PacketPtr packet = new_packet();
  if (av_hwframe_get_buffer(codec_->hw_frames_ctx, frame.get(), 0) < 0) return {};
  frame->pts = 0;
  if (avcodec_send_frame(codec_.get(), frame.get()) < 0 || avcodec_send_frame(codec_.get(), nullptr) < 0 ||
      avcodec_receive_packet(codec_.get(), packet.get()) < 0)
    return {};
  const AVBitStreamFilter* kind = av_bsf_get_by_name("extract_extradata");
  AVBSFContext* made = nullptr;
  if (!kind || av_bsf_alloc(kind, &made) < 0) return {};
  const std::unique_ptr<AVBSFContext, void (*)(AVBSFContext*)> filter(made,
                                                                      [](AVBSFContext* last) { av_bsf_free(&last); });
  if (avcodec_parameters_from_context(filter->par_in, codec_.get()) < 0 || av_bsf_init(filter.get()) < 0 ||
      av_bsf_send_packet(filter.get(), packet.get()) < 0 || av_bsf_receive_packet(filter.get(), packet.get()) < 0)
    return {};
  std::size_t size = 0;
  const std::uint8_t* data = av_packet_get_side_data(packet.get(), AV_PKT_DATA_NEW_EXTRADATA, &size);
  return data ? std::vector<std::uint8_t>(data, data + size) : std::vector<std::uint8_t>();
}

TENON_INLINE void VideoEncoder::set_headers(const std::vector<std::uint8_t>& headers) {
  codec_->extradata = static_cast<std::uint8_t*>(av_mallocz(headers.size() + AV_INPUT_BUFFER_PADDING_SIZE));
  if (!codec_->extradata) throw Error(Code::kResourceExhausted, what_ + ": no memory for headers");
  std::copy(headers.begin(), headers.end(), codec_->extradata);
  codec_->extradata_size = static_cast<int>(headers.size());
}

TENON_INLINE void VideoEncoder::open(const AVCodec& encoder, const AVOutputFormat& container) {
  name_ = encoder.name;
  const std::string size = std::to_string(info_.width_px) + "x" + std::to_string(info_.height_px);
  if (info_.width_px == 0 || info_.height_px == 0 || info_.width_px > 16384 || info_.height_px > 16384)
    throw Error(Code::kInvalidArgument,
                what_ + ": a video of " + size + " cannot be encoded; extents must be 1..16384");
  rate_ = av_d2q(options_.fps > 0 ? options_.fps : 25, 1001000);
  if (const AVRational* rates = listed_rates(encoder, container.name))
    rate_ = rates[av_find_nearest_q_idx(rate_, rates)];
  most_steps_ = most_steps(container);
  const AVRational fine = time_base_of(encoder, container, rate_), step = av_inv_q(rate_);
  const int width = static_cast<int>(info_.width_px), height = static_cast<int>(info_.height_px);
  const bool is_odd = (width > 1 && width % 2 != 0) || (height > 1 && height % 2 != 0);
  const FormatMapping* mapping = find_mapping(info_.format);
  const AVPixelFormat from = mapping ? mapping->av : AV_PIX_FMT_YUV420P;
  std::vector<AVPixelFormat> formats{encoder_format(encoder, from, container.name)};
  if (formats.front() == AV_PIX_FMT_NONE) formats = open_device(encoder, from);
  int error = 0;
  const std::vector<std::string> names = names_for_the_library(options_);
  Reasons reasons(names.empty() ? AV_LOG_ERROR : AV_LOG_WARNING);
  for (const bool cuts : {false, true}) {
    if (cuts ? !is_odd : is_odd && device_) continue;  // Devices pad odd extents, and their streams keep the padding.
    for (const AVPixelFormat format : formats) {
      for (const AVRational base : {fine, step}) {
        const auto open_it = [&] {
          codec_ = set_up(encoder, container, format, base, cuts && width > 1 ? width & ~1 : width,
                          cuts && height > 1 ? height & ~1 : height);
          Dictionary dictionary;
          add_own_options(*codec_, options_, dictionary);
          for (const auto& [key, value] : options_.encoder) dictionary.set(key, value);
          reasons.clear();
          error = avcodec_open2(codec_.get(), &encoder, dictionary.get());
          if (error >= 0) {
            dictionary.check_all_taken(what_ + ": encoder " + name_);
            check_taken_by_the_library(names, reasons, what_ + ": encoder " + name_);
          }
          return error >= 0;
        };
        if (open_it()) {
          if (!device_ || (container.flags & AVFMT_GLOBALHEADER) == 0 || codec_->extradata_size != 0) return;
          const std::vector<std::uint8_t> headers = headers_of_a_picture();
          if (open_it() && !headers.empty()) set_headers(headers);
          return;
        }
        if (av_cmp_q(fine, step) == 0) break;
      }
    }
  }
  const std::string pictures = " pictures of " + size + " in " + ffmpeg::to_string(pixels()) + " with these options";
  throw make_error(
      error,
      what_ + ": encoder " + name_ +
          (device_ ? " does not work on this device: it may not encode " + std::string(avcodec_get_name(encoder.id)) +
                         " (vainfo lists what VA-API's do), or no" + pictures + "; choose another encoder"
                   : " takes no" + pictures) +
          reasons.text(),
      "avcodec_open2");
}

TENON_INLINE std::optional<std::int64_t> VideoEncoder::next_time(std::int64_t timestamp_ns) {
  constexpr AVRational kNanosecond{1, 1'000'000'000};
  const AVRational base = codec_->time_base;
  const bool is_counted = av_cmp_q(base, av_inv_q(rate_)) == 0;
  const double fps = options_.fps > 0 ? options_.fps : 25;
  constexpr std::int64_t kAnyTime = std::numeric_limits<std::int64_t>::max();
  const std::int64_t time_ns =
      line_.next(timestamp_ns, std::llround(1e9 / fps), most_steps_ == kAnyTime ? kAnyTime : kMostAheadNs);
  if (!first_ns_) first_ns_ = time_ns;
  std::int64_t time = av_rescale_q(time_ns - *first_ns_, kNanosecond, base);
  if (last_time_ && time <= *last_time_) {
    time = *last_time_ + 1;
    const double late = static_cast<double>(time) - static_cast<double>(time_ns - *first_ns_) / 1e9 / av_q2d(base);
    if (is_counted && late > kMostLate) return std::nullopt;
  }
  last_time_ = time;
  return time;
}

TENON_INLINE void VideoEncoder::encode(const AVFrame* picture, AVFormatContext* format) {
  const Reasons reasons;
  int error = avcodec_send_frame(codec_.get(), picture);
  if (error < 0) throw make_error(error, what_ + ": encoder " + name_ + reasons.text(), "avcodec_send_frame");
  while ((error = avcodec_receive_packet(codec_.get(), packet_.get())) >= 0) {
    AVStream* stream = format->streams[0];
    av_packet_rescale_ts(packet_.get(), codec_->time_base, stream->time_base);
    packet_->stream_index = 0;
    if (packet_->duration == 0) packet_->duration = av_rescale_q(1, av_inv_q(codec_->framerate), stream->time_base);
    error = av_interleaved_write_frame(format, packet_.get());
    // A full disk shows as an error of the byte stream, not always of the call.
    if (error >= 0 && format->pb && format->pb->error < 0) error = format->pb->error;
    if (error < 0) throw make_error(error, what_ + " cannot be written", "av_interleaved_write_frame");
  }
  if (error != AVERROR(EAGAIN) && error != AVERROR_EOF)
    throw make_error(error, what_ + ": encoder " + name_ + reasons.text(), "avcodec_receive_packet");
}

}  // namespace detail
}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
