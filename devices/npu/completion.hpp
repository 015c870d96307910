// SPDX-License-Identifier: Apache-2.0
// Threads that wait for a model's inferences and report their completion to the runtime.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace tenon::inline v1::npu_device {

/// An inference submitted to the device. Linked, so that adding one allocates nothing.
class Pending {
 public:
  virtual ~Pending() = default;
  /// Waits for the device and keeps what went wrong for report(). Called once, by one of the threads.
  virtual void wait() noexcept = 0;
  /// Ends the inference, which calls the user's callback. May destroy this. Called once, after wait(), by the same thread.
  virtual void report() noexcept = 0;

 private:
  friend class Completion;
  Pending* next_ = nullptr;
  std::uint64_t turn_ = 0;
};

/// One thread per inference in flight, so that a callback that is slow or waits for another inference delays no other.
/// @thread all members from any thread.
class Completion : public std::enable_shared_from_this<Completion> {
 public:
  /// With in_order, inferences are reported one after the other, as they were added. A callback may wait for a later inference, so one that
  /// takes longer than a second holds back those behind it no more.
  explicit Completion(bool in_order = false) : in_order_(in_order) {}
  /// Guarantees a thread for the next add(). @errors std::system_error
  void reserve();
  /// Requires reserve(). Does not wait for complete().
  void add(Pending& pending) noexcept;
  /// Revokes a reserve().
  void cancel_reserve() noexcept;
  /// Ends the threads; no add() may follow. Waits for them, except for the calling one.
  void stop() noexcept;

 private:
  void serve();
  void report(Pending& pending);
  const bool in_order_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable reported_;
  std::vector<std::thread> threads_;
  Pending* first_ = nullptr;
  Pending* last_ = nullptr;
  std::size_t free_threads_ = 0;
  std::size_t promised_ = 0;     ///< Reserved or added, not yet taken by a thread.
  std::uint64_t added_ = 0;      ///< The turn of the next inference that is added.
  std::uint64_t next_turn_ = 0;  ///< The turn of the next inference that is reported.
  bool stop_ = false;
};

}  // namespace tenon::inline v1::npu_device
