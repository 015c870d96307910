// SPDX-License-Identifier: Apache-2.0
// Where the frames of a run come from: the source elements of pipelines, chosen by what an input looks like.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tenon/core/frame.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/router.hpp>
#include <tenon/elements/element.hpp>

namespace tenon::tool {

/// What to open, and what to ask of it. 0: as it gives.
struct SourceOptions {
  std::string input;
  ZeroCopy policy = ZeroCopy::kPrefer;
  Ledger* ledger = nullptr;  ///< Where copies and waits on the way into a frame are booked.
  /// Decodes by VA-API instead of on the CPU, on this DRM node. Empty: on the CPU.
  std::string va_node;
  std::size_t in_flight = 0;       ///< Frames that are used at a time; 0: not known yet.
  std::string transport = "auto";  ///< Of rtsp streams: as the element "file" has it.
  // Of cameras only:
  PixelFormat format{0};
  std::uint32_t width_px = 0, height_px = 0;
  double fps = 0;
  bool asks_a_camera() const { return format.fourcc || width_px || height_px || fps != 0; }
};

/// An open input. @thread one at a time.
class FrameSource {
 public:
  /// Which element reads it.
  enum class Kind : std::uint8_t { kFile, kCamera, kLaunchLine };

  /// @errors as the element's; kInvalidArgument: a camera's settings for what is no camera; kUnavailable: no GStreamer.
  explicit FrameSource(SourceOptions options);

  Kind kind() const { return kind_; }
  bool decodes_by_va() const { return !options_.va_node.empty(); }
  /// Of the last frame; before the first, of what will come.
  const FrameInfo& info() const { return info_; }
  /// 0: unknown.
  double fps() const { return opened_.frames_per_second; }
  /// A camera or a stream, whose end is not known beforehand, and which cannot be played twice.
  bool live() const { return opened_.is_live; }
  /// What arrives ("h264", "nv12"), where it is put ("pool(memfd)"), what was lost.
  elements::SourceReport report() const;
  /// Buffers that frames were in so far; as many as frames if there were too many to be a pool.
  std::size_t buffers() const;
  std::uint64_t size_changes() const { return size_changes_; }

  /// Puts frames into memory that `readers` share from now on, or leaves them where they are read just as well.
  /// @param in_flight  Frames that are used at a time. @errors of the element's allocation; kInvalidArgument: too many in
  /// flight.
  void use_pool(std::span<const Party> readers, std::size_t in_flight);

  /// The next frame; nothing at the end. @errors kDeadlineExceeded: not yet, call again; others end the run.
  std::optional<Frame> read(Deadline deadline);

  /// From the beginning again, in the same memory. Not of what is live.
  void restart();
  /// What was read stays valid.
  void close() { source_.reset(); }
  /// The last frame as the decoder gave it, where that is a surface; else none.
  const Frame& surface() const { return surface_; }

 private:
  void open();
  void note(const Frame& frame);

  SourceOptions options_;
  Kind kind_;
  std::size_t camera_buffers_;
  std::unique_ptr<elements::Source> source_;
  elements::StreamInfo opened_;
  FrameInfo info_;
  std::vector<Party> readers_;
  Router router_;  ///< From where frames lie to the host.
  Frame surface_;
  std::vector<MemoryIdentity> seen_;
  std::uint64_t frames_ = 0, size_changes_ = 0;
};

}  // namespace tenon::tool
