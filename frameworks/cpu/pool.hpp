// SPDX-License-Identifier: Apache-2.0
// Pools of equal buffers that are reused, together with the views that other contexts made over them.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/host.hpp>  // IWYU pragma: export
#include <tenon/core/memory.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/cpu/shared_memory.hpp>

namespace tenon {
inline namespace v1 {
namespace cpu {

/// One use of a pooled buffer: it returns to the pool with the last copy of `lease`. A tensor over it holds both.
struct PooledBuffer {
  Ref<Memory> memory;
  Lease lease;
  explicit operator bool() const { return static_cast<bool>(memory); }
};

/// Fixed-size buffers from a free list that grows on demand up to a limit. Memory objects persist between uses, and
/// with them their views in other contexts: this is the mapping cache. In the steady state nothing is allocated.
///
/// The pool may be destroyed while buffers are in use: they stay valid, and each is freed when its last lease goes.
/// @thread all members from any thread; leases may be dropped on any thread.
class Pool {
 public:
  using Allocate = std::function<Ref<Memory>(const Requirements&)>;

  /// Buffers as described by `wanted` (size, alignment, tail padding, fd), at most `limit` of them. `allocate` makes
  /// them; any context's allocate() will do. Without it they are host memory, or memfd memory when `wanted.fd` asks for
  /// a descriptor.
  /// @errors kInvalidArgument: a limit of 0. Nothing is allocated yet.
  Pool(const Requirements& wanted, std::size_t limit, Allocate allocate = {})
      : state_(make_ref<State>(wanted, limit, allocate ? std::move(allocate) : Allocate(&cpu::allocate_memory))) {
    if (limit == 0)
      throw Error(Code::kInvalidArgument, "pool: a limit of 0 buffers would block for ever; allow at least 1");
  }
  Pool(std::size_t size_bytes, std::size_t limit) : Pool(sized(size_bytes), limit) {}
  Pool(Pool&&) noexcept = default;
  Pool& operator=(Pool&& other) noexcept {
    if (this != &other) {
      if (state_) state_->close();
      state_ = std::move(other.state_);
    }
    return *this;
  }
  ~Pool() {
    if (state_) state_->close();
  }

  /// Returns a free buffer that nothing runs on, or a new one below the limit, or else waits for the first to come back
  /// or to be finished with before `deadline`. It may be written at once; its bytes are those of the last use, and
  /// failures of that use are forgotten.
  /// @param ledger  Where a wait for a device is booked; null: the process ledger.
  /// @errors kDeadlineExceeded, naming size and limit, or the device; errors of the allocation.
  PooledBuffer acquire(Deadline deadline = default_deadline(), Ledger* ledger = nullptr) {
    return state_->acquire(deadline, ledger);
  }
  /// As acquire(), but returns an empty buffer instead of waiting.
  PooledBuffer try_acquire() { return state_->acquire(std::nullopt, nullptr); }
  /// A tensor over a buffer. @errors as acquire(); kOutOfRange when `info` needs more than a buffer has.
  Tensor acquire_tensor(const TensorInfo& info, Deadline deadline = default_deadline()) {
    PooledBuffer buffer = acquire(deadline);
    return Tensor(info, std::move(buffer.memory), 0, std::move(buffer.lease));
  }

  const Requirements& requirements() const { return state_->wanted; }
  std::size_t limit() const { return state_->limit; }
  /// Buffers made so far, in use or not.
  std::size_t size() const {
    std::lock_guard lock(state_->mutex);
    return state_->made;
  }
  /// Buffers not in use.
  std::size_t idle() const {
    std::lock_guard lock(state_->mutex);
    return state_->free_count;
  }

 private:
  struct State;

  /// A buffer of the pool, which is also the state of its current use: reused each time, so that no lease is
  /// allocated.
  class Slot final : public LeaseState {
   public:
    explicit Slot(Ref<Memory> buffer) : memory(std::move(buffer)) {}
    Ref<Memory> memory;
    Ref<State> owner;  ///< Set while in use: keeps the pool's state alive.
    Slot* next = nullptr;

   protected:
    void dispose() noexcept override {
      const Ref<State> state = std::move(owner);
      state->give_back(this);
    }
  };

  struct State final : RefCounted {
    State(const Requirements& requirements, std::size_t most, Allocate make)
        : wanted(requirements), limit(most), allocate(std::move(make)) {}
    ~State() override {
      while (free) delete std::exchange(free, free->next);
    }

    PooledBuffer acquire(std::optional<Deadline> deadline, Ledger* ledger) {
      std::unique_lock lock(mutex);
      Slot* slot = take_idle();
      if (!slot && made == limit) {
        if (!deadline) return {};
        if (!returned.wait_until(lock, *deadline, [this] { return free || made < limit; })) {
          throw Error(Code::kDeadlineExceeded,
                      "pool of " + std::to_string(limit) + " buffers of " + std::to_string(wanted.size_bytes) +
                          " bytes: all are in use and none came back in time; raise the limit or drop "
                          "tensors and frames earlier");
        }
        if (free) slot = take_oldest();
      }
      if (!slot) {
        ++made;  // Reserved before unlocking, so that other threads stay within the limit.
        lock.unlock();
        try {
          Ref<Memory> memory = allocate(wanted);
          if (!memory) throw Error(Code::kInternal, "pool: its allocation function gave no memory and no error");
          slot = new Slot(std::move(memory));
        } catch (...) {
          lock.lock();
          --made;
          returned.notify_one();
          throw;
        }
      } else {
        lock.unlock();
      }
      slot->owner = Ref<State>(this);
      PooledBuffer buffer{slot->memory, Lease(slot)};
      if (slot->memory->has_hazards()) {
        buffer.memory->wait_for(Access::kWrite, deadline.value_or(Deadline::min()), ledger);
        buffer.memory->hazards().forget_failures();
      }
      return buffer;
    }

    Slot* take_out(Slot** at) {
      Slot* slot = *at;
      *at = slot->next;
      --free_count;
      return slot;
    }
    /// The free buffer that came back first, whose work ends soonest. Precondition: there is one.
    Slot* take_oldest() {
      Slot** at = &free;
      while ((*at)->next) at = &(*at)->next;
      return take_out(at);
    }
    /// A free buffer that nothing runs on, the one used last if possible; null if there is none.
    Slot* take_idle() {
      for (Slot** at = &free; *at; at = &(*at)->next) {
        const Memory& memory = *(*at)->memory;
        if (!memory.has_hazards() || !memory.hazards().busy()) return take_out(at);
      }
      return nullptr;
    }

    void give_back(Slot* slot) noexcept {
      {
        std::lock_guard lock(mutex);
        if (!closed) {
          slot->next = free;
          free = slot;
          ++free_count;
          // Under the lock: the caller's reference keeps this object, but a woken thread must not get ahead of the
          // notification.
          returned.notify_one();
          return;
        }
        --made;
      }
      delete slot;  // Outside the lock: freeing a buffer drops its views, which calls foreign code.
    }

    void close() noexcept {
      Slot* idle;
      {
        std::lock_guard lock(mutex);
        closed = true;
        idle = std::exchange(free, nullptr);
        made -= free_count;
        free_count = 0;
      }
      while (idle) delete std::exchange(idle, idle->next);
    }

    const Requirements wanted;
    const std::size_t limit;
    const Allocate allocate;
    std::mutex mutex;
    std::condition_variable returned;
    Slot* free = nullptr;
    std::size_t free_count = 0, made = 0;
    bool closed = false;
  };

  static Requirements sized(std::size_t size_bytes) {
    Requirements wanted;
    wanted.size_bytes = size_bytes;
    wanted.alignment = 64;
    return wanted;
  }

  Ref<State> state_;
};

/// Frames of one format and size over pooled buffers, for decoders and sources.
/// @thread as Pool.
class FramePool {
 public:
  /// Rows and planes are laid out as `wanted` says; its size_bytes is raised to the size of a frame of `info`.
  /// @errors kInvalidArgument: extents of 0 or past the limit, a pitch above wanted.max_pitch; kUnimplemented: unknown
  /// format.
  FramePool(const FrameInfo& info, const Requirements& wanted, std::size_t limit, Pool::Allocate allocate = {})
      : info_(info), pool_(completed(info, wanted), limit, std::move(allocate)) {}

  const FrameInfo& info() const { return info_; }
  /// The requirements passed in, with the size that a frame needs.
  const Requirements& requirements() const { return pool_.requirements(); }
  Pool& pool() { return pool_; }

  /// A frame over a free buffer; without a timestamp. @errors as Pool::acquire.
  Frame acquire(Deadline deadline = default_deadline()) { return over(pool_.acquire(deadline)); }
  /// Empty when all buffers are in use.
  Frame try_acquire() {
    const PooledBuffer buffer = pool_.try_acquire();
    return buffer ? over(buffer) : Frame();
  }

 private:
  Frame over(const PooledBuffer& buffer) const {
    return Frame::over(info_, buffer.memory, pool_.requirements(), buffer.lease);
  }

  static Requirements completed(const FrameInfo& info, Requirements wanted) {
    wanted.size_bytes = std::max(wanted.size_bytes, Frame::size_bytes_for(info, wanted));
    const std::size_t planes = format_info(info.format).plane_count;
    for (std::size_t p = 0; p < planes; ++p) {
      const std::size_t row = plane_extent(info, p).row_bytes;
      const std::size_t pitch = (row + wanted.pitch_alignment - 1) / wanted.pitch_alignment * wanted.pitch_alignment;
      if (pitch > wanted.max_pitch) {
        throw Error(Code::kInvalidArgument,
                    "frame pool " + to_string(info.format) + ": rows of " + std::to_string(pitch) +
                        " bytes exceed the longest that a consumer takes, " + std::to_string(wanted.max_pitch));
      }
    }
    return wanted;
  }

  FrameInfo info_;
  Pool pool_;
};

}  // namespace cpu
}  // namespace v1
}  // namespace tenon
