// SPDX-License-Identifier: Apache-2.0
// For tests: clips made by libavcodec, and FFmpeg's own decoding of them as the oracle. Independent of tenon::ffmpeg.
#pragma once

#include <stdlib.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/imgutils.h>
#include <libavutil/opt.h>
}

namespace tenon_test {

inline void require(bool ok, const char* what) {
  if (!ok) throw std::runtime_error(std::string("test clip: ") + what);
}

/// A temporary folder, removed with the object.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "tenon_ffmpeg_XXXXXX").string();
    require(::mkdtemp(name.data()) != nullptr, "mkdtemp");
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

struct ClipSpec {
  int width = 320, height = 180, frames = 40;
  std::string codec = "libx264";
  AVPixelFormat format = AV_PIX_FMT_YUV420P;
  int seed = 1;
  const char* muxer = nullptr;  ///< Null: from the name's extension.
  AVColorSpace space = AVCOL_SPC_UNSPECIFIED;
  AVColorRange range = AVCOL_RANGE_UNSPECIFIED;
  int first = 0;  ///< Its first time, in frames.
};

/// Moving gradients with noise, so that prediction, residuals and reference pictures all matter.
inline void draw(AVFrame* frame, int index, int seed) {
  unsigned noise = static_cast<unsigned>(seed * 7919 + index);
  const AVPixFmtDescriptor* d = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame->format));
  int bytes[4] = {};
  av_image_fill_linesizes(bytes, static_cast<AVPixelFormat>(frame->format), frame->width);
  for (int p = 0; p < 4 && frame->data[p]; ++p) {
    const int height = p == 1 || p == 2 ? AV_CEIL_RSHIFT(frame->height, d->log2_chroma_h) : frame->height;
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < bytes[p]; ++x) {
        noise = noise * 1664525u + 1013904223u;
        frame->data[p][y * frame->linesize[p] + x] =
            static_cast<std::uint8_t>(x + 2 * y * (p + 1) + 3 * index + (noise >> 28));
      }
    }
  }
}

/// Writes a clip. `options` are passed to the encoder: "name=value:name=value".
inline void make_clip(const std::string& path, const ClipSpec& spec = {}, const std::string& options = "") {
  av_log_set_level(AV_LOG_FATAL);  // Encoders log a lot per clip.
  const AVCodec* codec = avcodec_find_encoder_by_name(spec.codec.c_str());
  require(codec != nullptr, ("no encoder " + spec.codec).c_str());
  AVFormatContext* out = nullptr;
  require(avformat_alloc_output_context2(&out, nullptr, spec.muxer, path.c_str()) >= 0, "muxer");
  AVCodecContext* c = avcodec_alloc_context3(codec);
  c->width = spec.width;
  c->height = spec.height;
  c->pix_fmt = spec.format;
  c->time_base = {1, 25};
  c->framerate = {25, 1};
  c->colorspace = spec.space;
  c->color_range = spec.range;
  c->thread_count = 1;
  c->strict_std_compliance = FF_COMPLIANCE_UNOFFICIAL;
  if (out->oformat->flags & AVFMT_GLOBALHEADER) c->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
  AVDictionary* dictionary = nullptr;
  if (spec.codec == "libx264") av_dict_set(&dictionary, "preset", "veryfast", 0);
  av_dict_parse_string(&dictionary, options.c_str(), "=", ":", 0);
  require(avcodec_open2(c, codec, &dictionary) >= 0, "avcodec_open2");
  av_dict_free(&dictionary);
  AVStream* stream = avformat_new_stream(out, nullptr);
  avcodec_parameters_from_context(stream->codecpar, c);
  stream->time_base = c->time_base;
  stream->avg_frame_rate = c->framerate;
  require(avio_open(&out->pb, path.c_str(), AVIO_FLAG_WRITE) >= 0, "avio_open");
  AVDictionary* mux = nullptr;
  if (path.ends_with(".mp4")) av_dict_set(&mux, "movflags", "faststart", 0);
  require(avformat_write_header(out, &mux) >= 0, "avformat_write_header");
  av_dict_free(&mux);
  AVPacket* packet = av_packet_alloc();
  for (int i = 0; i <= spec.frames; ++i) {
    AVFrame* frame = nullptr;
    if (i < spec.frames) {
      frame = av_frame_alloc();
      frame->format = spec.format;
      frame->width = spec.width;
      frame->height = spec.height;
      require(av_frame_get_buffer(frame, 0) >= 0, "av_frame_get_buffer");
      draw(frame, i, spec.seed);
      frame->pts = spec.first + i;
      frame->colorspace = spec.space;
      frame->color_range = spec.range;
    }
    require(avcodec_send_frame(c, frame) >= 0, "avcodec_send_frame");
    av_frame_free(&frame);
    while (avcodec_receive_packet(c, packet) >= 0) {
      av_packet_rescale_ts(packet, c->time_base, stream->time_base);
      packet->stream_index = 0;
      require(av_interleaved_write_frame(out, packet) >= 0, "av_interleaved_write_frame");
    }
  }
  av_write_trailer(out);
  av_packet_free(&packet);
  avcodec_free_context(&c);
  avio_closep(&out->pb);
  avformat_free_context(out);
}

/// Copies the packets of a clip and marks its pictures as rotated clockwise, as phones do.
inline void remux_turned(const std::string& from, const std::string& to, int clockwise) {
  AVFormatContext *in = nullptr, *out = nullptr;
  require(avformat_open_input(&in, from.c_str(), nullptr, nullptr) >= 0, "avformat_open_input");
  require(avformat_find_stream_info(in, nullptr) >= 0, "avformat_find_stream_info");
  const int index = av_find_best_stream(in, AVMEDIA_TYPE_VIDEO, -1, -1, nullptr, 0);
  require(index >= 0, "no video");
  require(avformat_alloc_output_context2(&out, nullptr, nullptr, to.c_str()) >= 0, "muxer");
  AVStream* stream = avformat_new_stream(out, nullptr);
  require(avcodec_parameters_copy(stream->codecpar, in->streams[index]->codecpar) >= 0, "avcodec_parameters_copy");
  stream->codecpar->codec_tag = 0;
  stream->time_base = in->streams[index]->time_base;
  stream->avg_frame_rate = in->streams[index]->avg_frame_rate;
  constexpr std::size_t kBytes = 9 * sizeof(std::int32_t);
#if LIBAVFORMAT_VERSION_INT >= AV_VERSION_INT(60, 15, 100)
  AVPacketSideData* side = av_packet_side_data_new(
      &stream->codecpar->coded_side_data, &stream->codecpar->nb_coded_side_data, AV_PKT_DATA_DISPLAYMATRIX, kBytes, 0);
  std::uint8_t* matrix = side ? side->data : nullptr;
#else
  std::uint8_t* matrix = av_stream_new_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, kBytes);
#endif
  require(matrix != nullptr, "side data");
  // Written from ISO/IEC 14496-12's matrix {a b u, c d v, x y w}, not with the function that the tested code uses.
  const std::int32_t one = 1 << 16,
                     cosine = clockwise == 0     ? one
                              : clockwise == 180 ? -one
                                                 : 0,
                     sine = clockwise == 90    ? one
                            : clockwise == 270 ? -one
                                               : 0;
  const std::int32_t values[9] = {cosine, sine, 0, -sine, cosine, 0, 0, 0, 1 << 30};
  std::memcpy(matrix, values, kBytes);
  require(avio_open(&out->pb, to.c_str(), AVIO_FLAG_WRITE) >= 0, "avio_open");
  require(avformat_write_header(out, nullptr) >= 0, "avformat_write_header");
  AVPacket* packet = av_packet_alloc();
  while (av_read_frame(in, packet) >= 0) {
    if (packet->stream_index == index) {
      av_packet_rescale_ts(packet, in->streams[index]->time_base, stream->time_base);
      packet->stream_index = 0;
      packet->pos = -1;
      require(av_interleaved_write_frame(out, packet) >= 0, "av_interleaved_write_frame");
    }
    av_packet_unref(packet);
  }
  av_packet_free(&packet);
  av_write_trailer(out);
  avio_closep(&out->pb);
  avformat_free_context(out);
  avformat_close_input(&in);
}

/// The bytes of a picture, packed, plane by plane.
inline std::vector<std::uint8_t> packed(const AVFrame* frame) {
  const auto format = static_cast<AVPixelFormat>(frame->format);
  std::vector<std::uint8_t> bytes(
      static_cast<std::size_t>(av_image_get_buffer_size(format, frame->width, frame->height, 1)));
  av_image_copy_to_buffer(bytes.data(), static_cast<int>(bytes.size()), frame->data, frame->linesize, format,
                          frame->width, frame->height, 1);
  return bytes;
}

/// All pictures of a file decoded by FFmpeg alone: one thread, its own buffers.
inline std::vector<std::vector<std::uint8_t>> decode_by_ffmpeg(const std::string& path) {
  AVFormatContext* in = nullptr;
  require(avformat_open_input(&in, path.c_str(), nullptr, nullptr) >= 0, "avformat_open_input");
  require(avformat_find_stream_info(in, nullptr) >= 0, "avformat_find_stream_info");
  const AVCodec* codec = nullptr;
  const int index = av_find_best_stream(in, AVMEDIA_TYPE_VIDEO, -1, -1, &codec, 0);
  require(index >= 0 && codec, "av_find_best_stream");
  AVCodecContext* c = avcodec_alloc_context3(codec);
  avcodec_parameters_to_context(c, in->streams[index]->codecpar);
  c->thread_count = 1;
  require(avcodec_open2(c, codec, nullptr) >= 0, "avcodec_open2");
  std::vector<std::vector<std::uint8_t>> pictures;
  AVPacket* packet = av_packet_alloc();
  AVFrame* frame = av_frame_alloc();
  for (bool end = false; !end;) {
    end = av_read_frame(in, packet) < 0;
    avcodec_send_packet(c, end ? nullptr : packet);
    av_packet_unref(packet);
    while (avcodec_receive_frame(c, frame) >= 0) pictures.push_back(packed(frame));
  }
  av_frame_free(&frame);
  av_packet_free(&packet);
  avcodec_free_context(&c);
  avformat_close_input(&in);
  return pictures;
}

}  // namespace tenon_test
