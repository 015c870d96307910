// SPDX-License-Identifier: Apache-2.0
// Writer: encodes frames into a file that appears only when it is complete.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <tenon/core/frame.hpp>
#include <tenon/frameworks/ffmpeg/av.hpp>
#include <tenon/frameworks/ffmpeg/video_encoder.hpp>

namespace tenon {
inline namespace v1 {
namespace ffmpeg {

/// Writes one video stream. The file is built under a temporary name beside the target and renamed by finish(): a
/// program that dies or fails leaves the old file in place. @thread one at a time.
class Writer {
 public:
  /// Creates the temporary file at once, so that a path that cannot be written fails before the work.
  /// @param info  Size, colour and usual format of the frames. I420, NV12 (libx264 only) and I422, I444 (libx264) go to
  ///              the encoder unchanged; other formats become I420, booked as "ffmpeg.swscale": NV12 and NV21
  ///              as copied, since no value changes, the rest as converted.
  /// @errors kNotFound: no such folder; kPermissionDenied; kInvalidArgument: a folder, an extension without an FFmpeg
  ///         container, odd extents; kUnimplemented: no such encoder, or a container that cannot store info.rotation.
  Writer(const std::filesystem::path& path, const FrameInfo& info, WriterOptions options = {});
  Writer(Writer&&) = delete;
  Writer& operator=(Writer&&) = delete;
  /// Without finish(): removes the temporary file.
  ~Writer() { discard(); }

  /// Encodes `frame`. Reads its bytes in place; the encoder may hold them until finish().
  /// @errors kInvalidArgument: another size or rotation than the first; kFailedPrecondition: after finish(), or no host
  /// address.
  void write(const Frame& frame);

  /// Writes what the encoder still holds, closes the file and renames it to its target. Nothing may be written after.
  /// @errors kResourceExhausted: the disk is full; kPermissionDenied: the target cannot be replaced.
  void finish();

  std::uint64_t frames_written() const { return frames_; }
  /// The encoder's name, such as "libx264".
  const std::string& codec() const { return encoder_name_; }
  /// The temporary file until finish(), for programs that remove it when ended by a signal; empty afterwards.
  const std::string& temporary_path() const { return partial_; }

 private:
  std::string what() const { return "output \"" + path_.string() + "\""; }

  void open();

  /// The muxers of MP4 and QuickTime write display matrices in every FFmpeg version.
  static bool says_rotation(const AVOutputFormat& container);

  /// Creates an empty file beside the target, so that the rename stays within one file system.
  std::string make_partial(const std::filesystem::path& folder);

  void discard() noexcept;

  std::filesystem::path path_;
  std::string partial_;
  FrameInfo info_;
  WriterOptions options_;
  std::string encoder_name_;
  AVFormatContext* format_ = nullptr;
  std::optional<detail::VideoEncoder> encoder_;
  std::uint64_t frames_ = 0;
};

}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
