// SPDX-License-Identifier: Apache-2.0
// What the buffers of a device are made of.
#include <tenon/frameworks/v4l2/pool.hpp>

#include <poll.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/fd.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/frameworks/cpu/pages.hpp>
#include <tenon/frameworks/cpu/posix/poll.hpp>
#include <tenon/frameworks/cpu/shared_memory.hpp>
#include <tenon/frameworks/dmabuf/context.hpp>
#include <tenon/frameworks/v4l2/context.hpp>
#include <tenon/frameworks/v4l2/native.hpp>

namespace tenon {
inline namespace v1 {
namespace v4l2::detail {

TENON_INLINE void check_buffers(const Device& device, std::uint32_t buffers) {
  if (buffers == 0 || buffers > VIDEO_MAX_FRAME)
    throw Error(Code::kInvalidArgument, "v4l2: " + device.what() + ": " + std::to_string(buffers) +
                                            " buffers; give 1.." + std::to_string(VIDEO_MAX_FRAME));
}

TENON_INLINE short wait_for(const Device& device, short events, Deadline deadline) {
  short said = 0;
  const bool ready =
      cpu::poll_until(deadline, device.fd().get(), events, [&](struct pollfd* entries, nfds_t count, int timeout_ms) {
        const int result = native::poll(entries, count, timeout_ms);
        said = entries->revents;
        return result;
      });
  return ready ? said : short{0};
}

TENON_INLINE Pool::Pool(const Device& device, Requirements wanted, Context allocator) : wanted_(std::move(wanted)) {
  if (!allocator) allocator = host_context();
  if (!(allocator == v4l2::context(device.path()))) allocator_ = std::move(allocator);
}

TENON_INLINE std::string Pool::name() const {
  if (!allocator_) return "v4l2(mmap)";
  return "pool(" + std::string(wanted_.fd == FdKind::kNone ? allocator_->kind().name() : wanted_.fd.name()) + ")";
}

TENON_INLINE void Pool::check(const Device& device, const BufferLayout& layout) const {
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

TENON_INLINE Ref<Ring> Pool::make(const Device& device, std::uint32_t type, const BufferLayout& layout,
                                  std::uint32_t count) const {
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
    throw Error(Code::kFailedPrecondition, "v4l2: " + device.what() + ": memory of " + std::string(allocator_->name()) +
                                               " has neither a dma-buf nor an address of whole pages, so the driver "
                                               "cannot write into it; pass another allocator");
  return Ring::of_memory(device, type, layout, *way, count, allocate);
}

}  // namespace v4l2::detail
}  // namespace v1
}  // namespace tenon
