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
  /// Waits for the device and keeps what went wrong for report(). Called once, by one of the threads or by end_here().
  virtual void wait() noexcept = 0;
  /// Ends the inference, which calls the user's callback. May destroy this. Called once, after wait(), by the same thread.
  virtual void report() noexcept = 0;

 private:
  friend class Completion;
  Pending* next_ = nullptr;
  std::uint64_t turn_ = 0;
};

/// One thread per inference in flight, so that a callback that is slow or waits for another inference delays no other. An inference for which a
/// thread of the application waits ends in that thread. While that is so, a thread here looks at intervals whether there are others, since
/// to be woken for each would take longer than the shortest inferences.
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
  /// Waits for it and reports it in the caller's thread, unless one of the threads has it or it has been reported.
  /// @return whether it did
  bool end_here(Pending& pending) noexcept;
  /// Ends the threads; no add() may follow. Waits for them, except for the calling one.
  void stop() noexcept;

 private:
  void serve();
  void report(Pending& pending);
  /// After so many looks in a row, without an inference that ended in its caller's thread, the thread sleeps until it is woken.
  static constexpr int kIdleLooks = 20;
  bool may_look() const noexcept;  ///< Requires mutex_.
  /// A look takes a while. @return whether the first inference was there when it began. Requires mutex_.
  bool look(std::unique_lock<std::mutex>& lock);
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
  bool is_looking_ = false;      ///< A thread looks at the first inference by itself soon.
  int idle_looks_ = kIdleLooks;
  bool stop_ = false;
};

}  // namespace tenon::inline v1::npu_device
