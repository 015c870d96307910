// SPDX-License-Identifier: Apache-2.0
// Slots behind handles, shared by the drivers. A slot is never unmapped and is reused late, so any value from a client
// can be checked without touching unmapped memory.
#pragma once

#include <sys/mman.h>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <utility>

namespace tenon::handles {

/// Validity, kind and reference count of one slot, in one word. @thread all members from any thread.
class SlotState {
 public:
  /// Makes the slot valid. @param references  At least one: the handle's.
  void open(std::uint8_t kind, std::uint32_t references) noexcept {
    word_.store(valid(kind) + references, std::memory_order_release);
  }
  /// Frees the slot. Call only after drop() returned true.
  void close() noexcept { word_.store(0, std::memory_order_release); }
  /// Adds a reference if the slot has a valid handle of this kind.
  bool acquire(std::uint8_t kind) noexcept {
    return change(kind, [](std::uint64_t word) { return word + 1; });
  }
  /// Makes the handle invalid; the caller must then drop the handle's reference. Only one caller gets true.
  bool invalidate(std::uint8_t kind) noexcept {
    return change(kind, [](std::uint64_t word) { return word & ~kValid; });
  }
  void add() noexcept { word_.fetch_add(1, std::memory_order_relaxed); }
  /// True for the last reference: the caller destroys the object.
  bool drop() noexcept { return (word_.fetch_sub(1, std::memory_order_acq_rel) & kReferences) == 1; }

 private:
  static constexpr std::uint64_t kValid = std::uint64_t{1} << 63;
  static constexpr std::uint64_t kReferences = (std::uint64_t{1} << 48) - 1;
  static constexpr std::uint64_t valid(std::uint8_t kind) { return kValid | std::uint64_t{kind} << 48; }

  template <class Next>
  bool change(std::uint8_t kind, Next next) noexcept {
    std::uint64_t word = word_.load(std::memory_order_acquire);
    do {
      if ((word & ~kReferences) != valid(kind)) return false;
    } while (!word_.compare_exchange_weak(word, next(word), std::memory_order_acq_rel));
    return true;
  }

  std::atomic<std::uint64_t> word_{0};  ///< Bit 63: the handle is valid; bits 48 to 55: its kind; below: references.
};

/// A table of up to `capacity` slots, whose `Slot* next` belongs to the table. Never destroy one that clients know: they call
/// from their own destructors. Allocates from the system alone, so that no call of it can fail for want of heap memory.
/// @thread all members from any thread.
template <class Slot>
class SlotTable {
 public:
  /// @param quarantine  Number of free slots kept before the first is used again.
  SlotTable(std::size_t capacity, std::size_t quarantine) noexcept : capacity_(capacity), quarantine_(quarantine) {
    reserve();
  }
  SlotTable(const SlotTable&) = delete;
  SlotTable& operator=(const SlotTable&) = delete;

  /// The slot at this address, or null; only the address is checked.
  Slot* find(const void* address) const noexcept {
    const auto offset = reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(first());
    return offset % sizeof(Slot) == 0 ? at(offset / sizeof(Slot)) : nullptr;
  }
  /// The slot of this number, or null.
  Slot* at(std::size_t number) const noexcept { return number < used() ? first() + number : nullptr; }
  std::int64_t number(const Slot* slot) const noexcept { return slot ? slot - first() : -1; }
  /// Number of slots that were ever taken.
  std::size_t used() const noexcept { return used_.load(std::memory_order_acquire); }

  /// A free slot, or null: none is left.
  Slot* take() noexcept {
    std::lock_guard lock(mutex_);
    const std::size_t used = used_.load(std::memory_order_relaxed);
    if (free_ > quarantine_ || (used == capacity_ && free_ > 0)) {
      --free_;
      return std::exchange(oldest_, oldest_->next);
    }
    if (!reserve() || used == capacity_) return nullptr;
    Slot* slot = new (first() + used) Slot;
    used_.store(used + 1, std::memory_order_release);
    return slot;
  }
  void give_back(Slot* slot) noexcept {
    std::lock_guard lock(mutex_);
    slot->next = nullptr;
    (free_++ > 0 ? newest_->next : oldest_) = slot;
    newest_ = slot;
  }

 private:
  /// Addresses for all slots; pages are committed on use. Where there are none now, the next slot asks again.
  bool reserve() noexcept {
    if (first()) return true;
    void* const memory = ::mmap(nullptr, capacity_ * sizeof(Slot), PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory != MAP_FAILED) first_.store(static_cast<Slot*>(memory), std::memory_order_relaxed);
    return first() != nullptr;
  }
  /// Seen by whatever sees a slot as used.
  Slot* first() const noexcept { return first_.load(std::memory_order_relaxed); }

  const std::size_t capacity_, quarantine_;
  std::atomic<Slot*> first_{nullptr};
  std::atomic<std::size_t> used_{0};
  std::mutex mutex_;
  Slot* oldest_ = nullptr;  ///< The free slots, which `next` joins.
  Slot* newest_ = nullptr;
  std::size_t free_ = 0;
};

}  // namespace tenon::handles
