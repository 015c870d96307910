// SPDX-License-Identifier: Apache-2.0
// The source of a run's frames: a source element of pipelines, chosen by the form of the input's name.
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
#include <tenon/elements/pipeline_spec.hpp>

namespace tenon::tool {

/// What to open, and the settings to ask for. 0: the input's own.
struct SourceOptions {
  std::string input;
  ZeroCopy policy = ZeroCopy::kPrefer;
  Ledger* ledger = nullptr;  ///< Where copies and waits on the way into a frame are booked.
  /// The DRM node on which to decode by VA-API. Empty: decode on the CPU.
  std::string va_node;
  std::size_t in_flight = 0;       ///< Frames that are used at a time; 0: not known yet.
  std::string transport = "auto";  ///< The transport of rtsp streams, as in the element "file".
  // For cameras only:
  PixelFormat format{0};
  std::uint32_t width_px = 0, height_px = 0;
  double fps = 0;
  bool asks_a_camera() const { return format.fourcc || width_px || height_px || fps != 0; }
};

/// The input as a node of a pipeline. @errors kInvalidArgument: a camera's settings for another input; kUnavailable: no GStreamer.
elements::NodeSpec source_node(const SourceOptions& options);

/// An open input. @thread one at a time.
class FrameSource {
 public:
  /// The element that reads the input.
  enum class Kind : std::uint8_t { kFile, kCamera, kLaunchLine, kProcess, kNode };

  /// @errors as the element's; kInvalidArgument: a camera's settings for another input; kUnavailable: no GStreamer.
  explicit FrameSource(SourceOptions options);

  Kind kind() const { return kind_; }
  bool decodes_by_va() const { return !options_.va_node.empty(); }
  /// The info of the last frame; before the first frame, that of the frames to come.
  const FrameInfo& info() const { return info_; }
  /// Frames per second; 0: unknown.
  double fps() const { return opened_.frames_per_second; }
  /// Whether it is a camera, a stream, or another process, whose end is not known in advance and which cannot be played twice.
  bool live() const { return opened_.is_live || kind_ == Kind::kProcess; }
  /// The encoding that arrives ("h264", "nv12"), the memory of the frames ("pool(memfd)"), and what was lost.
  elements::SourceReport report() const;
  /// The number of different buffers of all frames so far; the number of frames if there were too many buffers for a pool.
  std::size_t buffers() const;
  std::uint64_t size_changes() const { return size_changes_; }

  /// From now on puts frames into memory that `readers` share, or leaves them where the readers can read them just as well.
  /// @param in_flight  Frames that are used at a time. @errors Those of the element's allocation; kInvalidArgument: too many in
  /// flight.
  void use_pool(std::span<const Party> readers, std::size_t in_flight);

  /// The next frame; nothing at the end. @errors kDeadlineExceeded: not yet, call again; others end the run.
  std::optional<Frame> read(Deadline deadline);

  /// Starts again from the beginning, in the same memory. Not for live sources.
  void restart();
  /// Closes the source. Frames that were read stay valid.
  void close() { source_.reset(); }
  /// The last frame as the decoder gave it, if it is a surface; else an empty frame.
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
  Router router_;  ///< Maps frames to the host.
  Frame surface_;
  std::vector<MemoryIdentity> seen_;
  std::uint64_t frames_ = 0, size_changes_ = 0;
};

}  // namespace tenon::tool
