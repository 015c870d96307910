// SPDX-License-Identifier: Apache-2.0
// Draws on a copy of the frame, and writes video and PNG.
#include <tenon/tools/tenon/show/pictures/picture.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>

#include <tenon/core/error.hpp>
#include <tenon/core/upright.hpp>
#include <tenon/elements/registry.hpp>
#include <tenon/frameworks/ffmpeg/client.hpp>
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

void fill_black(const Frame& frame) {
  vision::Canvas canvas(frame);
  canvas.fill(0, 0, canvas.width(), canvas.height(), {0, 0, 0});
}

/// Saved pictures are upright, so that every player shows them correctly. Encoders need even extents: the last column
/// or row of an odd picture is cut.
FrameInfo picture_info(const FrameInfo& given) {
  FrameInfo info = given;
  info.rotation = Rotation::kNone;
  info.width_px = std::max<std::uint32_t>(2, given.upright_width_px() & ~1u);
  info.height_px = std::max<std::uint32_t>(2, given.upright_height_px() & ~1u);
  if (is_quarter_turn(given.rotation) && !turns_into_itself(given.format)) info.format = kI420;
  return info;
}

/// Many confident detections make a good picture; doubtful ones hardly count.
double clarity_of(std::span<const vision::Detection> detections) {
  double sum = 0;
  for (const auto& detection : detections) sum += std::pow(detection.score, 4);
  return sum;
}

}  // namespace

std::vector<char> encode_picture(AVCodecID id, AVFrame& picture, const std::string& what) {
  const auto fail = [&](int error, const char* api) { return ffmpeg::client::make_error(error, what, api); };
  const AVCodec* const encoder = avcodec_find_encoder(id);
  if (!encoder) throw Error(Code::kUnimplemented, what + ": this FFmpeg has no encoder for " + avcodec_get_name(id));
  const ffmpeg::CodecPtr codec(avcodec_alloc_context3(encoder));
  const ffmpeg::PacketPtr packet = ffmpeg::client::new_packet();
  if (!codec) throw Error(Code::kResourceExhausted, what + ": no memory for an encoder");
  codec->pix_fmt = static_cast<AVPixelFormat>(picture.format);
  codec->width = picture.width;
  codec->height = picture.height;
  codec->time_base = {1, 1};
  codec->thread_count = 1;  // With frame threads the first picture would only come out after the second.
  if (const int error = avcodec_open2(codec.get(), encoder, nullptr); error < 0) throw fail(error, "avcodec_open2");
  picture.pts = 0;
  if (const int error = avcodec_send_frame(codec.get(), &picture); error < 0) throw fail(error, "avcodec_send_frame");
  avcodec_send_frame(codec.get(), nullptr);
  if (const int error = avcodec_receive_packet(codec.get(), packet.get()); error < 0)
    throw fail(error, "avcodec_receive_packet");
  return {packet->data, packet->data + packet->size};
}

std::vector<char> to_png(const Frame& frame) {
  const std::string what = "snapshot as PNG";
  Ledger own;
  const ffmpeg::FramePtr picture = ffmpeg::av_frame(frame);
  const ffmpeg::FramePtr rgb = ffmpeg::client::new_frame();
  rgb->format = AV_PIX_FMT_RGB24;
  rgb->width = picture->width;
  rgb->height = picture->height;
  if (const int error = av_frame_get_buffer(rgb.get(), 0); error < 0)
    throw ffmpeg::client::make_error(error, what, "av_frame_get_buffer");
  ffmpeg::client::Converter().convert(*picture, *rgb, own);
  return encode_picture(AV_CODEC_ID_PNG, *rgb, what);
}

Pictures::Pictures(const std::string& video_path, const std::string& snapshot_path, CommandFiles& files,
                   const FrameInfo& info, double fps)
    : info_(picture_info(info)), pool_(info_, pool_requirements(), 256) {
  snapshot_ = OutputFile(snapshot_path, "--snapshot", files);
  if (video_path.empty()) return;
  files.add_output(video_path, "--save");
  const HeldSignals held;  // Between creating the file and registering it as unfinished.
  writer_.emplace(video_path, info_, writer_options(fps, ledger_));
}

Frame Pictures::as_i420(const Frame& frame) {
  const ffmpeg::FramePtr picture = ffmpeg::av_frame(frame);
  const ffmpeg::FramePtr out = ffmpeg::client::new_frame();
  out->format = AV_PIX_FMT_YUV420P;
  out->width = picture->width;
  out->height = picture->height;
  if (const int error = av_frame_get_buffer(out.get(), 0); error < 0)
    throw ffmpeg::client::make_error(error, "a picture to draw on", "av_frame_get_buffer");
  converter_.convert(*picture, *out, ledger_);
  return ffmpeg::wrap(out.get());
}

Frame Pictures::canvas(const Frame& frame) {
  static const EdgeId edge = register_edge("frame->picture");
  Frame out = pool_.acquire();
  out.set_timestamp_ns(frame.timestamp_ns());
  const FrameInfo& given = frame.info();
  const bool covers = given.upright_width_px() >= info_.width_px && given.upright_height_px() >= info_.height_px;
  if (!covers) fill_black(out);
  const std::uint64_t bytes = copy_upright(frame, out);
  ledger_.book_map(edge, false);
  ledger_.book_copied(edge, bytes);
  return out;
}

void Pictures::draw_all(Frame& picture, const std::shared_ptr<metadata::Collection>& all) {
  if (!draw_) {
    draw_ =
        std::get<std::unique_ptr<elements::TransformInplace>>(elements::make_element("draw", {}, {"draw", &ledger_}));
    draw_->open(0, {info_});
  }
  metadata::set(picture, all);
  draw_->process(0, picture);
}

void Pictures::show(const Frame& frame, std::span<const vision::Detection> detections,
                    const std::shared_ptr<metadata::Collection>& all) {
  const double clarity = clarity_of(detections);
  const bool is_best = snapshot_ && clarity > best_clarity_;
  if (!writer_ && !is_best) return;
  const TraceSpan span("draw and encode", "picture");
  Frame shown = frame;
  const bool turns = !is_quarter_turn(frame.info().rotation) || turns_into_itself(frame.info().format);
  if (!turns && info_.format == kI420) shown = as_i420(frame);
  if (!(shown.info().format == info_.format) || (!turns && !(info_.format == kI420))) {
    ++left_out_;
    return;
  }
  Frame picture = canvas(shown);
  if (all)
    draw_all(picture, all);
  else
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
