// SPDX-License-Identifier: Apache-2.0
// The calls behind sync files, and the waits before CPU access.
#include <tenon/frameworks/dmabuf/sync.hpp>

#include <poll.h>
#include <string.h>
#include <algorithm>
#include <cerrno>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/hazards.hpp>
#include <tenon/frameworks/dmabuf/native.hpp>

namespace tenon {
inline namespace v1 {
namespace dmabuf {

namespace detail {

TENON_INLINE native::SyncFileInfo ask_sync_file(int fd, const std::string& what) {
  native::SyncFileInfo info{};
  constexpr const char* kCall = "ioctl(SYNC_IOC_FILE_INFO)";
  if (native::ioctl_until(default_deadline(), fd, native::kIoctlSyncFileInfo, &info, kCall) == 0) return info;
  const int error = errno;
  throw Error(error == EBADF || error == ENOTTY || error == EINVAL ? Code::kInvalidArgument : Code::kInternal,
              "dmabuf: " + what + (error == EBADF ? ": it is not open" : ": it is not a sync file"), kCall, error);
}

}  // namespace detail

TENON_INLINE SyncFileTimeline::SyncFileTimeline(std::string fence) : name_("sync_file:" + std::move(fence)) {}

TENON_INLINE Ref<SyncFileTimeline> SyncFileTimeline::import(UniqueFd&& fd) {
  const native::SyncFileInfo info = detail::ask_sync_file(fd.get(), "import of descriptor " + std::to_string(fd.get()));
  Ref<SyncFileTimeline> made(new SyncFileTimeline(std::string(info.name, ::strnlen(info.name, sizeof info.name))));
  made->fd_ = std::move(fd);
  return made;
}

TENON_INLINE PointState SyncFileTimeline::query(std::uint64_t) const {
  struct pollfd entry = {fd_.get(), POLLIN, 0};
  if (::poll(&entry, 1, 0) == 0) return PointState::kPending;
  return state_of(detail::ask_sync_file(fd_.get(), what()).status);
}

TENON_INLINE void SyncFileTimeline::wait(std::uint64_t, Deadline deadline) const {
  if (!native::poll_until(deadline, fd_.get(), POLLIN)) {
    throw Error(Code::kDeadlineExceeded,
                "dmabuf: " + what() + " was not signalled in time; its device is late or gone");
  }
  const int status = detail::ask_sync_file(fd_.get(), what()).status;
  if (status < 0) native::fail(Code::kAborted, what() + ": the work failed", "ioctl(SYNC_IOC_FILE_INFO)", -status);
}

TENON_INLINE std::string SyncFileTimeline::what() const { return "sync file '" + name_ + "'"; }

TENON_INLINE TimelinePoint import_sync_file(UniqueFd&& fd) {
  return TimelinePoint(SyncFileTimeline::import(std::move(fd)), 1);
}

TENON_INLINE TimelinePoint export_sync_file(int fd, Access access) {
  native::ExportSyncFile request{
      static_cast<std::uint32_t>(writes(access) ? native::kSyncRead | native::kSyncWrite : native::kSyncRead), -1};
  constexpr const char* kCall = "ioctl(DMA_BUF_IOCTL_EXPORT_SYNC_FILE)";
  if (native::ioctl_until(default_deadline(), fd, native::kIoctlExportSyncFile, &request, kCall) == 0)
    return import_sync_file(UniqueFd(request.fd));
  const int error = errno;
  if (error != ENOTTY) {
    native::fail(error == EBADF ? Code::kInvalidArgument : Code::kInternal,
                 "the fences of descriptor " + std::to_string(fd), kCall, error);
  }
  if (!detail::is_dmabuf(fd)) return TimelinePoint::ready();
  native::fail(Code::kUnimplemented, "this kernel hands out no fences (Linux 6.0 does)", kCall, error);
}

TENON_INLINE void attach_sync_file(int fd, const TimelinePoint& point, Access access) {
  if (!point.timeline()) return;  // Nothing to wait for.
  const auto* fence = dynamic_cast<const SyncFileTimeline*>(point.timeline().get());
  if (!fence) {
    throw Error(Code::kUnimplemented, "dmabuf: a point of timeline '" + std::string(point.timeline()->name()) +
                                          "' cannot become a fence of the kernel: it is not a sync file; wait on "
                                          "the host");
  }
  native::ImportSyncFile request{static_cast<std::uint32_t>(writes(access) ? native::kSyncWrite : native::kSyncRead),
                                 fence->borrow_fd()};
  constexpr const char* kCall = "ioctl(DMA_BUF_IOCTL_IMPORT_SYNC_FILE)";
  if (native::ioctl_until(default_deadline(), fd, native::kIoctlImportSyncFile, &request, kCall) == 0) return;
  const int error = errno;
  native::fail(error == ENOTTY  ? Code::kUnimplemented
               : error == EBADF ? Code::kInvalidArgument
                                : Code::kInternal,
               "attaching a fence to descriptor " + std::to_string(fd) +
                   (error == ENOTTY ? " (a stand-in, or a kernel before 6.0)" : ""),
               kCall, error);
}

TENON_INLINE TimelinePoint merge_sync_files(const TimelinePoint& a, const TimelinePoint& b) {
  if (!a.timeline()) return b;
  if (!b.timeline() || a == b) return a;
  const auto* one = dynamic_cast<const SyncFileTimeline*>(a.timeline().get());
  const auto* other = dynamic_cast<const SyncFileTimeline*>(b.timeline().get());
  if (!one || !other) {
    throw Error(Code::kInvalidArgument, "dmabuf: points of the timelines '" + std::string(a.timeline()->name()) +
                                            "' and '" + std::string(b.timeline()->name()) +
                                            "' cannot be merged: both must be sync files; wait for one on the host");
  }
  native::SyncMerge request{"tenon", other->borrow_fd(), -1, 0, 0};
  constexpr const char* kCall = "ioctl(SYNC_IOC_MERGE)";
  if (native::ioctl_until(default_deadline(), one->borrow_fd(), native::kIoctlSyncMerge, &request, kCall) != 0)
    native::fail(Code::kInternal, "merging two sync files", kCall, errno);
  return import_sync_file(UniqueFd(request.fence));
}

namespace detail {

TENON_INLINE bool is_sync_file(const TimelinePoint& point) {
  return dynamic_cast<const SyncFileTimeline*>(point.timeline().get()) != nullptr;
}

TENON_INLINE bool attach_fences(const Memory& memory, int fd) {
  if (!memory.has_hazards() || !memory.hazards().has_points()) return true;
  const Hazards::Points writers = memory.pending(Access::kRead);
  for (const TimelinePoint& point : memory.pending(Access::kReadWrite)) {
    if (!is_sync_file(point) || point.state() != PointState::kPending) continue;
    const bool writes = std::find(writers.begin(), writers.end(), point) != writers.end();
    try {
      attach_sync_file(fd, point, writes ? Access::kWrite : Access::kRead);
    } catch (const Error& error) {
      if (error.code() != Code::kUnimplemented) throw;
      return false;
    }
  }
  return true;
}

TENON_INLINE std::uint64_t sync_flags(Access access) {
  return (covers(access, Access::kRead) ? native::kSyncRead : 0) | (writes(access) ? native::kSyncWrite : 0);
}
inline constexpr const char* kSyncStartCall = "ioctl(DMA_BUF_IOCTL_SYNC start)";

TENON_INLINE void wait_for_fences(int fd, Access access, Deadline deadline, Ledger* ledger) {
  const short event = writes(access) ? POLLOUT : POLLIN;
  if (native::poll_until(Clock::time_point::min(), fd, event)) return;
  const auto start = Clock::now();
  const bool ready = native::poll_until(deadline, fd, event);
  (ledger ? *ledger : Ledger::process()).book_wait(host_wait(), Clock::now() - start);
  if (!ready)
    throw Error(Code::kDeadlineExceeded, "dmabuf: descriptor " + std::to_string(fd) +
                                             ": a device had not finished with it in time; it is late or gone");
}

TENON_INLINE void begin_access(int fd, Access access, Deadline deadline, Ledger* ledger) {
  wait_for_fences(fd, access, deadline, ledger);
  native::Sync request{native::kSyncStart | sync_flags(access)};
  if (native::ioctl_until(deadline, fd, native::kIoctlSync, &request, kSyncStartCall) != 0)
    native::fail(Code::kInternal, "access by the CPU to descriptor " + std::to_string(fd), kSyncStartCall, errno);
}

/// One end of the kernel's bracket. @return 0 or the errno.
TENON_INLINE int bracket(int fd, std::uint64_t flags, const char* call) {
  native::Sync request{flags};
  for (int repeats = 0; native::ioctl(fd, native::kIoctlSync, &request, call) != 0; ++repeats) {
    if ((errno != EINTR && errno != EAGAIN) || repeats == 1000) return errno;
  }
  return 0;
}
TENON_INLINE int start_access(int fd, Access access) {
  return bracket(fd, native::kSyncStart | sync_flags(access), kSyncStartCall);
}
TENON_INLINE int end_access(int fd, Access access) {
  return bracket(fd, native::kSyncEnd | sync_flags(access), kSyncEndCall);
}

}  // namespace detail
}  // namespace dmabuf
}  // namespace v1
}  // namespace tenon
