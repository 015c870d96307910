// SPDX-License-Identifier: Apache-2.0
// The thread that ends inferences.
#include <tenon/devices/gpu/completion.hpp>

#include <utility>

namespace tenon::inline v1::gpu_device {

Completion& Completion::process() {
  static auto* const completion = new Completion;  // Drivers may call back while the process ends.
  return *completion;
}

void Completion::when_over(cl_event event, Pending& pending) {
  {
    const std::lock_guard lock(mutex_);
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
    over_.reserve(64);  // The driver's callback does not allocate as a rule.
  }
  client::check(client::call(
                    clSetEventCallback, event, cl_int{CL_COMPLETE},
                    [](cl_event, cl_int status, void* data) {
                      auto* over = static_cast<Pending*>(data);
                      over->status_ = status;
                      Completion& self = process();
                      const std::lock_guard lock(self.mutex_);
                      self.over_.push_back(over);
                      self.changed_.notify_one();
                    },
                    static_cast<void*>(&pending)),
                "clSetEventCallback", "asking when an inference is over");
}

void Completion::run() {
  std::vector<Pending*> mine;
  mine.reserve(64);
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !over_.empty(); });
      mine.swap(over_);
    }
    for (Pending* over : mine) over->ended(over->status_);
    mine.clear();
  }
}

}  // namespace tenon::inline v1::gpu_device
