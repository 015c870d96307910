// SPDX-License-Identifier: Apache-2.0
// One of libavcodec's decoders, fed a picture at a time. Clients name the surface of each picture in decoding order, so
// this tells which frame a packet was decoded to, whatever the order in which the decoder gives frames out.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include <tenon/drivers/vaapi/codec/bits.hpp>

extern "C" {
#include <libavcodec/avcodec.h>
}

namespace tenon::va {

/// @thread one at a time.
class Decoder {
 public:
  /// @param name  libavcodec's name of the decoder. @errors std::bad_alloc; tenon::Error: no such decoder here.
  explicit Decoder(const char* name);
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  /// Whether this libavcodec has it.
  static bool exists(const char* name) noexcept;

  /// Decodes one picture, or one of a frame's two fields.
  /// @param packet  Grows by libavcodec's padding, and shrinks back.
  /// @return The frame that it was decoded to, valid until the next call; null if the decoder made none.
  const AVFrame* decode(Bytes& packet);

 private:
  struct Free {
    void operator()(AVCodecContext* context) const { avcodec_free_context(&context); }
    void operator()(AVFrame* frame) const { av_frame_free(&frame); }
    void operator()(AVPacket* packet) const { av_packet_free(&packet); }
  };
  static int get_buffer(AVCodecContext* context, AVFrame* frame, int flags);
  int receive_all();

  bool gives_frames_only_ = false;  ///< Another library's decoder, whose frames are seen when it gives them out.
  std::unique_ptr<AVFrame, Free> current_, shown_;
  std::unique_ptr<AVPacket, Free> packet_;
  std::unique_ptr<AVCodecContext, Free> context_;  ///< The last: closing it may still use the frames.
};

}  // namespace tenon::va
