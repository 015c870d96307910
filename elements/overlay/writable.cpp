// SPDX-License-Identifier: Apache-2.0
// Finds out whether a frame is the only user of its memory.
#include <tenon/elements/overlay/writable.hpp>

#include <algorithm>
#include <atomic>

#include <tenon/core/host.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace overlay {
namespace {

/// Whether nothing but `frame` holds the uses of memory that its planes have. Only a holder could make another one, so the answer
/// holds. Memory without a lease may be anything's.
bool is_only_user(const Frame& frame) {
  const auto planes = frame.planes();
  return std::all_of(planes.begin(), planes.end(), [&](const Tensor& plane) {
    if (!plane.is_host_addressable() || !plane.lease() || !plane.is_writable()) return false;
    if (plane.memory()->fd_kind() == FdKind::kDmabuf) return false;  // Writing it takes calls that views make.
    const auto of_frame = std::count_if(planes.begin(), planes.end(),
                                        [&](const Tensor& other) { return other.lease() == plane.lease(); });
    if (plane.lease()->ref_count() != static_cast<std::uint32_t>(of_frame)) return false;
    std::atomic_thread_fence(std::memory_order_acquire);  // After what others did before they released it.
    return true;
  });
}

}  // namespace

WritableFrames::WritableFrames(Ledger* ledger, EdgeId edge)
    : host_(ledger), copies_(host_context()), ledger_(*ledger), edge_(edge) {}

Frame WritableFrames::of(const Frame& frame) {
  if (is_only_user(frame)) {
    for (const Tensor& plane : frame.planes())
      plane.memory()->wait_for(Access::kReadWrite, default_deadline(), &ledger_);
    return frame;
  }
  const Frame from = host_.map(frame);
  Frame to = copies_.acquire(from.info());
  for (std::size_t p = 0; p < from.plane_count(); ++p) {
    Tensor plane = to.plane(p);
    from.plane(p).copy_to(plane);
  }
  to.set_timestamp_ns(frame.timestamp_ns());
  to.metadata() = frame.metadata();
  ledger_.book_map(edge_, false);
  ledger_.book_copied(edge_, to.size_bytes());
  return to;
}

}  // namespace overlay
}  // namespace elements
}  // namespace v1
}  // namespace tenon
