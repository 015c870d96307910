// SPDX-License-Identifier: Apache-2.0
// The end of a process in which inferences run: when main returns, or a thread calls exit().
#pragma once

#include <memory>
#include <string>

#include <tenon/core/policy.hpp>

namespace tenon {
inline namespace v1 {

/// Static objects of devices' modules, and of the libraries that they use, are destroyed when the process ends. An inference that
/// runs in another thread would use them afterwards, whether its request is a static object itself or was never destroyed. So the end
/// waits for inferences that run, up to ten seconds, after which it cancels them; then none can start any more. A model that AUTO still
/// compiles in the background is not waited for.
/// @thread all functions from any thread
namespace process_end {

/// A request, as the end of the process sees it.
class Request {
 public:
  /// Waits until the inference that runs now is over, but neither for its callback nor for an inference that this starts.
  /// @return False at the deadline.
  virtual bool settle(Deadline deadline) noexcept = 0;
  virtual void cancel() noexcept = 0;

 protected:
  ~Request() = default;
};

/// The process will wait for this request's inferences. Called when its device has made its part, so that what waits is registered
/// after the device's own static objects, and runs before they are destroyed.
void add(const std::shared_ptr<Request>& request, const std::string& device);
/// Called before the request is destroyed, also for one that was not added.
void remove(const Request& request) noexcept;

/// Has the end wait before any static object is destroyed, also those that were made after add(): only if this is the main thread, and
/// it ends the process.
void watch_this_thread();

/// True when no inference may start any more.
bool has_begun() noexcept;

}  // namespace process_end
}  // namespace v1
}  // namespace tenon
