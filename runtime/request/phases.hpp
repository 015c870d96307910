// SPDX-License-Identifier: Apache-2.0
// The phases of one request (idle, running, its callback), waiting for its end, and its error.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include <tenon/core/policy.hpp>

namespace tenon {
inline namespace v1 {

/// Allows one inference at a time, and one callback at a time. It knows no device: the code that runs the inference calls
/// begin() and end().
/// @thread all members from any thread; end() and withdraw() once after each begin(). Without a callback, a waiter or an
/// error, no call takes a lock.
class RequestPhases {
 public:
  using Callback = std::function<void(std::exception_ptr)>;

  RequestPhases() = default;
  RequestPhases(const RequestPhases&) = delete;
  RequestPhases& operator=(const RequestPhases&) = delete;

  bool is_running() const noexcept { return phase_.load() == Phase::kRunning; }
  /// @errors Busy: an inference runs, or is over while its callback waits for an earlier one to return.
  void check_not_busy() const;

  /// Starts an inference and forgets the error of the last one. A callback may start the next inference.
  /// @param calls_back  Whether end() calls the callback.
  /// @errors Busy
  void begin(bool calls_back);
  /// The inference is over. Calls the callback in this thread; if one of this request is active, the thread that is in
  /// that one calls this one too.
  void end(std::exception_ptr error) noexcept;
  /// The inference did not start after all: no callback, no error.
  void withdraw() noexcept;

  /// Waits until the inference is over and its callback has returned; in the callback itself, only until it is over.
  /// @return False at the deadline. @errors The error that end() was given, or an exception from the callback.
  bool wait_until(Deadline deadline);
  /// True in the thread in which this request's callback runs.
  bool in_own_callback() const noexcept;

  /// Null: none. @errors Busy
  void set_callback(Callback callback);
  bool has_callback() const noexcept { return has_callback_.load(std::memory_order_acquire); }
  /// The callback, which is then the request's no longer: also while an inference runs, whose end calls nothing then.
  [[nodiscard]] std::shared_ptr<const Callback> take_callback() noexcept;

 private:
  enum class Phase : int {
    kIdle,
    kRunning,
    kCallback,  ///< The inference is over and its callback runs: may be started again, waiters still wait.
    kDeferred,  ///< Over as well, but its callback waits for an earlier callback to return; otherwise as kRunning.
  };

  void end_quietly(std::exception_ptr error) noexcept;
  /// Calls the callback until no inference ended meanwhile. @param lock  On mutex_, held; released at the end.
  void call_back(std::unique_lock<std::mutex>& lock) noexcept;
  void enter(Phase phase) noexcept;
  bool is_over(bool own_callback) const noexcept;
  void raise();

  std::atomic<Phase> phase_{Phase::kIdle};
  std::atomic<int> waiters_{0};
  std::atomic<bool> has_error_{false};
  std::atomic<bool> has_callback_{false};
  std::atomic<bool> calls_back_{false};  ///< Whether the end of the inference in flight calls the callback.
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::exception_ptr error_;
  std::shared_ptr<const Callback> callback_;
  std::atomic<bool> callback_active_{false};
  std::atomic<std::thread::id> callback_thread_{};
};

}  // namespace v1
}  // namespace tenon
