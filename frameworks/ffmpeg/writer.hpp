// SPDX-License-Identifier: Apache-2.0
// Writer: encodes frames into files that appear only when they are complete.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <tenon/core/file.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/unfinished.hpp>
#include <tenon/frameworks/ffmpeg/av.hpp>
#include <tenon/frameworks/ffmpeg/video_encoder.hpp>

namespace tenon {
inline namespace v1 {
namespace ffmpeg {

/// Writes one video stream, or pictures: a file for each frame where the path ends like one of a picture and has a number
/// (shot%04d.png, from 1). Each file is built under a temporary name beside its target and then renamed: a program that dies or
/// fails leaves the old file in place. @thread one at a time.
class Writer {
 public:
  /// Creates the temporary file at once, so that a path that cannot be written fails before the work.
  /// @param info  Size, colour and usual format of the frames. They go to the encoder unchanged in a format that it takes;
  ///              others are converted to the nearest that it takes (encoder_format()), booked as "ffmpeg.swscale": NV12 and
  ///              NV21 to I420 as copied, since no value changes, the rest as converted. Turned pictures are written upright
  ///              ("ffmpeg.upright") where the container cannot say that they are turned. An encoder that takes even extents
  ///              only gets odd pictures without their last column or row. One that takes frames of a device only gets
  ///              those, NV12 or P010 ("ffmpeg.upload", transferred).
  /// @errors kNotFound: no such folder; kPermissionDenied; kInvalidArgument: a folder, an extension without an FFmpeg
  ///         container, a size or options that the encoder refuses; kUnimplemented: no such encoder, or a container of
  ///         several files.
  Writer(const std::filesystem::path& path, const FrameInfo& info, WriterOptions options = {});
  Writer(Writer&&) = delete;
  Writer& operator=(Writer&&) = delete;
  /// Without finish(): removes the temporary file.
  ~Writer() { discard(); }

  /// Encodes `frame`. Reads its bytes in place; the encoder may hold them until finish(). Containers and encoders that count
  /// pictures (.avi, .mxf, MPEG-2) take it to the place that is nearest to its time: one more than 1.1 steps behind the last is
  /// dropped, and where there are no gaps (.mxf, .y4m), the last one is written again until the next.
  /// @errors kInvalidArgument: a frame that it does not take, a second one for one picture; kFailedPrecondition: after finish(),
  /// or no host address.
  void write(const Frame& frame);

  /// Whether frames of that size and rotation fit: pictures may differ.
  bool takes(const FrameInfo& info) const;

  /// Writes what the encoder still holds, closes the file and renames it to its target. Nothing may be written after.
  /// @errors kResourceExhausted: the disk is full; kPermissionDenied: the target cannot be replaced.
  void finish();

  /// Those that were dropped do not count.
  std::uint64_t frames_written() const { return frames_; }
  /// The encoder's name, such as "libx264".
  const std::string& codec() const { return encoder_name_; }
  /// The temporary file that is being written; empty between pictures and after finish(). Handlers of signals that end the program
  /// remove it by remove_unfinished().
  const std::string& temporary_path() const { return partial_; }

 private:
  std::string what() const { return "output \"" + path_.string() + "\""; }

  void open();

  /// Checks the target's folder, and that the target is free or a file.
  void check_path() const;

  /// Begins a file. @errors as the constructor
  void begin(const std::filesystem::path& target);

  /// Completes the file and gives it its name.
  void complete();

  static bool fits(const FrameInfo& a, const FrameInfo& b);
  static bool has_number(const std::filesystem::path& path);
  /// The file of the next picture, or of the video.
  std::filesystem::path next_picture() const;

  void discard() noexcept;

  std::filesystem::path path_;
  FrameInfo info_;
  WriterOptions options_;
  std::string encoder_name_;
  const AVOutputFormat* container_ = nullptr;
  bool makes_pictures_ = false, is_finished_ = false;
  std::unique_ptr<NewFile> file_;
  std::string partial_;
  Unfinished unfinished_;
  AVFormatContext* format_ = nullptr;
  std::optional<detail::VideoEncoder> encoder_;
  std::uint64_t frames_ = 0;
};

}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
