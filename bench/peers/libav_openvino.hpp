// SPDX-License-Identifier: Apache-2.0
// Shared by the programs that combine libavcodec and OpenVINO by hand, as an expert would: pictures in libavcodec's own
// buffers, a queue between threads, planes wrapped as tensors, colour, size and values converted inside the model.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
}
#include <openvino/core/preprocess/pre_post_process.hpp>
#include <openvino/runtime/core.hpp>

namespace tenon::peers {

inline void check(int result, const char* what) {
  if (result < 0) throw std::runtime_error(std::string(what) + " failed: " + std::to_string(result));
}

struct Free {
  void operator()(AVFormatContext* context) const { avformat_close_input(&context); }
  void operator()(AVCodecContext* context) const { avcodec_free_context(&context); }
  void operator()(AVPacket* packet) const { av_packet_free(&packet); }
  void operator()(AVFrame* frame) const { av_frame_free(&frame); }
};
using Picture = std::unique_ptr<AVFrame, Free>;

class Video {
 public:
  /// @param threads  0: libavcodec's default.
  explicit Video(const std::string& path, int threads = 0) {
    AVFormatContext* format = nullptr;
    check(avformat_open_input(&format, path.c_str(), nullptr, nullptr), "avformat_open_input");
    format_.reset(format);
    check(avformat_find_stream_info(format, nullptr), "avformat_find_stream_info");
    const AVCodec* codec = nullptr;
    stream_ = av_find_best_stream(format, AVMEDIA_TYPE_VIDEO, -1, -1, &codec, 0);
    check(stream_, "av_find_best_stream");
    codec_.reset(avcodec_alloc_context3(codec));
    check(avcodec_parameters_to_context(codec_.get(), format->streams[stream_]->codecpar),
          "avcodec_parameters_to_context");
    codec_->thread_count = threads;
    codec_->thread_type = FF_THREAD_FRAME | FF_THREAD_SLICE;
    check(avcodec_open2(codec_.get(), codec, nullptr), "avcodec_open2");
    if (codec_->pix_fmt != AV_PIX_FMT_YUV420P) throw std::runtime_error("this program reads yuv420p only");
  }
  std::size_t width() const { return static_cast<std::size_t>(codec_->width); }
  std::size_t height() const { return static_cast<std::size_t>(codec_->height); }

  /// The next picture, or null at the end.
  Picture read() {
    Picture picture(av_frame_alloc());
    while (true) {
      const int result = avcodec_receive_frame(codec_.get(), picture.get());
      if (result >= 0) return picture;
      if (result == AVERROR_EOF) return nullptr;
      if (result != AVERROR(EAGAIN)) check(result, "avcodec_receive_frame");
      const int read = av_read_frame(format_.get(), packet_.get());
      if (read >= 0 && packet_->stream_index == stream_)
        check(avcodec_send_packet(codec_.get(), packet_.get()), "avcodec_send_packet");
      else if (read == AVERROR_EOF)
        check(avcodec_send_packet(codec_.get(), nullptr), "avcodec_send_packet");
      else
        check(read, "av_read_frame");
      av_packet_unref(packet_.get());
    }
  }

 private:
  std::unique_ptr<AVFormatContext, Free> format_;
  std::unique_ptr<AVCodecContext, Free> codec_;
  std::unique_ptr<AVPacket, Free> packet_{av_packet_alloc()};
  int stream_ = 0;
};

/// Pictures from the decoding thread to the inferring one; a few at most, null at the end.
class Queue {
 public:
  /// @return false if no more are wanted.
  bool push(Picture picture) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return pictures_.size() < 4 || closed_; });
    pictures_.push_back(std::move(picture));
    changed_.notify_all();
    return !closed_;
  }
  Picture pop() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !pictures_.empty(); });
    Picture picture = std::move(pictures_.front());
    pictures_.pop_front();
    changed_.notify_all();
    return picture;
  }
  void close() {
    std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Picture> pictures_;
  bool closed_ = false;
};

/// A plane of the picture, in place.
inline ov::Tensor plane(const AVFrame& picture, int index, std::size_t width, std::size_t height) {
  const auto pitch = static_cast<std::size_t>(picture.linesize[index]);
  const ov::Tensor rows(ov::element::u8, {1, height, pitch, 1}, picture.data[index]);
  return pitch == width ? rows : ov::Tensor(rows, {0, 0, 0, 0}, {1, height, width, 1});
}

inline std::shared_ptr<ov::Model> with_planes(const std::shared_ptr<ov::Model>& model, std::size_t width,
                                              std::size_t height) {
  ov::preprocess::PrePostProcessor processor(model);
  auto& input = processor.input();
  input.tensor()
      .set_element_type(ov::element::u8)
      .set_color_format(ov::preprocess::ColorFormat::I420_THREE_PLANES, {"y", "u", "v"})
      .set_spatial_static_shape(height, width);
  input.preprocess()
      .convert_color(ov::preprocess::ColorFormat::RGB)
      .resize(ov::preprocess::ResizeAlgorithm::RESIZE_LINEAR)
      .convert_element_type(ov::element::f32)
      .scale(255.f);
  input.model().set_layout("NCHW");
  return processor.build();
}

}  // namespace tenon::peers
