// SPDX-License-Identifier: Apache-2.0
// The end of a process in which inferences or compilations run: when main returns, or a thread calls exit().
#pragma once

#include <memory>
#include <string>

#include <tenon/core/export.hpp>
#include <tenon/core/policy.hpp>

namespace tenon {
inline namespace v1 {

/// Static objects of devices' modules, and of the libraries that they use, are destroyed when the process ends. An inference or a
/// compilation that runs in another thread would use them afterwards, whether its request or model is a static object itself or was
/// never destroyed. So the end waits up to ten seconds for all that runs, cancels what takes longer, and waits up to twenty for that; then
/// nothing can start any more.
/// @thread all functions from any thread
namespace process_end {

/// What runs in another thread, as the end of the process sees it: a request's inference, or a model that compiles.
class Work {
 public:
  /// Waits until what runs now is over, but neither for a callback nor for what this starts.
  /// @return False at the deadline.
  virtual bool settle(Deadline deadline) noexcept = 0;
  virtual void cancel() noexcept = 0;

 protected:
  ~Work() = default;
};

/// The end of the process will wait for `work`. Called when the device has made its part, so that what waits is registered after the
/// device's own static objects, and runs before they are destroyed.
TENON_API void add(const std::shared_ptr<Work>& work, const std::string& device);
/// Called before `work` is destroyed, also if it was not added.
TENON_API void remove(const Work& work) noexcept;

/// Registers what waits once more, after the static objects that libraries make in a model's first inference. One exit() cannot be
/// ordered: that of a thread which is neither the main one nor in a callback, while a model's first inference runs or AUTO compiles for
/// the first time.
void note_first_inference() noexcept;

/// Has the end wait before any static object is destroyed, also those that were made after add(): if this is the main thread, or is in a
/// callback, and it ends the process.
void watch_this_thread();

/// While this lives the thread is in a callback.
class CallbackScope {
 public:
  CallbackScope();
  ~CallbackScope();
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;
};

/// True when nothing may start any more.
TENON_API bool has_begun() noexcept;

}  // namespace process_end
}  // namespace v1
}  // namespace tenon
