// SPDX-License-Identifier: Apache-2.0
// Threads that wait for a model's inferences and tell the runtime that they are over.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace tenon::inline v1::npu_device {

/// What waits: an inference that was handed to the device. Linked, so that adding one allocates nothing.
class Pending {
 public:
  virtual ~Pending() = default;
  /// Waits for the device, and reports. May destroy this. Called once, by one of the threads.
  virtual void complete() noexcept = 0;

 private:
  friend class Completion;
  Pending* next_ = nullptr;
};

/// A thread for every inference that is in flight at once, so that a callback that takes its time, or waits for
/// another inference, holds nobody up. @thread all members from any thread.
class Completion : public std::enable_shared_from_this<Completion> {
 public:
  /// Makes sure that add() will find a thread. @errors std::system_error
  void reserve();
  /// After reserve(). @return before complete() is called, or meanwhile.
  void add(Pending& pending) noexcept;
  /// Takes back what reserve() promised.
  void cancel_reserve() noexcept;
  /// No more will come; the threads end. Waits for them, but for the calling one.
  void stop() noexcept;

 private:
  void serve();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::thread> threads_;
  Pending* first_ = nullptr;
  Pending* last_ = nullptr;
  std::size_t free_threads_ = 0;
  std::size_t promised_ = 0;  ///< Reserved or added, and not yet taken up.
  bool stop_ = false;
};

}  // namespace tenon::inline v1::npu_device
