// SPDX-License-Identifier: Apache-2.0
// Turns at one buffer: the first user of the borrower opens the access, and the last one closes it.
#include <tenon/frameworks/opencl/access.hpp>

#include <exception>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/hazards.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/frameworks/opencl/event.hpp>
#include <tenon/frameworks/opencl/sync.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {
namespace detail {

TENON_INLINE void Turns::enter(bool writes, Deadline deadline) {
  std::lock_guard lock(mutex_);
  if (users_ == 0) open(deadline);
  ++users_;
  written_ = written_ || writes;
}

TENON_INLINE void Turns::writes() {
  std::lock_guard lock(mutex_);
  written_ = true;
}

TENON_INLINE void Turns::leave(const Memory& memory) noexcept {
  std::lock_guard lock(mutex_);
  if (--users_ != 0) return;
  const bool written = std::exchange(written_, false);
  try {
    if (TimelinePoint closed = close(memory); written)
      memory.hazards().wrote(std::move(closed));
    else
      memory.hazards().read_until(std::move(closed));
  } catch (...) {
    try {
      const Ref<HostTimeline> failed = make_ref<HostTimeline>();
      const TimelinePoint point = failed->next();
      failed->fail(point.value(), std::current_exception());
      memory.hazards().wrote(point);
    } catch (...) {  // No memory even for that: the next native call reports it.
    }
  }
}

TENON_INLINE Lease TurnLease::enter(const Ref<Memory>& memory, Turns& turns, const Lease& inner, Access access,
                                    Deadline deadline) {
  turns.enter(writes(access), deadline);
  return entered(memory, turns, inner);
}

TENON_INLINE Lease TurnLease::entered(const Ref<Memory>& memory, Turns& turns, const Lease& inner, Access access) {
  if (writes(access)) turns.writes();
  return entered(memory, turns, inner);
}

TENON_INLINE Lease TurnLease::entered(const Ref<Memory>& memory, Turns& turns, const Lease& inner) {
  TurnLease* lease = nullptr;
  try {
    lease = FreeList<TurnLease>::instance().take();
  } catch (...) {
    turns.leave(*memory);
    throw;
  }
  lease->memory_ = memory;
  lease->inner_ = inner;
  lease->turns_ = &turns;
  return Lease(lease);
}

TENON_INLINE void TurnLease::dispose() noexcept {
  turns_->leave(*memory_);
  inner_ = {};
  memory_ = {};
  FreeList<TurnLease>::instance().give_back(this);
}

TENON_INLINE TimelinePoint point_of(Handle<cl_event> event) {
  return TimelinePoint(EventTimeline::over(std::move(event)), 1);
}

TENON_INLINE BorrowedByDevice::BorrowedByDevice(Context context, Access access, std::size_t size, Ref<Native> native,
                                                Handle<cl_mem> buffer)
    : LentView(std::move(context), access, nullptr, std::move(buffer)),
      Turns(0),
      native_(std::move(native)),
      size_(size) {}

TENON_INLINE void BorrowedByDevice::open(Deadline deadline) {
  if (!mapped_) return;  // A new buffer uses the host's bytes as they are.
  cl_event event = nullptr;
  check(injected() ? injected_code() : unmap(&event), "clEnqueueUnmapMemObject", "handing host memory to the device");
  finish(Handle<cl_event>(event), deadline);
}

TENON_INLINE TimelinePoint BorrowedByDevice::close(const Memory& memory) {
  // After the commands that users reported; unreported ones are for the user to wait for.
  WaitList after;
  for (const TimelinePoint& point : memory.pending(Access::kReadWrite)) {
    if (point.state() == PointState::kPending) after.add(*native_, point);
  }
  cl_event event = nullptr;
  cl_int status = CL_SUCCESS;
  mapped_ = clEnqueueMapBuffer(native_->transfers.get(), buffer(), CL_FALSE, CL_MAP_READ | CL_MAP_WRITE, 0, size_,
                               after.size(), after.data(), &event, &status);
  check(status, "clEnqueueMapBuffer", "giving host memory back to the host");
  clFlush(native_->transfers.get());
  return point_of(Handle<cl_event>(event));
}

TENON_INLINE cl_int BorrowedByDevice::unmap(cl_event* event) noexcept {
  if (!mapped_) return CL_SUCCESS;
  const cl_int status =
      clEnqueueUnmapMemObject(native_->transfers.get(), buffer(), std::exchange(mapped_, nullptr), 0, nullptr, event);
  clFlush(native_->transfers.get());
  return status;
}

TENON_INLINE Tensor through_buffer(const Tensor& source, const View& view, const MapOptions& options) {
  const auto* lent = view.standing_edge() >= 0 ? nullptr : dynamic_cast<const LentView*>(&view);
  if (!lent) return source.through(&view);
  Lease lease = TurnLease::enter(source.memory(), lent->turns(), source.lease(), options.access, deadline_of(options));
  return source.through(&view).with_lease(std::move(lease));
}

TENON_INLINE BorrowedByHost::BorrowedByHost(Context context, Access access, Ref<Native> native, cl_mem buffer,
                                            cl_map_flags flags, std::size_t size, std::unique_ptr<MappedBuffer> mapped)
    : View(std::move(context), kCpuMemory, access, mapped->data()),
      Turns(1),
      native_(std::move(native)),
      buffer_(buffer),
      flags_(flags),
      size_(size),
      mapped_(std::move(mapped)) {}

TENON_INLINE void BorrowedByHost::open(Deadline deadline) {
  auto again = std::make_unique<MappedBuffer>(*native_, buffer_, flags_, 0, size_, deadline);
  if (again->data() != host())
    throw Error(Code::kUnimplemented, "opencl: " + native_->device.name +
                                          " maps a buffer to another address each time, so it cannot be shared; "
                                          "copy it");
  mapped_ = std::move(again);
}

TENON_INLINE TimelinePoint BorrowedByHost::close(const Memory&) {
  const std::unique_ptr<MappedBuffer> ending = std::move(mapped_);
  cl_event event = nullptr;
  check(ending->unmap(&event), "clEnqueueUnmapMemObject", "ending a host access");
  return point_of(Handle<cl_event>(event));
}

TENON_INLINE Tensor through_host(const Tensor& source, const View& view, Access access, Deadline deadline) {
  const auto* borrowed = dynamic_cast<const BorrowedByHost*>(&view);
  if (!borrowed) return source.through(&view);
  auto& turns = const_cast<BorrowedByHost&>(*borrowed);
  Lease lease = TurnLease::enter(source.memory(), turns, source.lease(), access, deadline);
  return source.through(&view).with_lease(std::move(lease));
}

TENON_INLINE Lease without_host_turn(const Lease& lease) {
  const auto* turn = dynamic_cast<const TurnLease*>(lease.get());
  return turn && dynamic_cast<const BorrowedByHost*>(&turn->turns()) ? turn->inner() : lease;
}

}  // namespace detail
}  // namespace opencl
}  // namespace v1
}  // namespace tenon
