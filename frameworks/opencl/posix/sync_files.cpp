// SPDX-License-Identifier: Apache-2.0
// Fences of the kernel as events.
#include <tenon/frameworks/opencl/fence.hpp>

#include <tenon/core/export.hpp>
#include <tenon/frameworks/dmabuf/sync.hpp>
#include <tenon/frameworks/opencl/device.hpp>
#include <tenon/frameworks/opencl/semaphore.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {
namespace detail {

TENON_INLINE bool waits_for_sync_files(const Native& native) {
  return native.device.out_of_order && imports(native, SemaphoreKind::kSyncFile);
}

TENON_INLINE Handle<cl_event> wait_for_sync_file(const Native& native, const TimelinePoint& point) {
  const auto* const fence = dynamic_cast<const dmabuf::SyncFileTimeline*>(point.timeline().get());
  if (!fence || !waits_for_sync_files(native)) return {};
  // The driver's to keep until the wait is over.
  const OwnedSemaphore semaphore = import_semaphore(native, fence->export_fd(), SemaphoreKind::kSyncFile);
  return pass(native.extensions.wait, "clEnqueueWaitSemaphoresKHR", semaphore.get(), native.handovers.get());
}

}  // namespace detail
}  // namespace opencl
}  // namespace v1
}  // namespace tenon
