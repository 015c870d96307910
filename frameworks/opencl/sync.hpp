// SPDX-License-Identifier: Apache-2.0
// How users' commands and Tenon's tensors wait for each other.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include <tenon/core/context.hpp>
#include <tenon/core/hazards.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/opencl/context.hpp>
#include <tenon/frameworks/opencl/event.hpp>
#include <tenon/frameworks/opencl/fence.hpp>
#include <tenon/frameworks/opencl/native.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {

namespace detail {}  // namespace detail

/// Declares that a command writes the tensor's memory until `event` is complete: uses of the memory then wait for it and
/// report its failure. Work declared before stays declared until it is finished. Adds a reference to the event.
/// @errors kInvalidArgument: null, an event of another cl_context, a tensor outside OpenCL.
void wrote(const Tensor& tensor, cl_event event);
/// Declares that a command reads the tensor's memory until `event` completes: writers wait for it. @errors as wrote().
void reads(const Tensor& tensor, cl_event event);

/// Events that a command must wait for, as its event_wait_list. Allocates nothing.
class WaitList {
 public:
  cl_uint size() const { return static_cast<cl_uint>(size_); }
  /// Null when empty, as OpenCL requires.
  const cl_event* data() const { return size_ == 0 ? nullptr : events_.data(); }
  /// Adds `point`, as its own event, or as a user event that is set when the point is reached. @errors those of clFlush
  /// and clCreateUserEvent.
  void add(const detail::Native& native, const TimelinePoint& point);
  /// Adds an event of the same cl_context that the caller keeps until the command is enqueued; its queue was flushed.
  void add(cl_event event) { events_[size_++] = event; }

 private:
  static constexpr std::size_t kMost = 2 * Hazards::kMaxPoints;
  std::array<detail::Handle<cl_event>, kMost> kept_;
  std::array<cl_event, kMost> events_{};
  std::size_t size_ = 0;
};

/// The wait list for a command that accesses `tensor`: all work on its memory that `access` must wait for, in whatever
/// API it runs. The host waits for none of it.
/// @errors the failure of a write that `access` would read; those of native calls.
WaitList wait_list(const Tensor& tensor, Access access);

/// A user's queue as a stream: MapOptions::stream makes it wait for the work on what is mapped.
class QueueStream final : public Stream {
 public:
  QueueStream(Ref<detail::Native> native, detail::Handle<cl_command_queue> queue)
      : native_(std::move(native)), queue_(std::move(queue)) {}
  std::string_view name() const override { return "opencl.queue"; }
  bool wait_for(const TimelinePoint& point) override;
  TimelinePoint signal() override { return TimelinePoint(EventTimeline::over(detail::marker(queue_.get())), 1); }

 private:
  Ref<detail::Native> native_;
  detail::Handle<cl_command_queue> queue_;
};

/// `queue` as a stream; takes its own reference. Null: the queue of `context`.
/// @errors kInvalidArgument: a context of another framework, a queue of another cl_context.
Ref<Stream> stream(const Context& context, cl_command_queue queue = nullptr);

}  // namespace opencl
}  // namespace v1
}  // namespace tenon
