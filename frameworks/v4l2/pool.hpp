// SPDX-License-Identifier: Apache-2.0
// Whose memory a device fills: its driver's, or what a context allocates for all who read the pictures.
#pragma once

#include <poll.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <tenon/core/context.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/frameworks/cpu/fd.hpp>
#include <tenon/frameworks/cpu/pages.hpp>
#include <tenon/frameworks/cpu/shared_memory.hpp>
#include <tenon/frameworks/v4l2/context.hpp>
#include <tenon/frameworks/v4l2/device.hpp>
#include <tenon/frameworks/v4l2/native.hpp>
#include <tenon/frameworks/v4l2/pixel_format.hpp>
#include <tenon/frameworks/v4l2/ring.hpp>

namespace tenon {
inline namespace v1 {
namespace v4l2::detail {

/// @errors kInvalidArgument: no number of buffers that V4L2 has.
inline void check_buffers(const Device& device, std::uint32_t buffers) {
  if (buffers == 0 || buffers > VIDEO_MAX_FRAME)
    throw Error(Code::kInvalidArgument, "v4l2: " + device.what() + ": " + std::to_string(buffers) +
                                            " buffers; give 1.." + std::to_string(VIDEO_MAX_FRAME));
}

/// Waits for `events` of a device. @return what poll said; 0 at the deadline.
inline short wait_for(const Device& device, short events, Deadline deadline) {
  short said = 0;
  const bool ready =
      cpu::poll_until(deadline, device.fd().get(), events, [&](struct pollfd* entries, nfds_t count, int timeout_ms) {
        const int result = native::poll(entries, count, timeout_ms);
        said = entries->revents;
        return result;
      });
  return ready ? said : short{0};
}

/// What the buffers of a device that fills them are made of.
class Pool {
 public:
  /// The driver's own.
  Pool() = default;
  /// @param allocator  Null: the host. The device's own context: its driver.
  Pool(const Device& device, Requirements wanted, Context allocator) : wanted_(std::move(wanted)) {
    if (!allocator) allocator = host_context();
    if (!(allocator == v4l2::context(device.path()))) allocator_ = std::move(allocator);
  }

  /// Whether memory is the driver's.
  bool of_driver() const { return !allocator_; }
  /// "v4l2(mmap)", "pool(memfd)".
  std::string name() const {
    if (!allocator_) return "v4l2(mmap)";
    return "pool(" + std::string(wanted_.fd == FdKind::kNone ? allocator_->kind().name() : wanted_.fd.name()) + ")";
  }

  /// @errors kFailedPrecondition naming what the driver lays out otherwise than it was asked for.
  void check(const Device& device, const BufferLayout& layout) const {
    const auto refuse = [&](const std::string& why) {
      return Error(Code::kFailedPrecondition,
                   "v4l2: " + device.what() + ": use_pool(): " + why +
                       "; its driver decides where rows lie: let the consumer take them so, or "
                       "choose another size");
    };
    for (std::size_t p = 0; p < layout.planes; ++p) {
      const BufferLayout::Plane& plane = layout.plane[p];
      const std::size_t row = plane_extent(layout.info, p).row_bytes;
      const std::string label =
          "plane " + std::to_string(p) + " has rows of " + std::to_string(plane.pitch_bytes) + " bytes";
      if (plane.pitch_bytes % wanted_.pitch_alignment != 0)
        throw refuse(label + ", a consumer wants multiples of " + std::to_string(wanted_.pitch_alignment));
      if (plane.pitch_bytes > wanted_.max_pitch)
        throw refuse(label + ", a consumer takes at most " + std::to_string(wanted_.max_pitch));
      if (wanted_.contiguous && plane.pitch_bytes != row)
        throw refuse(label + ", a consumer wants them without padding: " + std::to_string(row));
    }
    if (layout.planes > 1 && layout.memories == 1 && layout.info.height_px % wanted_.height_alignment != 0)
      throw refuse("planes follow each other after " + std::to_string(layout.info.height_px) +
                   " rows, a consumer wants multiples of " + std::to_string(wanted_.height_alignment));
  }

  /// Buffers for pictures of `layout`. @errors as Ring; kFailedPrecondition: memory that no driver takes; the allocator's.
  Ref<Ring> make(const Device& device, std::uint32_t type, const BufferLayout& layout, std::uint32_t count) const {
    if (!allocator_) return Ring::of_driver(device, type, layout, count);
    const auto allocate = [this](std::size_t bytes) {
      Requirements wanted = wanted_;
      wanted.size_bytes = std::max(wanted.size_bytes, bytes);
      wanted.alignment = std::max(wanted.alignment, cpu::page_bytes());
      return allocator_ == host_context() ? cpu::allocate_memory(wanted) : allocator_->allocate(wanted);
    };
    // The first memory says how the device can take it; it is the allocator's business that all are alike.
    const Ref<Memory> sample = allocate(layout.size_bytes[0]);
    const std::optional<Transfer> way = Ring::way_for(*sample);
    if (!way)
      throw Error(Code::kFailedPrecondition, "v4l2: " + device.what() + ": memory of " +
                                                 std::string(allocator_->name()) +
                                                 " has neither a dma-buf nor an address of whole pages, so the driver "
                                                 "cannot write into it; pass another allocator");
    return Ring::of_memory(device, type, layout, *way, count, allocate);
  }

 private:
  Requirements wanted_;
  Context allocator_;  ///< Null: the driver.
};

}  // namespace v4l2::detail
}  // namespace v1
}  // namespace tenon
