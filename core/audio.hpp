// SPDX-License-Identifier: Apache-2.0
// AudioFrame: audio samples in place, and their conversion to a model's input tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/tensor.hpp>

namespace tenon {
inline namespace v1 {

/// A value: sampling, planes, timestamp, metadata. Interleaved audio has one plane [samples, channels], planar audio one
/// [samples] per channel, wherever each lies. Copies share planes and metadata.
class TENON_API AudioFrame {
 public:
  AudioFrame() = default;
  /// @errors kInvalidArgument: no channels or rate; planes whose count, extents or element type do not fit `info` (both
  /// sides named).
  AudioFrame(const AudioInfo& info, std::vector<Tensor> planes, std::int64_t timestamp_ns = kNoTimestamp);

  explicit operator bool() const { return !planes_.empty(); }
  const AudioInfo& info() const { return info_; }
  std::span<const Tensor> planes() const { return planes_; }
  /// Samples of each channel.
  std::size_t sample_count() const { return planes_.empty() ? 0 : planes_.front().shape()[0]; }
  /// Channel `index` as [samples], strided if it is interleaved with others. @errors kOutOfRange
  Tensor channel(std::size_t index) const;
  std::int64_t timestamp_ns() const { return timestamp_ns_; }
  void set_timestamp_ns(std::int64_t value) { timestamp_ns_ = value; }
  std::int64_t duration_ns() const;
  /// Created on first use; shared by copies made after that.
  metadata::Collection& metadata();
  /// Null when there is none.
  std::shared_ptr<const metadata::Collection> find_metadata() const { return metadata_; }
  /// Replaces this frame's collection; copies made before keep theirs.
  void set_metadata(std::shared_ptr<metadata::Collection> collection) { metadata_ = std::move(collection); }

 private:
  AudioInfo info_;
  std::vector<Tensor> planes_;
  std::int64_t timestamp_ns_ = kNoTimestamp;
  std::shared_ptr<metadata::Collection> metadata_;
};

/// The samples of `audio` as new f32 [channels, samples], full scale at 1 and -1. One channel from several is their mean,
/// several from one are equal. Waits for the last write to the planes; books the bytes read as converted ("audio.waveform").
/// @errors kUnimplemented: other changes of the number of channels, samples of a type that audio does not have;
/// kFailedPrecondition: the CPU does not reach the planes (map them to the CPU first); kDeadlineExceeded.
TENON_API Tensor waveform(const AudioFrame& audio, std::size_t channels, Ledger* ledger = nullptr,
                          Deadline deadline = default_deadline());

/// Cuts a stream of audio frames of any length into windows for a model: f32 [channels, samples], each `hop` samples after
/// the one before. A gap in the timestamps begins a new window after it.
/// @thread one at a time. @cost samples are converted once, and copied once for each window that they are in.
class TENON_API AudioWindows {
 public:
  struct Window {
    Tensor samples;                            ///< f32 [channels, window].
    std::int64_t timestamp_ns = kNoTimestamp;  ///< Time of the first sample.
  };
  /// @param channels  1 mixes all. @param rate_hz  Sampling rate that the model was trained with.
  /// @errors kInvalidArgument: a 0, or a hop beyond the window.
  AudioWindows(std::size_t channels, std::uint32_t rate_hz, std::size_t window, std::size_t hop);

  /// @errors kInvalidArgument: another rate than the model's (the message names resamplers); those of waveform(). On
  /// error the state is unchanged.
  void push(const AudioFrame& audio, Ledger* ledger = nullptr);
  /// The next window; nothing until enough samples have arrived.
  std::optional<Window> next();
  /// The last window at the end of the stream, padded with silence; nothing if every sample has been in a window.
  std::optional<Window> flush();
  /// Drops all samples.
  void clear();

 private:
  Window cut(std::size_t filled);
  std::int64_t time_at(std::size_t sample) const;

  std::size_t channels_, window_, hop_;
  std::uint32_t rate_hz_;
  std::vector<std::vector<float>> samples_;  ///< Per channel; samples before position_ are no longer needed.
  std::size_t position_ = 0;                 ///< Start of the next window in samples_.
  std::size_t fresh_ = 0;                    ///< First sample that was in no window yet.
  std::int64_t begin_ns_ = kNoTimestamp;     ///< Time of the first sample in samples_.
};

}  // namespace v1
}  // namespace tenon
