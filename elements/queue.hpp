// SPDX-License-Identifier: Apache-2.0
// A bounded queue between two threads of a pipeline.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <tenon/core/policy.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {

/// What happens to a frame when a queue is full.
enum class WhenFull : std::uint8_t {
  kBlock,       ///< The writer waits: no frame is lost, and backpressure reaches the source.
  kDropOldest,  ///< The frame that has waited longest is dropped: for live sources.
  kDropNewest,  ///< The new frame is dropped.
};

struct QueueOptions {
  static constexpr std::size_t kMaxSize = 1'000'000;
  std::size_t size = 4;  ///< Capacity in frames: 1 to kMaxSize.
  WhenFull when_full = WhenFull::kBlock;
};

/// A queue with a fixed capacity. Items pushed with may_drop false (the ends of streams) are never dropped.
/// @thread any number of writers and readers. @cost A lock, and a wake-up only if a thread sleeps. Has room for as many items as
/// ever waited at once, and allocates only when that number grows.
template <typename T>
class Queue {
 public:
  /// @pre 0 < options.size <= options.kMaxSize
  explicit Queue(const QueueOptions& options) : options_(options), ring_(std::min<std::size_t>(options.size, 8)) {}
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  /// Adds an item at the end. @param may_drop  False: waits for room whatever the policy.
  /// @return The number of items that were dropped, which may include this one; nothing if the queue is closed.
  /// @errors std::bad_alloc: no memory for one more item.
  std::optional<std::size_t> push(T item, bool may_drop) {
    std::optional<T> oldest;  // Destroyed after the lock is released: its destructor may call this queue.
    std::unique_lock lock(mutex_);
    std::size_t dropped = 0;
    while (count_ == options_.size && !closed_) {
      if (may_drop && options_.when_full == WhenFull::kDropNewest) return 1;
      if (may_drop && options_.when_full == WhenFull::kDropOldest && (oldest = take_oldest())) {
        ++dropped;
        break;
      }
      ++writers_;
      has_room_.wait(lock);
      --writers_;
    }
    if (closed_) return std::nullopt;
    if (count_ == ring_.size()) grow();
    at(count_++) = {std::move(item), may_drop};
    if (readers_ > 0) has_item_.notify_one();
    return dropped;
  }

  /// Takes the oldest item. @return Nothing: the deadline has passed, wake() was called, or the queue is closed and empty.
  std::optional<T> pop(std::optional<Deadline> deadline = std::nullopt) {
    std::unique_lock lock(mutex_);
    while (count_ == 0 && !closed_) {
      if (std::exchange(is_woken_, false)) return std::nullopt;
      ++readers_;
      const bool in_time =
          deadline ? has_item_.wait_until(lock, *deadline) == std::cv_status::no_timeout : (has_item_.wait(lock), true);
      --readers_;
      if (!in_time && count_ == 0) return std::nullopt;
    }
    if (count_ == 0) return std::nullopt;
    std::optional<T> item = std::move(at(0).item);
    at(0).item.reset();
    first_ = (first_ + 1) % ring_.size();
    --count_;
    if (writers_ > 0) has_room_.notify_one();
    return item;
  }

  /// Closes the queue: it takes no more items, and all waiting threads wake up. pop() still returns the items that are left,
  /// unless `drop_rest`. @return The number of items of push()'s `may_drop` that were dropped.
  std::size_t close(bool drop_rest) {
    std::vector<Slot> rest;  // Destroyed after the lock is released, as in push().
    const std::lock_guard lock(mutex_);
    closed_ = true;
    std::size_t dropped = 0;
    if (drop_rest) {
      for (std::size_t i = 0; i < count_; ++i) dropped += at(i).may_drop ? 1 : 0;
      rest.swap(ring_);
      count_ = 0;
    }
    has_room_.notify_all();
    has_item_.notify_all();
    return dropped;
  }
  /// Makes the next pop() that finds no item return without one.
  void wake() {
    const std::lock_guard lock(mutex_);
    is_woken_ = true;
    has_item_.notify_all();
  }
  bool is_closed() const {
    const std::lock_guard lock(mutex_);
    return closed_;
  }
  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return count_;
  }
  std::size_t capacity() const { return options_.size; }

 private:
  struct Slot {
    std::optional<T> item;
    bool may_drop = true;
  };

  void grow() {
    std::vector<Slot> larger(std::min(options_.size, 2 * ring_.size()));
    for (std::size_t i = 0; i < count_; ++i) larger[i] = std::move(at(i));
    ring_.swap(larger);
    first_ = 0;
  }

  Slot& at(std::size_t index) { return ring_[(first_ + index) % ring_.size()]; }

  /// Removes the oldest item that may be dropped. @pre The mutex is held. @return Nothing: no item may be dropped.
  std::optional<T> take_oldest() {
    std::size_t oldest = 0;
    while (oldest < count_ && !at(oldest).may_drop) ++oldest;
    if (oldest == count_) return std::nullopt;
    std::optional<T> item(std::move(*at(oldest).item));
    for (std::size_t i = oldest; i + 1 < count_; ++i) at(i) = std::move(at(i + 1));
    at(--count_).item.reset();
    return item;
  }

  const QueueOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable has_room_, has_item_;
  std::vector<Slot> ring_;
  std::size_t first_ = 0, count_ = 0;
  std::size_t readers_ = 0, writers_ = 0;  ///< The numbers of sleeping threads.
  bool closed_ = false, is_woken_ = false;
};

}  // namespace elements
}  // namespace v1
}  // namespace tenon
