// SPDX-License-Identifier: Apache-2.0
// The free list behind pools, and frames over its buffers.
#include <tenon/frameworks/cpu/pool.hpp>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/hazards.hpp>
#include <tenon/core/pixel_format.hpp>

namespace tenon {
inline namespace v1 {
namespace cpu {

/// Shared by the pool and the buffers in use.
struct Pool::State final : RefCounted {
  /// A buffer of the pool, which is also the state of its current use: reused each time, so that no lease is
  /// allocated.
  struct Slot final : LeaseState {
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

namespace detail {

TENON_INLINE Requirements pooled_bytes(std::size_t size_bytes) {
  Requirements wanted;
  wanted.size_bytes = size_bytes;
  wanted.alignment = 64;
  return wanted;
}

/// `wanted` with the size of a frame. @errors kInvalidArgument: a pitch above wanted.max_pitch.
TENON_INLINE Requirements completed(const FrameInfo& info, Requirements wanted) {
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

}  // namespace detail

TENON_INLINE Pool::Pool(const Requirements& wanted, std::size_t limit, Allocate allocate)
    : state_(make_ref<State>(wanted, limit, allocate ? std::move(allocate) : Allocate(&cpu::allocate_memory))) {
  if (limit == 0)
    throw Error(Code::kInvalidArgument, "pool: a limit of 0 buffers would block for ever; allow at least 1");
}
TENON_INLINE Pool::Pool(std::size_t size_bytes, std::size_t limit) : Pool(detail::pooled_bytes(size_bytes), limit) {}
TENON_INLINE Pool::Pool(Pool&&) noexcept = default;
TENON_INLINE Pool& Pool::operator=(Pool&& other) noexcept {
  if (this != &other) {
    if (state_) state_->close();
    state_ = std::move(other.state_);
  }
  return *this;
}
TENON_INLINE Pool::~Pool() {
  if (state_) state_->close();
}

TENON_INLINE PooledBuffer Pool::acquire(Deadline deadline, Ledger* ledger) { return state_->acquire(deadline, ledger); }
TENON_INLINE PooledBuffer Pool::try_acquire() { return state_->acquire(std::nullopt, nullptr); }
TENON_INLINE Tensor Pool::acquire_tensor(const TensorInfo& info, Deadline deadline) {
  PooledBuffer buffer = acquire(deadline);
  return Tensor(info, std::move(buffer.memory), 0, std::move(buffer.lease));
}

TENON_INLINE const Requirements& Pool::requirements() const { return state_->wanted; }
TENON_INLINE std::size_t Pool::limit() const { return state_->limit; }
TENON_INLINE std::size_t Pool::size() const {
  const std::lock_guard lock(state_->mutex);
  return state_->made;
}
TENON_INLINE std::size_t Pool::idle() const {
  const std::lock_guard lock(state_->mutex);
  return state_->free_count;
}

TENON_INLINE FramePool::FramePool(const FrameInfo& info, const Requirements& wanted, std::size_t limit,
                                  Pool::Allocate allocate)
    : info_(info), pool_(detail::completed(info, wanted), limit, std::move(allocate)) {}
TENON_INLINE Frame FramePool::acquire(Deadline deadline) { return over(pool_.acquire(deadline)); }
TENON_INLINE Frame FramePool::try_acquire() {
  const PooledBuffer buffer = pool_.try_acquire();
  return buffer ? over(buffer) : Frame();
}
TENON_INLINE Frame FramePool::over(const PooledBuffer& buffer) const {
  return Frame::over(info_, buffer.memory, pool_.requirements(), buffer.lease);
}

}  // namespace cpu
}  // namespace v1
}  // namespace tenon
