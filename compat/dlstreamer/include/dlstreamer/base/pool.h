// SPDX-License-Identifier: Apache-2.0
// Objects that are used again.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <tenon/core/policy.hpp>

namespace dlstreamer {

/// @thread any.
template <typename T>
class Pool {
 public:
  /// @param is_available  Whether an object of the pool is in no use. @param max_pool_size  0: any number.
  Pool(std::function<T()> allocator, std::function<bool(T&)> is_available, size_t max_pool_size = 0)
      : _allocator(std::move(allocator)), _is_available(std::move(is_available)), _max_pool_size(max_pool_size) {}

  /// Waits for an object where there may be no more. @errors std::runtime_error: all are in use for ten seconds.
  T get_or_create() {
    const tenon::Deadline deadline = tenon::default_deadline();
    for (;;) {
      {
        const std::lock_guard lock(_mutex);
        for (T& object : _objects)
          if (_is_available(object)) return object;
        if (_max_pool_size == 0 || _objects.size() < _max_pool_size) return _objects.emplace_back(_allocator());
      }
      if (tenon::Clock::now() > deadline)
        throw std::runtime_error("Pool: all " + std::to_string(_max_pool_size) +
                                 " objects stay in use; let go of some, or make the pool larger");
      std::this_thread::sleep_for(
          std::chrono::milliseconds(1));  // An object says nothing when its last user lets it go.
    }
  }
  size_t size() {
    const std::lock_guard lock(_mutex);
    return _objects.size();
  }

 private:
  std::function<T()> _allocator;
  std::function<bool(T&)> _is_available;
  size_t _max_pool_size;
  std::mutex _mutex;
  std::vector<T> _objects;
};

}  // namespace dlstreamer
