// SPDX-License-Identifier: Apache-2.0
// Whose memory a device fills: its driver's, or what a context allocates for all readers of the pictures.
#pragma once

#include <cstdint>
#include <string>

#include <tenon/core/context.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/frameworks/v4l2/device.hpp>
#include <tenon/frameworks/v4l2/pixel_format.hpp>
#include <tenon/frameworks/v4l2/ring.hpp>

namespace tenon {
inline namespace v1 {
namespace v4l2::detail {

/// @errors kInvalidArgument: no number of buffers that V4L2 has.
void check_buffers(const Device& device, std::uint32_t buffers);

/// Waits for `events` of a device. @return what poll said; 0 at the deadline.
short wait_for(const Device& device, short events, Deadline deadline);

/// What the buffers of a device that fills them are made of.
class Pool {
 public:
  /// The driver's own.
  Pool() = default;
  /// @param allocator  Null: the host. The device's own context: its driver.
  Pool(const Device& device, Requirements wanted, Context allocator);

  /// Whether memory is the driver's.
  bool of_driver() const { return !allocator_; }
  /// "v4l2(mmap)", "pool(memfd)".
  std::string name() const;

  /// @errors kFailedPrecondition naming what the driver lays out otherwise than it was asked for.
  void check(const Device& device, const BufferLayout& layout) const;

  /// Buffers for pictures of `layout`. @errors as Ring; kFailedPrecondition: memory that no driver takes; the allocator's.
  Ref<Ring> make(const Device& device, std::uint32_t type, const BufferLayout& layout, std::uint32_t count) const;

 private:
  Requirements wanted_;
  Context allocator_;  ///< Null: the driver.
};

}  // namespace v4l2::detail
}  // namespace v1
}  // namespace tenon
