// SPDX-License-Identifier: Apache-2.0
// Video: decodes a file, stream or camera into frames; on request straight into Tenon's memory.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <tenon/core/context.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/router.hpp>
#include <tenon/frameworks/ffmpeg/frame.hpp>  // IWYU pragma: export
#include <tenon/frameworks/ffmpeg/input.hpp>  // IWYU pragma: export

namespace tenon {
inline namespace v1 {
namespace ffmpeg {

/// A decoded video. Frames come in display order. Each holds its buffer until its last copy goes, and may outlive the
/// Video.
/// @thread one thread at a time; frames may go to others.
class Video {
 public:
  /// @errors see open()
  explicit Video(const std::string& name, Options options = {});
  Video(Video&&) noexcept;
  Video& operator=(Video&&) noexcept;
  ~Video();

  /// Format, size, colour and rotation of the last frame read; before the first, those in the stream's header. A
  /// rotated video's planes are as stored: FrameInfo::rotation says how to turn them, and the input stage does it.
  /// Matrices that rotate by other than quarter turns are not reported.
  const FrameInfo& info() const;
  /// Frames per second from the stream's header or statistics; 0 when unknown.
  double fps() const;
  /// Width to height of a pixel as stored; {1, 1} where neither the container nor the stream says it.
  AVRational pixel_aspect() const;
  /// Number of frames if the container states it; exact for most files, for some an estimate from the duration.
  std::optional<std::uint64_t> frame_count() const;
  std::optional<std::chrono::nanoseconds> duration() const;
  /// A camera, network stream or playlist that still grows: its end is not known beforehand.
  bool live() const;
  /// "h264".
  std::string codec() const;
  /// Where frames are stored, for reports: "h264 -> pool(memfd)", "rawvideo -> ffmpeg".
  std::string path() const;

  /// Makes the decoder write straight into pooled memory that meets `wanted`: one allocation for decoder and consumers.
  /// Applies from the next buffer; may be called again. For a decoder without direct rendering, each frame is copied
  /// into the pool; the ledger books that as "ffmpeg.decoder-copy" and path() names it.
  /// @param allocator  Makes the memory; null: the host, as a memfd if wanted.fd asks for it. Must be host-addressable.
  /// @param limit      Most buffers; at the limit, read() waits up to options.read_timeout for frames to be dropped, or
  ///                   for devices that still read them. After that the picture is lost.
  /// @errors kFailedPrecondition: requirements that no decoder meets, or a copy under ZeroCopy::kRequire;
  /// kInvalidArgument: a limit of 0.
  void use_pool(const Requirements& wanted = {}, const Context& allocator = {}, std::size_t limit = 1024);
  /// The same with what Router::plan() found to serve the decoder and all readers of its frames.
  /// @errors as above; kFailedPrecondition: a plan that is not possible, with its explanation.
  void use_pool(const AllocationPlan& plan, std::size_t limit = 1024);

  /// The next frame; nothing at the end. Its time moves on even where the stream's clock jumps (StreamTime): in joined recordings,
  /// at a discontinuity of HLS, when a sender was restarted. A frame without a time after others with one follows by a step. A change of
  /// size, format or rotation in mid-stream appears in the frame's info(), and once as metadata "size_changed".
  /// @param deadline  Holds for cameras and streams; a file has options.read_timeout at least.
  /// @errors kDeadlineExceeded: nothing came in time, call again or give up; kDataLoss, after the last good frame: the
  ///         file is truncated or damaged (packets that are missing within MPEG-TS are only counted); kUnavailable: the camera or connection is lost; errors of use_pool()'s
  ///         allocator.
  std::optional<Frame> read(Deadline deadline);
  std::optional<Frame> read();

  /// Frames read so far; how often the size or format changed; packets that could not be decoded; frames that were decoded
  /// although data of theirs, or of those that they refer to, was missing (a stream's lost packets), as far as decoders say.
  std::uint64_t frames_read() const;
  std::uint64_t size_changes() const;
  std::uint64_t damaged_packets() const;
  std::uint64_t damaged_frames() const;
  /// Buffers allocated by the current pool; 0 without a pool.
  std::size_t pool_size() const;

  /// Input iterator: incrementing it reads the next frame, with the default deadline.
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Frame;
    using difference_type = std::ptrdiff_t;
    using pointer = const Frame*;
    using reference = const Frame&;

    Iterator() = default;
    explicit Iterator(Video* video) : video_(video) { ++*this; }
    reference operator*() const { return *frame_; }
    pointer operator->() const { return &*frame_; }
    Iterator& operator++();
    void operator++(int) { ++*this; }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.video_ == b.video_; }

   private:
    Video* video_ = nullptr;
    std::optional<Frame> frame_;
  };
  Iterator begin() { return Iterator(this); }
  Iterator end() { return {}; }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Opens a file, a stream (http, rtsp, udp, ...) or a camera (/dev/video0).
/// @errors kNotFound: no such file, no such stream; kInvalidArgument: a folder, an empty file, not a video, an unknown
///         option; kUnimplemented: no decoder; kPermissionDenied; kUnavailable: connection refused, device busy;
///         kDeadlineExceeded: options.open_timeout passed. Messages name the file and the remedy.
/// @thread any. @cost probing: reads the beginning of the stream.
inline Video open(const std::string& name, Options options = {}) { return Video(name, std::move(options)); }

}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
