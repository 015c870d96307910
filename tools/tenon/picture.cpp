// SPDX-License-Identifier: Apache-2.0
// Drawing on a copy of the frame, video and PNG.
#include "picture.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <tenon/core/error.hpp>
#include <tenon/frameworks/ffmpeg/convert.hpp>
#include <tenon/vision/draw.hpp>

namespace tenon::tool {
namespace {

Requirements pool_requirements() {
  Requirements wanted;
  wanted.pitch_alignment = 64;
  wanted.host_access = true;
  return wanted;
}

ffmpeg::WriterOptions writer_options(double fps, Ledger& ledger) {
  ffmpeg::WriterOptions options;
  if (fps > 0) options.fps = fps;
  options.ledger = &ledger;
  // The picture must not cost more than the model: "veryfast" took 15 ms of CPU for a 720p frame of the demo, this
  // takes 9.
  options.preset = "superfast";
  return options;
}

/// Luma 16 and neutral chroma, or zeros: black in any format that is drawn on.
void fill_black(const Frame& frame) {
  const PixelFormatInfo& format = format_info(frame.info().format);
  for (std::size_t p = 0; p < frame.plane_count(); ++p) {
    const Tensor& plane = frame.plane(p);
    const PlaneExtent extent = plane_extent(frame.info(), p);
    const int value = format.model != ColourModel::kYuv ? 0 : p == 0 ? 16 : 128;
    for (std::uint32_t y = 0; y < extent.height_px; ++y) {
      std::memset(static_cast<std::byte*>(plane.data()) + plane.byte_strides()[0] * y, value, extent.row_bytes);
    }
  }
}

/// Encoders want even extents: the last column or row of an odd picture is cut.
FrameInfo even(FrameInfo info) {
  info.width_px = std::max<std::uint32_t>(2, info.width_px & ~1u);
  info.height_px = std::max<std::uint32_t>(2, info.height_px & ~1u);
  return info;
}

/// Many sure detections make a good picture; doubtful ones hardly count.
double clarity_of(std::span<const vision::Detection> detections) {
  double sum = 0;
  for (const auto& detection : detections) sum += std::pow(detection.score, 4);
  return sum;
}

}  // namespace

std::vector<char> to_png(const Frame& frame) {
  const auto fail = [](int error, const char* api) {
    return ffmpeg::detail::make_error(error, "snapshot as PNG", api);
  };
  const AVCodec* encoder = avcodec_find_encoder(AV_CODEC_ID_PNG);
  if (!encoder) throw Error(Code::kUnimplemented, "snapshot: this FFmpeg has no PNG encoder");
  Ledger own;
  const ffmpeg::FramePtr picture = ffmpeg::av_frame(frame);
  const ffmpeg::FramePtr rgb = ffmpeg::detail::new_frame();
  rgb->format = AV_PIX_FMT_RGB24;
  rgb->width = picture->width;
  rgb->height = picture->height;
  if (const int error = av_frame_get_buffer(rgb.get(), 0); error < 0) throw fail(error, "av_frame_get_buffer");
  ffmpeg::detail::Converter().convert(*picture, *rgb, own);
  const ffmpeg::CodecPtr codec(avcodec_alloc_context3(encoder));
  const ffmpeg::PacketPtr packet = ffmpeg::detail::new_packet();
  if (!codec) throw Error(Code::kResourceExhausted, "snapshot: no memory for an encoder");
  codec->pix_fmt = AV_PIX_FMT_RGB24;
  codec->width = rgb->width;
  codec->height = rgb->height;
  codec->time_base = {1, 1};
  codec->thread_count = 1;  // With frame threads the first picture would come out only after the second.
  if (const int error = avcodec_open2(codec.get(), encoder, nullptr); error < 0) throw fail(error, "avcodec_open2");
  rgb->pts = 0;
  if (const int error = avcodec_send_frame(codec.get(), rgb.get()); error < 0) throw fail(error, "avcodec_send_frame");
  avcodec_send_frame(codec.get(), nullptr);
  if (const int error = avcodec_receive_packet(codec.get(), packet.get()); error < 0)
    throw fail(error, "avcodec_receive_packet");
  return {packet->data, packet->data + packet->size};
}

Pictures::Pictures(const std::string& video_path, const std::string& snapshot_path, const FrameInfo& info, double fps)
    : info_(even(info)), pool_(info_, pool_requirements(), 256) {
  if (!snapshot_path.empty()) snapshot_ = OutputFile(snapshot_path, "--snapshot");
  if (!video_path.empty()) writer_.emplace(video_path, info_, writer_options(fps, ledger_));
}

Frame Pictures::canvas(const Frame& frame) {
  static const EdgeId edge = register_edge("frame->picture");
  Frame out = pool_.acquire();
  out.set_timestamp_ns(frame.timestamp_ns());
  const FrameInfo& given = frame.info();
  const bool covers = given.width_px >= info_.width_px && given.height_px >= info_.height_px;
  if (!covers) fill_black(out);
  std::uint64_t bytes = 0;
  for (std::size_t p = 0; p < frame.plane_count(); ++p) {
    const Tensor &from = frame.plane(p), &to = out.plane(p);
    const PlaneExtent a = plane_extent(given, p), b = plane_extent(info_, p);
    const std::size_t row = std::min(a.row_bytes, b.row_bytes), rows = std::min(a.height_px, b.height_px);
    const auto* source = static_cast<const std::byte*>(from.data());
    auto* target = static_cast<std::byte*>(to.data());
    for (std::size_t y = 0; y < rows; ++y) {
      std::memcpy(target + to.byte_strides()[0] * static_cast<std::ptrdiff_t>(y),
                  source + from.byte_strides()[0] * static_cast<std::ptrdiff_t>(y), row);
    }
    bytes += row * rows;
  }
  ledger_.book_map(edge, false);
  ledger_.book_copied(edge, bytes);
  return out;
}

void Pictures::show(const Frame& frame, std::span<const vision::Detection> detections) {
  const double clarity = clarity_of(detections);
  const bool is_best = snapshot_ && clarity > best_clarity_;
  if (!writer_ && !is_best) return;
  if (!(frame.info().format == info_.format)) {
    ++left_out_;
    return;
  }
  const TraceSpan span("draw and encode", "picture");
  const Frame picture = canvas(frame);
  vision::draw(picture, detections);
  if (is_best) {
    best_ = picture;
    best_clarity_ = clarity;
  }
  if (writer_) writer_->write(picture);
}

void Pictures::finish() {
  if (writer_) writer_->finish();
  if (!snapshot_) return;
  if (!best_)
    throw Error(Code::kFailedPrecondition,
                "--snapshot \"" + snapshot_.path().string() + "\": no frame came, so there is no picture");
  const std::vector<char> png = to_png(best_);
  snapshot_.commit({png.data(), png.size()});
}

}  // namespace tenon::tool
