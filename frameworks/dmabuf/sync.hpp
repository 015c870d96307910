// SPDX-License-Identifier: Apache-2.0
// Fences of dma-bufs: sync files as timeline points, and the kernel's bracket around CPU access.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <tenon/core/ledger.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/cpu/fd.hpp>
#include <tenon/frameworks/dmabuf/memory.hpp>

namespace tenon {
inline namespace v1 {
namespace dmabuf {

/// One sync file: a kernel fence, from any driver. Its point 1 is reached when all its fences are. Waits with poll, so
/// a dead device costs no more than the deadline.
/// @thread as Timeline.
class SyncFileTimeline final : public Timeline {
 public:
  /// Takes `fd` over on success only. @errors kInvalidArgument: closed, or no sync file.
  static Ref<SyncFileTimeline> import(UniqueFd&& fd);

  std::string_view name() const override { return name_; }
  PointState query(std::uint64_t point) const override;
  /// Meaning of the kernel's status: 1 signalled, 0 active, negative: the errno of the work.
  static PointState state_of(std::int32_t status) {
    return status > 0 ? PointState::kReached : status < 0 ? PointState::kFailed : PointState::kPending;
  }
  void wait(std::uint64_t point, Deadline deadline) const override;

  int borrow_fd() const { return fd_.get(); }
  /// A descriptor for another API; closing it does not affect this one. @errors as UniqueFd::duplicate.
  UniqueFd export_fd() const { return fd_.duplicate(); }

 private:
  explicit SyncFileTimeline(std::string fence);
  std::string what() const;

  UniqueFd fd_;
  std::string name_;
};

/// A sync file as a point. Takes `fd` over on success only. @errors as SyncFileTimeline::import.
TimelinePoint import_sync_file(UniqueFd&& fd);

/// The point after which `access` to a dma-buf is safe, from the fences that drivers attached to it: for reading, the
/// writers' fences; for writing, the readers' too. A stand-in has none: TimelinePoint::ready().
/// @param fd  A dma-buf; stays the caller's. @errors kUnimplemented: a kernel before 6.0; kInvalidArgument: closed.
TimelinePoint export_sync_file(int fd, Access access);

/// Attaches `point` to a dma-buf as a fence: drivers will wait for it, and export_sync_file() returns it.
/// @errors kUnimplemented: a point that is no sync file (wait for it instead), a stand-in, a kernel before 6.0.
void attach_sync_file(int fd, const TimelinePoint& point, Access access);

/// One sync file for two: its point is reached when both are. @errors kInvalidArgument: a point that is no sync file.
TimelinePoint merge_sync_files(const TimelinePoint& a, const TimelinePoint& b);

namespace detail {

bool is_sync_file(const TimelinePoint& point);

/// Attaches the sync files among the unfinished work on `memory` to its dma-buf, so that the next user of the descriptor
/// waits for them: the drivers by themselves, the CPU by the bracket.
/// @return false if this kernel cannot (before 6.0): they must be handed out beside the descriptor, or waited for.
bool attach_fences(const Memory& memory, int fd);

inline constexpr const char* kSyncEndCall = "ioctl(DMA_BUF_IOCTL_SYNC end)";

/// Waits for the fences that drivers have attached to a dma-buf: for reading, the writers'; for writing, the readers'
/// too. Books the wait if there was one. @errors kDeadlineExceeded; errors of poll. @cost one poll.
void wait_for_fences(int fd, Access access, Deadline deadline, Ledger* ledger);

/// Begins CPU access to a dma-buf. The kernel would wait for its fences without a limit, so poll waits first, with the
/// deadline. @errors kDeadlineExceeded; errors of the calls.
void begin_access(int fd, Access access, Deadline deadline, Ledger* ledger);

/// The ends of the kernel's bracket, for callers that have waited for the fences. The kernel may ask to repeat the call, also
/// when a signal comes; no deadline, since destructors must finish. Both return 0 or the errno.
int start_access(int fd, Access access);
int end_access(int fd, Access access);

}  // namespace detail
}  // namespace dmabuf
}  // namespace v1
}  // namespace tenon
