// SPDX-License-Identifier: Apache-2.0
// Scalers and colour converters that work from memory to memory (V4L2's M2M devices).
#pragma once

#include <linux/videodev2.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <tenon/core/context.hpp>
#include <tenon/core/fd.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/router.hpp>
#include <tenon/frameworks/v4l2/context.hpp>
#include <tenon/frameworks/v4l2/device.hpp>
#include <tenon/frameworks/v4l2/pixel_format.hpp>
#include <tenon/frameworks/v4l2/pool.hpp>
#include <tenon/frameworks/v4l2/ring.hpp>

namespace tenon {
inline namespace v1 {
namespace v4l2 {
namespace detail {

/// The queue of the pictures that a device reads. One at a time, each in memory that comes from elsewhere.
class Feed {
 public:
  /// Where each of a picture's buffers lies, and how many bytes of it there are.
  struct Picture {
    std::array<Place, 4> places;
    std::array<std::size_t, 4> size_bytes{};
  };

  /// @errors kUnimplemented: the device takes nothing by `transfer`; those of the calls.
  Feed(const Device& device, const BufferLayout& layout, Transfer transfer);
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;
  ~Feed() { close(); }

  Transfer transfer() const { return transfer_; }
  /// Gives the device a picture to read. @errors kFailedPrecondition: memory that the driver does not take; unplugged.
  void queue(const Picture& picture);
  /// Takes the picture back, which has been read. @return false: it still is.
  bool take();

 private:
  v4l2_requestbuffers request(std::uint32_t count) const;
  void close() noexcept;

  SharedFd fd_;
  const std::string what_;
  const std::uint32_t type_;
  const BufferLayout layout_;
  const Transfer transfer_;
};

}  // namespace detail

/// Turns pictures into others of another size or format, in the hardware. It reads them where they lie and writes into its
/// own buffers, or into memory of ours. Not for compressed pictures: FFmpeg knows V4L2's codecs.
/// @thread one at a time; pictures may go to others.
class Converter {
 public:
  /// @param from  Pictures to read: format, size, colour. @param to  Pictures to write.
  /// @param buffers  Written pictures that may be in use at a time.
  /// @errors as Device and Device::negotiate; kInvalidArgument: the device does not convert.
  Converter(const std::string& path, const FrameInfo& from, WantedFormat to, std::uint32_t buffers = 4,
            Ledger* ledger = nullptr);
  Converter(Converter&&) = default;
  Converter& operator=(Converter&&) = default;

  const Device& device() const { return device_; }
  /// Describes the pictures that it writes.
  const FrameInfo& info() const { return written_.info; }
  const BufferLayout& layout() const { return written_; }
  /// Where the planes of pictures that it reads must lie in their memory; their pitch may be another.
  const BufferLayout& input_layout() const { return read_; }
  /// How it got the last picture that it read, and how it gets the buffers that it fills.
  std::optional<Transfer> read_by() const { return feed_ ? std::optional(feed_->transfer()) : std::nullopt; }
  std::optional<Transfer> written_by() const { return ring_ ? std::optional(ring_->transfer()) : std::nullopt; }

  /// As Camera::use_pool.
  void use_pool(const Requirements& wanted, Context allocator = {});

  /// The picture that the device makes of `source`, with its timestamp. `source` is read in place, and no longer afterwards.
  /// Another size, format or pitch than before is agreed on with the device anew.
  /// @errors kFailedPrecondition: `source` lies where the device cannot read it, or otherwise than it reads pictures;
  /// kDeadlineExceeded: not done in time, or all buffers are with the user; kDataLoss: the driver calls it damaged;
  /// kUnavailable: unplugged; as negotiate(). After an error the next call starts anew.
  /// @cost a map, four ioctls, and the device's time; no copy.
  Frame convert(const Frame& source, Deadline deadline);

  /// Gives the device's queues up; pictures that are out stay valid.
  void stop();

 private:
  void agree(const FrameInfo& from, std::size_t pitch_bytes);
  void start();
  Frame converted(const Frame& source, Deadline deadline);

  /// Colour that one side does not know is no difference.
  static bool same_picture(const FrameInfo& a, const FrameInfo& b);

  /// Where the buffers of `mapped` lie. @errors kFailedPrecondition: not as the device reads them.
  detail::Feed::Picture picture_of(const Frame& mapped, Transfer& transfer) const;

  /// Waits until the device has read the one picture and written the other.
  detail::Ring::Filled wait_for_both(Deadline deadline);

  Device device_;
  WantedFormat to_;
  std::uint32_t buffers_;
  Ledger* ledger_;
  std::unique_ptr<Router> router_ = std::make_unique<Router>();
  BufferLayout read_, written_;
  detail::Pool pool_;
  std::unique_ptr<detail::Feed> feed_;
  detail::OpenRing ring_;  ///< Last: closed before the device.
};

}  // namespace v4l2
}  // namespace v1
}  // namespace tenon
