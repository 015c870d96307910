// SPDX-License-Identifier: Apache-2.0
// Accesses with a beginning and an end, for devices that share the host's memory but need a map or unmap between the
// host's uses and their own (Coherency::kMapped).
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

#include <tenon/core/context.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/free_list.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/opencl/buffer.hpp>
#include <tenon/frameworks/opencl/context.hpp>
#include <tenon/frameworks/opencl/event.hpp>
#include <tenon/frameworks/opencl/native.hpp>
#include <tenon/frameworks/opencl/sync.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {
namespace detail {

/// Whose turn it is to use one buffer. The side away from home (the host at a buffer, the device at host memory)
/// borrows it: its first user opens the access, its last one closes it.
class Turns {
 public:
  explicit Turns(std::size_t users) : users_(users) {}
  virtual ~Turns() = default;

  /// @errors those of open(); nothing is held then.
  void enter(bool writes, Deadline deadline) {
    std::lock_guard lock(mutex_);
    if (users_ == 0) open(deadline);
    ++users_;
    written_ = written_ || writes;
  }
  /// Declares that a current user writes.
  void writes() {
    std::lock_guard lock(mutex_);
    written_ = true;
  }
  /// Never throws: a failure is stored in the memory's hazards.
  void leave(const Memory& memory) noexcept {
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

 protected:
  /// Gives the bytes to the borrower; returns when it may use them.
  virtual void open(Deadline deadline) = 0;
  /// Starts returning them. @return the point when they are back.
  virtual TimelinePoint close(const Memory& memory) = 0;

 private:
  std::mutex mutex_;
  std::size_t users_;
  bool written_ = false;
};

/// One use by the borrower. Held by the tensor that a map returned; wraps the lease of the mapped tensor.
class TurnLease final : public LeaseState {
 public:
  /// @errors as Turns::enter.
  static Lease enter(const Ref<Memory>& memory, Turns& turns, const Lease& inner, Access access, Deadline deadline) {
    turns.enter(writes(access), deadline);
    return entered(memory, turns, inner);
  }
  /// For turns that were already entered when made.
  static Lease entered(const Ref<Memory>& memory, Turns& turns, const Lease& inner, Access access) {
    if (writes(access)) turns.writes();
    return entered(memory, turns, inner);
  }

 private:
  static Lease entered(const Ref<Memory>& memory, Turns& turns, const Lease& inner) {
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

 public:
  bool writable() const override { return !inner_ || inner_->writable(); }
  const Lease& inner() const { return inner_; }
  const Turns& turns() const { return *turns_; }

 protected:
  void dispose() noexcept override {
    turns_->leave(*memory_);
    inner_ = {};
    memory_ = {};
    FreeList<TurnLease>::instance().give_back(this);
  }

 private:
  friend class FreeList<TurnLease>;
  Ref<Memory> memory_;
  Lease inner_;
  Turns* turns_ = nullptr;  // Part of a view of memory_.
  TurnLease* next_ = nullptr;
};

inline TimelinePoint point_of(Handle<cl_event> event) {
  return TimelinePoint(EventTimeline::over(std::move(event)), 1);
}

/// A buffer over host memory that its users borrow by turns.
class LentView : public BufferView {
 public:
  using BufferView::BufferView;
  virtual Turns& turns() const = 0;
};

/// Host memory as a buffer: the device borrows it. While it is not borrowed the buffer is mapped, so that the host may
/// touch its own bytes.
class BorrowedByDevice final : public LentView, public Turns {
 public:
  BorrowedByDevice(Context context, Access access, std::size_t size, Ref<Native> native, Handle<cl_mem> buffer)
      : LentView(std::move(context), access, nullptr, std::move(buffer)),
        Turns(0),
        native_(std::move(native)),
        size_(size) {}
  ~BorrowedByDevice() override { unmap(nullptr); }
  Turns& turns() const override { return const_cast<BorrowedByDevice&>(*this); }

 private:
  void open(Deadline deadline) override {
    if (!mapped_) return;  // A new buffer uses the host's bytes as they are.
    cl_event event = nullptr;
    check(injected() ? injected_code() : unmap(&event), "clEnqueueUnmapMemObject", "handing host memory to the device");
    finish(Handle<cl_event>(event), deadline);
  }
  TimelinePoint close(const Memory& memory) override {
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
  cl_int unmap(cl_event* event) noexcept {
    if (!mapped_) return CL_SUCCESS;
    const cl_int status =
        clEnqueueUnmapMemObject(native_->transfers.get(), buffer(), std::exchange(mapped_, nullptr), 0, nullptr, event);
    clFlush(native_->transfers.get());
    return status;
  }

  Ref<Native> native_;
  std::size_t size_;
  void* mapped_ = nullptr;
};

/// The same loan as seen from another context over the cl_context: the same buffer, the same turns.
class SharedLoan final : public LentView {
 public:
  SharedLoan(Context context, Access access, Handle<cl_mem> buffer, Turns& turns)
      : LentView(std::move(context), access, nullptr, std::move(buffer)), turns_(turns) {}
  Turns& turns() const override { return turns_; }

 private:
  Turns& turns_;  // Part of another view of the same memory.
};

/// `source` as the buffer `view`, with a turn where the host lends the bytes. Views of a buffer's other makers need
/// none. @errors as Turns::enter.
inline Tensor through_buffer(const Tensor& source, const View& view, const MapOptions& options) {
  const auto* lent = view.standing_edge() >= 0 ? nullptr : dynamic_cast<const LentView*>(&view);
  if (!lent) return source.through(&view);
  Lease lease = TurnLease::enter(source.memory(), lent->turns(), source.lease(), options.access, deadline_of(options));
  return source.through(&view).with_lease(std::move(lease));
}

/// A buffer's host side: the host borrows it by mapping. Created with the first map, which gives the address.
class BorrowedByHost final : public View, public Turns {
 public:
  BorrowedByHost(Context context, Access access, Ref<Native> native, cl_mem buffer, cl_map_flags flags,
                 std::size_t size, std::unique_ptr<MappedBuffer> mapped)
      : View(std::move(context), kCpuMemory, access, mapped->data()),
        Turns(1),
        native_(std::move(native)),
        buffer_(buffer),
        flags_(flags),
        size_(size),
        mapped_(std::move(mapped)) {}

 private:
  void open(Deadline deadline) override {
    auto again = std::make_unique<MappedBuffer>(*native_, buffer_, flags_, 0, size_, deadline);
    if (again->data() != host())
      throw Error(Code::kUnimplemented, "opencl: " + native_->device.name +
                                            " maps a buffer to another address each time, so it cannot be shared; "
                                            "copy it");
    mapped_ = std::move(again);
  }
  TimelinePoint close(const Memory&) override {
    const std::unique_ptr<MappedBuffer> ending = std::move(mapped_);
    cl_event event = nullptr;
    check(ending->unmap(&event), "clEnqueueUnmapMemObject", "ending a host access");
    return point_of(Handle<cl_event>(event));
  }

  Ref<Native> native_;
  cl_mem buffer_;  // Owned by the memory, which outlives its views.
  cl_map_flags flags_;
  std::size_t size_;
  std::unique_ptr<MappedBuffer> mapped_;
};

/// `source` as the host's view `view`, with a turn where there are turns. @errors as Turns::enter.
inline Tensor through_host(const Tensor& source, const View& view, Access access, Deadline deadline) {
  const auto* borrowed = dynamic_cast<const BorrowedByHost*>(&view);
  if (!borrowed) return source.through(&view);
  auto& turns = const_cast<BorrowedByHost&>(*borrowed);
  Lease lease = TurnLease::enter(source.memory(), turns, source.lease(), access, deadline);
  return source.through(&view).with_lease(std::move(lease));
}

/// The lease of the tensor that a tensor of the host was mapped from: back in a buffer, the host's turn can end.
inline Lease without_host_turn(const Lease& lease) {
  const auto* turn = dynamic_cast<const TurnLease*>(lease.get());
  return turn && dynamic_cast<const BorrowedByHost*>(&turn->turns()) ? turn->inner() : lease;
}

}  // namespace detail
}  // namespace opencl
}  // namespace v1
}  // namespace tenon
