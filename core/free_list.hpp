// SPDX-License-Identifier: Apache-2.0
// Objects that are reused instead of allocated for each use.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <utility>

namespace tenon {
inline namespace v1 {

/// Idle objects of one type; T has a member `T* next_` and befriends this. Keeps a few and frees the rest.
/// @thread all members from any thread.
template <typename T>
class FreeList {
 public:
  /// The list of the process; outlives static destructors.
  static FreeList& instance() {
    static FreeList* list = new FreeList;
    return *list;
  }
  T* take() {
    // One object is kept outside of the list and taken by a single exchange: a loop that uses one object at a time
    // takes no lock.
    if (T* const hot = hot_.exchange(nullptr, std::memory_order_acquire)) return hot;
    {
      std::lock_guard lock(mutex_);
      if (T* const idle = first_) {
        first_ = idle->next_;
        --count_;
        return idle;
      }
    }
    return new T;
  }
  void give_back(T* idle) noexcept {
    T* none = nullptr;
    if (hot_.compare_exchange_strong(none, idle, std::memory_order_release, std::memory_order_relaxed)) return;
    {
      std::lock_guard lock(mutex_);
      if (count_ < kMax) {
        idle->next_ = std::exchange(first_, idle);
        ++count_;
        return;
      }
    }
    delete idle;
  }

 private:
  static constexpr std::size_t kMax = 256;
  std::atomic<T*> hot_{nullptr};
  std::mutex mutex_;
  T* first_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace v1
}  // namespace tenon
