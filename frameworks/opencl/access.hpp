// SPDX-License-Identifier: Apache-2.0
// Accesses with a beginning and an end, for devices that share the host's memory but need a map or unmap between the
// host's uses and their own (Coherency::kMapped).
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>

#include <tenon/core/context.hpp>
#include <tenon/core/free_list.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/opencl/buffer.hpp>
#include <tenon/frameworks/opencl/context.hpp>
#include <tenon/frameworks/opencl/native.hpp>

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
  void enter(bool writes, Deadline deadline);
  /// Declares that a current user writes.
  void writes();
  /// Never throws: a failure is stored in the memory's hazards.
  void leave(const Memory& memory) noexcept;

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
  static Lease enter(const Ref<Memory>& memory, Turns& turns, const Lease& inner, Access access, Deadline deadline);
  /// For turns that were already entered when made.
  static Lease entered(const Ref<Memory>& memory, Turns& turns, const Lease& inner, Access access);

 private:
  static Lease entered(const Ref<Memory>& memory, Turns& turns, const Lease& inner);

 public:
  bool writable() const override { return !inner_ || inner_->writable(); }
  const Lease& inner() const { return inner_; }
  const Turns& turns() const { return *turns_; }

 protected:
  void dispose() noexcept override;

 private:
  friend class FreeList<TurnLease>;
  Ref<Memory> memory_;
  Lease inner_;
  Turns* turns_ = nullptr;  // Part of a view of memory_.
  TurnLease* next_ = nullptr;
};

TimelinePoint point_of(Handle<cl_event> event);

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
  BorrowedByDevice(Context context, Access access, std::size_t size, Ref<Native> native, Handle<cl_mem> buffer);
  ~BorrowedByDevice() override { unmap(nullptr); }
  Turns& turns() const override { return const_cast<BorrowedByDevice&>(*this); }

 private:
  void open(Deadline deadline) override;
  TimelinePoint close(const Memory& memory) override;
  cl_int unmap(cl_event* event) noexcept;

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
Tensor through_buffer(const Tensor& source, const View& view, const MapOptions& options);

/// A buffer's host side: the host borrows it by mapping. Created with the first map, which gives the address.
class BorrowedByHost final : public View, public Turns {
 public:
  BorrowedByHost(Context context, Access access, Ref<Native> native, cl_mem buffer, cl_map_flags flags,
                 std::size_t size, std::unique_ptr<MappedBuffer> mapped);

 private:
  void open(Deadline deadline) override;
  TimelinePoint close(const Memory&) override;

  Ref<Native> native_;
  cl_mem buffer_;  // Owned by the memory, which outlives its views.
  cl_map_flags flags_;
  std::size_t size_;
  std::unique_ptr<MappedBuffer> mapped_;
};

/// `source` as the host's view `view`, with a turn where there are turns. @errors as Turns::enter.
Tensor through_host(const Tensor& source, const View& view, Access access, Deadline deadline);

/// The lease of the tensor that a tensor of the host was mapped from: back in a buffer, the host's turn can end.
Lease without_host_turn(const Lease& lease);

}  // namespace detail
}  // namespace opencl
}  // namespace v1
}  // namespace tenon
