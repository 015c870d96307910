// SPDX-License-Identifier: Apache-2.0
// A queue between threads.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <utility>

namespace dlstreamer {

/// First in, first out. @thread any.
template <typename T>
class BlockingQueue {
 public:
  /// Waits while `queue_limit` values are in the queue; 0: never.
  void push(T const& value, size_t queue_limit = 0) {
    std::unique_lock lock(_mutex);
    _taken.wait(lock, [&] { return queue_limit == 0 || _values.size() < queue_limit; });
    _values.push_back(value);
    lock.unlock();
    _added.notify_one();
  }
  /// Waits for a value.
  T pop() {
    std::unique_lock lock(_mutex);
    _added.wait(lock, [&] { return !_values.empty(); });
    T value(std::move(_values.front()));
    _values.pop_front();
    lock.unlock();
    _taken.notify_all();
    return value;
  }
  void clear() {
    std::deque<T> gone;
    const std::lock_guard lock(_mutex);
    gone.swap(_values);
    _taken.notify_all();
  }
  size_t size() {
    const std::lock_guard lock(_mutex);
    return _values.size();
  }

 private:
  std::mutex _mutex;
  std::condition_variable _added, _taken;
  std::deque<T> _values;
};

}  // namespace dlstreamer
