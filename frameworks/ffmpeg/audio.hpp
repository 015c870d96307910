// SPDX-License-Identifier: Apache-2.0
// Audio in AVFrames as AudioFrame, and decoding of audio streams.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <tenon/core/audio.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/stream_time.hpp>
#include <tenon/frameworks/ffmpeg/av.hpp>
#include <tenon/frameworks/ffmpeg/input.hpp>

struct SwrContext;

namespace tenon {
inline namespace v1 {
namespace ffmpeg {

/// Wraps the samples of `frame` in place, with a reference of its own, as wrap() does for pictures.
/// @param time_base  Time base of frame->pts; {0, 0} means frame->time_base.
/// @errors kInvalidArgument: null, no audio, not reference-counted; kOutOfRange: more samples than its buffers hold;
/// kResourceExhausted. @thread any. @cost av_frame_ref and one small object per buffer; moves no bytes.
AudioFrame wrap_audio(const AVFrame* frame, AVRational time_base = {0, 0});

/// What an audio stream is read as. Zeros keep what the stream has.
struct AudioOptions {
  Options input;               ///< As for videos; sizes have no meaning.
  std::uint32_t rate_hz = 0;   ///< Resampled to this by libswresample, and booked as converted ("ffmpeg.swresample").
  std::uint32_t channels = 0;  ///< Mixed to this many with FFmpeg's weights, scaled so that full scale stays.
};

/// Decoded audio of a file, stream or device. Samples are wrapped where the decoder left them, unless a rate or a number
/// of channels is asked for. @thread one at a time.
class Audio {
 public:
  /// @errors as those of Video; kInvalidArgument: no audio in it.
  explicit Audio(const std::string& name, AudioOptions options = {});

  /// The next samples; nothing at the end. A damaged packet is left out.
  /// @errors kDeadlineExceeded, kUnavailable, kDataLoss: as Video::read().
  std::optional<AudioFrame> read(Deadline deadline);
  std::optional<AudioFrame> read();

 private:
  struct FreeResampler {
    void operator()(SwrContext* resampler) const;
  };

  std::string what() const { return "audio \"" + name_ + "\""; }

  /// A decoded frame, or the resampler's rest for null; nothing where that is none.
  std::optional<AudioFrame> finish(AVFrame* decoded);

  std::optional<AudioFrame> resample(AVFrame* decoded);
  void open_resampler(AVFrame& from);
  void book(const AVFrame& decoded) const;

  AudioOptions options_;
  detail::Input input_;
  std::string name_;
  CodecPtr codec_;
  PacketPtr packet_;
  FramePtr frame_;
  std::unique_ptr<SwrContext, FreeResampler> resampler_;
  int rate_hz_ = 0, channels_ = 0;
  std::int64_t begin_ns_ = kNoTimestamp, made_ = 0;
  bool flushed_ = false;
  StreamTime time_;
  std::int64_t step_ns_ = 0;  ///< The length of the last frame.
};

}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
