// SPDX-License-Identifier: Apache-2.0
// One of libavcodec's decoders, one picture per call. Clients name the surface of each picture in decoding order, so
// this class tells to which frame a packet was decoded, independent of the decoder's output order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include <tenon/drivers/vaapi/codec/bits.hpp>
#include <tenon/drivers/vaapi/codec/picture_memory.hpp>

extern "C" {
#include <libavcodec/avcodec.h>
}

namespace tenon::va {

/// The largest number of pixels of a surface's picture, alignment by libavcodec included. The limit keeps a wrong size
/// from costing memory and time.
std::int64_t max_pixels(const Surface& surface) noexcept;

/// If it may run ahead, libavcodec decodes several pictures at once, each in a thread of its own, and a picture is
/// finished only when as many more were submitted. Packets without a picture flush the last ones and change nothing
/// else.
/// @thread one at a time.
class Decoder {
 public:
  /// @param name  libavcodec's name of the decoder. @param runs_ahead  Uses frame threads if possible; otherwise slice
  /// threads.
  /// @errors std::bad_alloc; tenon::Error: no such decoder here.
  Decoder(const char* name, bool runs_ahead);
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  bool runs_ahead() const noexcept { return behind_ > 0; }
  /// Whether this libavcodec has the decoder.
  static bool exists(const char* name) noexcept;

  /// Submits one picture, or one of a frame's two fields.
  /// @param packet  Grows by libavcodec's padding, and shrinks back. Not needed afterwards.
  /// @param target  The picture's surface. Planes that can be decoded in place are; the result tells which others must
  /// be copied. Pictures with more than its max_pixels() are errors.
  /// @param may_be_second_field  The picture may be the second field of the previous frame.
  /// @errors std::bad_alloc: nothing was submitted.
  void give(Bytes& packet, const Ref<Surface>& target, bool may_be_second_field);
  /// Advances the oldest picture by one step, without a new picture.
  void push();

  struct Result {
    const AVFrame* frame;  ///< Valid until the next call; null if the decoder made none.
  };
  /// The oldest picture that was submitted and not taken yet, if it is done.
  std::optional<Result> take();

 private:
  struct Free {
    void operator()(AVCodecContext* context) const { avcodec_free_context(&context); }
    void operator()(AVFrame* frame) const { av_frame_free(&frame); }
    void operator()(AVPacket* packet) const { av_packet_free(&packet); }
  };
  using Frame = std::unique_ptr<AVFrame, Free>;
  struct Step {
    std::uint64_t number = 0;
    Ref<Surface> target;
    bool is_picture = false, may_be_second_field = false, done = false, failed = false;
    Frame frame;
  };

  static int get_buffer(AVCodecContext* context, AVFrame* frame, int flags);
  int keep(std::uint64_t number, AVFrame* frame);
  bool step(std::span<std::uint8_t> padded, Step step);
  bool send(std::span<std::uint8_t> padded);
  int receive_all();
  void settle();

  bool asks_first_ = false;         ///< The decoder asks for memory of the step's picture first, then for stand-ins of
                                    ///< lost ones; otherwise last.
  bool gives_frames_only_ = false;  ///< A decoder of another library, whose frames are visible only in its output.
  std::size_t behind_ = 0;          ///< Number of steps from a picture's submission to its end.
  Bytes filler_;                    ///< A packet without a picture, with libavcodec's padding.
  std::uint64_t last_number_ = 0;
  PictureMemory memory_;
  std::mutex mutex_;         ///< Guards steps_: libavcodec asks for memory in its threads.
  std::vector<Step> steps_;  ///< Steps whose results were not taken: at most the running ones and those that settle()
                             ///< adds.
  Frame taken_, shown_;
  std::unique_ptr<AVPacket, Free> packet_;
  std::unique_ptr<AVCodecContext, Free> context_;  ///< The last member: closing it may still use the frames.
};

}  // namespace tenon::va
