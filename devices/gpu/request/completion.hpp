// SPDX-License-Identifier: Apache-2.0
// Ends inferences when the device says that their commands are over.
#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/runtime/device/device.hpp>

namespace tenon::inline v1::gpu_device {

/// One thread per process that looks at the last events of inferences in flight, in intervals that grow with the time
/// that they take. Callbacks of drivers do not serve: NVIDIA's come up to 10 ms late (H200, 2026-11-23), and in a
/// driver's own thread users' callbacks must not run.
/// @thread all members from any thread.
class Completion {
 public:
  static Completion& process();
  class Pending {
   public:
    /// Waits in the caller's thread, as end_here() does. @errors that of the command that failed.
    virtual void wait_here(const Timeline& event) { event.wait(1, Deadline::max()); }
    /// Called once, on the thread or by end_here(); may destroy the object. @param error  The error of the command that failed; else null.
    virtual void ended(std::exception_ptr error) noexcept = 0;

   protected:
    virtual ~Pending() = default;
  };
  /// `pending` must live until it has been called.
  void when_over(Ref<Timeline> event, Pending& pending);
  /// Waits for its event and calls it in the caller's thread, which spares the way over another one.
  /// @return false: it has been called already, or will be on the thread.
  bool end_here(Pending& pending) noexcept;

 private:
  struct Entry {
    Ref<Timeline> event;
    Pending* pending = nullptr;
  };
  void run();
  /// Moves those that are over to `over`.
  void take_over(std::vector<Entry>& over);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Entry> entries_;
  Clock::time_point last_change_;
  std::thread thread_;
};

}  // namespace tenon::inline v1::gpu_device
