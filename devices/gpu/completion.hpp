// SPDX-License-Identifier: Apache-2.0
// Ends inferences when the device says that their commands are over.
#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include <tenon/devices/gpu/native.hpp>
#include <tenon/runtime/device/device.hpp>

namespace tenon::inline v1::gpu_device {

/// One thread per process that calls Inference::finish(). A driver's own thread must not do that: users' callbacks run
/// in it, and may wait for the device.
/// @thread all members from any thread.
class Completion {
 public:
  static Completion& process();
  /// Calls over.ended() with the event's status once the event has it. The object lives until then.
  class Pending {
   public:
    virtual void ended(cl_int status) noexcept = 0;

   protected:
    virtual ~Pending() = default;

   private:
    friend class Completion;
    cl_int status_ = CL_COMPLETE;
  };
  /// @errors those of clSetEventCallback: nothing will be called then.
  void when_over(cl_event event, Pending& pending);

 private:
  void run();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Pending*> over_;
  std::thread thread_;
};

}  // namespace tenon::inline v1::gpu_device
