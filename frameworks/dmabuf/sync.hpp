// SPDX-License-Identifier: Apache-2.0
// Fences of dma-bufs: sync files as timeline points, and the kernel's bracket around CPU access.
#pragma once

#include <string.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/hazards.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/dmabuf/memory.hpp>
#include <tenon/frameworks/dmabuf/native.hpp>

namespace tenon {
inline namespace v1 {
namespace dmabuf {

/// One sync file: a kernel fence, from any driver. Its point 1 is reached when all its fences are. Waits with poll, so
/// a dead device costs no more than the deadline.
/// @thread as Timeline.
class SyncFileTimeline final : public Timeline {
 public:
  /// Takes `fd` over on success only. @errors kInvalidArgument: closed, or no sync file.
  static Ref<SyncFileTimeline> import(UniqueFd&& fd) {
    const native::SyncFileInfo info = ask(fd.get(), "import of descriptor " + std::to_string(fd.get()));
    Ref<SyncFileTimeline> made(new SyncFileTimeline(std::string(info.name, ::strnlen(info.name, sizeof info.name))));
    made->fd_ = std::move(fd);
    return made;
  }

  std::string_view name() const override { return name_; }
  PointState query(std::uint64_t) const override {
    struct pollfd entry = {fd_.get(), POLLIN, 0};
    if (::poll(&entry, 1, 0) == 0) return PointState::kPending;
    return state_of(ask(fd_.get(), what()).status);
  }
  /// Meaning of the kernel's status: 1 signalled, 0 active, negative: the errno of the work.
  static PointState state_of(std::int32_t status) {
    return status > 0 ? PointState::kReached : status < 0 ? PointState::kFailed : PointState::kPending;
  }
  void wait(std::uint64_t, Deadline deadline) const override {
    if (!native::poll_until(deadline, fd_.get(), POLLIN)) {
      throw Error(Code::kDeadlineExceeded,
                  "dmabuf: " + what() + " was not signalled in time; its device is late or gone");
    }
    const int status = ask(fd_.get(), what()).status;
    if (status < 0) native::fail(Code::kAborted, what() + ": the work failed", "ioctl(SYNC_IOC_FILE_INFO)", -status);
  }

  int borrow_fd() const { return fd_.get(); }
  /// A descriptor for another API; closing it does not affect this one. @errors as UniqueFd::duplicate.
  UniqueFd export_fd() const { return fd_.duplicate(); }

 private:
  explicit SyncFileTimeline(std::string fence) : name_("sync_file:" + std::move(fence)) {}
  std::string what() const { return "sync file '" + name_ + "'"; }
  static native::SyncFileInfo ask(int fd, const std::string& what) {
    native::SyncFileInfo info{};
    constexpr const char* kCall = "ioctl(SYNC_IOC_FILE_INFO)";
    if (native::ioctl_until(default_deadline(), fd, native::kIoctlSyncFileInfo, &info, kCall) == 0) return info;
    const int error = errno;
    throw Error(error == EBADF || error == ENOTTY || error == EINVAL ? Code::kInvalidArgument : Code::kInternal,
                "dmabuf: " + what + (error == EBADF ? ": it is not open" : ": it is not a sync file"), kCall, error);
  }

  UniqueFd fd_;
  std::string name_;
};

/// A sync file as a point. Takes `fd` over on success only. @errors as SyncFileTimeline::import.
inline TimelinePoint import_sync_file(UniqueFd&& fd) {
  return TimelinePoint(SyncFileTimeline::import(std::move(fd)), 1);
}

/// The point after which `access` to a dma-buf is safe, from the fences that drivers attached to it: for reading, the
/// writers' fences; for writing, the readers' too. A stand-in has none: TimelinePoint::ready().
/// @param fd  A dma-buf; stays the caller's. @errors kUnimplemented: a kernel before 6.0; kInvalidArgument: closed.
inline TimelinePoint export_sync_file(int fd, Access access) {
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

/// Attaches `point` to a dma-buf as a fence: drivers will wait for it, and export_sync_file() returns it.
/// @errors kUnimplemented: a point that is no sync file (wait for it instead), a stand-in, a kernel before 6.0.
inline void attach_sync_file(int fd, const TimelinePoint& point, Access access) {
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

/// One sync file for two: its point is reached when both are. @errors kInvalidArgument: a point that is no sync file.
inline TimelinePoint merge_sync_files(const TimelinePoint& a, const TimelinePoint& b) {
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

inline bool is_sync_file(const TimelinePoint& point) {
  return dynamic_cast<const SyncFileTimeline*>(point.timeline().get()) != nullptr;
}

/// Attaches the sync files among the unfinished work on `memory` to its dma-buf, so that whoever gets the descriptor
/// waits for them: the drivers by themselves, the CPU by the bracket.
/// @return false if this kernel cannot (before 6.0): they must be handed out beside the descriptor, or waited for.
inline bool attach_fences(const Memory& memory, int fd) {
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

inline std::uint64_t sync_flags(Access access) {
  return (covers(access, Access::kRead) ? native::kSyncRead : 0) | (writes(access) ? native::kSyncWrite : 0);
}
inline constexpr const char* kSyncStartCall = "ioctl(DMA_BUF_IOCTL_SYNC start)";
inline constexpr const char* kSyncEndCall = "ioctl(DMA_BUF_IOCTL_SYNC end)";

/// Waits for the fences that drivers have attached to a dma-buf: for reading, the writers'; for writing, the readers'
/// too. Books the wait if there was one. @errors kDeadlineExceeded; errors of poll. @cost one poll.
inline void wait_for_fences(int fd, Access access, Deadline deadline, Ledger* ledger) {
  const short event = writes(access) ? POLLOUT : POLLIN;
  if (native::poll_until(Clock::time_point::min(), fd, event)) return;
  const auto start = Clock::now();
  const bool ready = native::poll_until(deadline, fd, event);
  (ledger ? *ledger : Ledger::process()).book_wait(host_wait(), Clock::now() - start);
  if (!ready)
    throw Error(Code::kDeadlineExceeded, "dmabuf: descriptor " + std::to_string(fd) +
                                             ": a device had not finished with it in time; it is late or gone");
}

/// Begins CPU access to a dma-buf. The kernel would wait for its fences without a limit, so poll waits first, with the
/// deadline. @errors kDeadlineExceeded; errors of the calls.
inline void begin_access(int fd, Access access, Deadline deadline, Ledger* ledger) {
  wait_for_fences(fd, access, deadline, ledger);
  native::Sync request{native::kSyncStart | sync_flags(access)};
  if (native::ioctl_until(deadline, fd, native::kIoctlSync, &request, kSyncStartCall) != 0)
    native::fail(Code::kInternal, "access by the CPU to descriptor " + std::to_string(fd), kSyncStartCall, errno);
}

/// One end of the kernel's bracket, for those who have waited for the fences. The kernel may ask to repeat the call, also when a
/// signal comes; no deadline, since destructors must finish. Returns 0 or the errno.
inline int bracket(int fd, std::uint64_t flags, const char* call) {
  native::Sync request{flags};
  for (int repeats = 0; native::ioctl(fd, native::kIoctlSync, &request, call) != 0; ++repeats) {
    if ((errno != EINTR && errno != EAGAIN) || repeats == 1000) return errno;
  }
  return 0;
}
inline int start_access(int fd, Access access) {
  return bracket(fd, native::kSyncStart | sync_flags(access), kSyncStartCall);
}
inline int end_access(int fd, Access access) {
  return bracket(fd, native::kSyncEnd | sync_flags(access), kSyncEndCall);
}

/// CPU access to a memory as a lease: the access ends when the last tensor that holds it goes. Wraps the source's own
/// lease. Reused, so that the steady state allocates nothing.
class AccessLease final : public LeaseState {
 public:
  /// Begins the access. @errors as begin_access.
  static Lease begin(const Tensor& source, int fd, Access access, Deadline deadline, Ledger* ledger) {
    Ref<AccessLease> lease(take());
    begin_access(fd, access, deadline, ledger);
    lease->memory_ = source.memory();
    lease->inner_ = source.lease();
    lease->fd_ = fd;
    lease->access_ = access;
    return lease;
  }
  bool writable() const override { return !inner_ || inner_->writable(); }
  const Lease& inner() const { return inner_; }

 protected:
  void dispose() noexcept override {
    const Ref<Memory> memory = std::move(memory_);  // Released last: the descriptor belongs to the memory or its view.
    const Lease inner = std::move(inner_);
    if (memory) {
      if (const int error = end_access(fd_, access_)) leave_failure(*memory, error);
    }
    put(this);
  }

 private:
  /// A lease cannot throw: the error is raised at the next wait for the memory.
  static void leave_failure(Memory& memory, int error) noexcept {
    try {
      auto timeline = make_ref<HostTimeline>();
      const TimelinePoint point = timeline->next();
      timeline->fail(point.value(), std::make_exception_ptr(Error(
                                        Code::kDataLoss, "dmabuf: what the CPU wrote may not have reached the memory",
                                        kSyncEndCall, error)));
      memory.hazards().wrote(point);
    } catch (...) {
      // Out of memory as well: the error cannot be reported.
    }
  }

  static AccessLease* take() {
    for (auto& slot : idle_) {
      if (AccessLease* lease = slot.exchange(nullptr, std::memory_order_acquire)) return lease;
    }
    return new AccessLease;
  }
  static void put(AccessLease* lease) noexcept {
    for (auto& slot : idle_) {
      AccessLease* none = nullptr;
      if (slot.compare_exchange_strong(none, lease, std::memory_order_release, std::memory_order_relaxed)) return;
    }
    delete lease;
  }

  /// Slots instead of a list: one exchange takes or fills a slot, so no lock is needed.
  static inline std::array<std::atomic<AccessLease*>, 16> idle_{};

  Ref<Memory> memory_;
  Lease inner_;
  int fd_ = -1;
  Access access_ = Access::kRead;
};

}  // namespace detail
}  // namespace dmabuf
}  // namespace v1
}  // namespace tenon
