// SPDX-License-Identifier: Apache-2.0
// One of libavcodec's decoders, fed a picture at a time. Clients name the surface of each picture in decoding order, so
// this tells which frame a packet was decoded to, whatever the order in which the decoder gives frames out.
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

/// The most pixels that a surface's picture may have: libavcodec aligns, and a wrong size would cost memory and time.
std::int64_t most_pixels(const Surface& surface) noexcept;

/// Where it may run ahead, libavcodec decodes several pictures at once, each in a thread of its own, and none of them is
/// done before as many more were given. Packets without a picture push the last ones through, and change nothing else.
/// @thread one at a time.
class Decoder {
 public:
  /// @param name  libavcodec's name of the decoder. @param runs_ahead  Where it can; else threads share each picture.
  /// @errors std::bad_alloc; tenon::Error: no such decoder here.
  Decoder(const char* name, bool runs_ahead);
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  bool runs_ahead() const noexcept { return behind_ > 0; }
  /// Whether this libavcodec has it.
  static bool exists(const char* name) noexcept;

  /// Gives it one picture, or one of a frame's two fields.
  /// @param packet  Grows by libavcodec's padding, and shrinks back. Not needed afterwards.
  /// @param target  Where the picture goes: what can be decoded to there is; the result tells the rest. Pictures with more
  /// than its most_pixels() are errors.
  /// @param may_be_second_field  Of the frame of the picture before.
  /// @errors std::bad_alloc: nothing was given.
  void give(Bytes& packet, const Ref<Surface>& target, bool may_be_second_field);
  /// Brings the oldest picture one step nearer to its end, without another picture.
  void push();

  struct Result {
    const AVFrame* frame;  ///< Valid until the next call; null if the decoder made none.
  };
  /// The oldest picture that was given and not taken, if it is done.
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

  bool asks_first_ = false;         ///< For a step's picture, and then for what stands in for lost ones; else last.
  bool gives_frames_only_ = false;  ///< Another library's decoder, whose frames are seen when it gives them out.
  std::size_t behind_ = 0;          ///< Steps between a picture and its end.
  Bytes filler_;                    ///< A packet without a picture, with libavcodec's padding.
  std::uint64_t last_number_ = 0;
  PictureMemory memory_;
  std::mutex mutex_;         ///< Of steps_: libavcodec asks for memory in its threads.
  std::vector<Step> steps_;  ///< Those whose results were not taken: those that run, and what settle() adds, at most.
  Frame taken_, shown_;
  std::unique_ptr<AVPacket, Free> packet_;
  std::unique_ptr<AVCodecContext, Free> context_;  ///< The last: closing it may still use the frames.
};

}  // namespace tenon::va
