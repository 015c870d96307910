// SPDX-License-Identifier: Apache-2.0
// Objects that are reused instead of allocated for each use.
#pragma once

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
    {
      std::lock_guard lock(mutex_);
      if (count_ < kMost) {
        idle->next_ = std::exchange(first_, idle);
        ++count_;
        return;
      }
    }
    delete idle;
  }

 private:
  static constexpr std::size_t kMost = 256;
  std::mutex mutex_;
  T* first_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace v1
}  // namespace tenon
