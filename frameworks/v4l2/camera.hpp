// SPDX-License-Identifier: Apache-2.0
// A camera: pictures from a V4L2 device, in its own buffers or straight in Tenon's memory.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <tenon/core/context.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/router.hpp>
#include <tenon/frameworks/v4l2/device.hpp>
#include <tenon/frameworks/v4l2/pixel_format.hpp>
#include <tenon/frameworks/v4l2/pool.hpp>
#include <tenon/frameworks/v4l2/ring.hpp>

namespace tenon {
inline namespace v1 {
namespace v4l2 {

/// How to open a camera. 0: as the device has it.
struct Options {
  WantedFormat format;
  std::optional<std::uint32_t> input;  ///< The connector, for a capture card.
  std::uint32_t buffers = 6;           ///< Pictures in flight, at the user and at the driver together.
  Ledger* ledger = nullptr;            ///< Where waits are booked; null: the process ledger.
  std::chrono::nanoseconds read_timeout = std::chrono::seconds(10);  ///< For read() without a deadline.
};

/// Pictures of a V4L2 capture device, in the order of capture. Nothing is copied: a picture lies where the driver wrote it,
/// in a buffer that is not given back to the driver before the last copy of the picture goes. Pictures may outlive the
/// camera. The stream starts with the first read().
/// @thread one at a time; pictures may go to others.
class Camera {
 public:
  /// Opens the device and agrees on a format. @errors as Device and Device::negotiate; kInvalidArgument: it does not
  /// capture.
  explicit Camera(const std::string& path, Options options = {});
  Camera(Camera&&) = default;
  Camera& operator=(Camera&&) = default;

  const Device& device() const { return device_; }
  /// Format, size and colour of the next picture.
  const FrameInfo& info() const { return layout_.info; }
  /// Where planes lie in a buffer, and the order of fields.
  const BufferLayout& layout() const { return layout_; }
  /// Pictures per second; 0 where the device does not say.
  double fps() const { return fps_; }
  /// Where pictures lie, for reports: "YUYV -> v4l2(mmap)", "NV12 -> pool(memfd)".
  std::string path() const { return fourcc_name(layout_.fourcc) + " -> " + pool_.name(); }
  /// How the driver gets its buffers; nothing before the first read().
  std::optional<Transfer> transfer() const { return ring_ ? std::optional(ring_->transfer()) : std::nullopt; }
  /// Buffers of the stream; 0 before the first read().
  std::size_t buffers() const { return ring_ ? ring_->size() : 0; }

  /// Makes the driver write straight into memory that meets `wanted`: one allocation for the camera and all readers of its
  /// pictures. By descriptor where it has a dma-buf, by address otherwise. Starts the stream anew.
  /// @param allocator  Makes the memory; null: the host, as a memfd if wanted.fd asks for it. This camera's own context:
  /// the driver's buffers.
  /// @param buffers    How many; 0: as before.
  /// @errors kFailedPrecondition: rows and planes that the driver does not lay out so, or memory that it cannot take.
  void use_pool(const Requirements& wanted, Context allocator = {}, std::uint32_t buffers = 0);
  /// The same with what Router::plan() found to serve the camera and all readers of its pictures.
  /// @errors as above; kFailedPrecondition: a plan that is not possible, with its explanation.
  void use_pool(const AllocationPlan& plan, std::uint32_t buffers = 0);

  /// The next picture. Damaged ones are left out and counted. One after pictures that the driver lost has their number as
  /// metadata "lost_frames" (std::uint64_t). A source that changes size or format in flight
  /// (V4L2_EVENT_SOURCE_CHANGE) is followed: the picture's info() says so, and once its metadata "size_changed".
  /// @errors kDeadlineExceeded: no picture in time, or all buffers are with the user, call again; kUnavailable: unplugged,
  /// no signal, the driver failed; kUnimplemented: the source changed to what Tenon cannot describe; errors of
  /// use_pool()'s allocator. @cost a poll and two ioctls; no allocation, no copy.
  Frame read(Deadline deadline);
  Frame read() { return read(Clock::now() + options_.read_timeout); }

  /// Pictures read; those that the driver marked as damaged or too short; those that it lost because no buffer was free
  /// (gaps in its numbers); how often the source changed size or format.
  std::uint64_t frames_read() const { return frames_; }
  std::uint64_t damaged_frames() const { return damaged_; }
  std::uint64_t lost_frames() const { return lost_; }
  std::uint64_t size_changes() const { return size_changes_; }

  /// Stops the stream and gives the device's queue up; pictures that are out stay valid. The next read() starts it again.
  void stop() { ring_ = {}; }

 private:
  std::uint32_t type() const { return device_.capture_type(); }

  void start();

  /// Counts what is missing between the last picture of this stream and number `sequence`.
  void note_gap(std::uint32_t sequence);

  /// A stream that failed ends: the next read() starts another.
  detail::Ring::Filled take();

  void take_events();

  /// The source has another size, format or timing: takes it over, with new buffers. Pictures of before keep theirs.
  void follow_source();

  Error all_out() const;
  Error late(std::uint64_t spoilt) const;

  Options options_;
  Device device_;
  BufferLayout layout_;
  double fps_ = 0;
  detail::Pool pool_;
  bool changed_ = false, tell_change_ = false;
  bool numbered_ = false;  ///< last_sequence_ is of this stream.
  std::uint32_t last_sequence_ = 0;
  std::uint64_t frames_ = 0, damaged_ = 0, lost_ = 0, lost_before_ = 0, size_changes_ = 0;
  detail::OpenRing ring_;  ///< Last: closed before the device.
};

/// Opens a camera ("/dev/video0"). @errors as Camera. @thread any
Camera open(const std::string& path, Options options = {});

}  // namespace v4l2
}  // namespace v1
}  // namespace tenon
