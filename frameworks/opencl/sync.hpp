// SPDX-License-Identifier: Apache-2.0
// How users' commands and Tenon's tensors wait for each other.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <tenon/core/context.hpp>
#include <tenon/core/error.hpp>
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

namespace detail {

inline void check_event(const Tensor& tensor, cl_event event, const char* function) {
  const Context context = tensor ? tensor.context() : Context();
  const Native& native = facet(context, function).native();
  if (!event) throw Error(Code::kInvalidArgument, std::string("opencl::") + function + ": a null cl_event");
  if (info<cl_context>(clGetEventInfo, "clGetEventInfo", event, CL_EVENT_CONTEXT) != native.context.get())
    throw Error(Code::kInvalidArgument, std::string("opencl::") + function +
                                            ": the event belongs to another cl_context than " + to_string(tensor));
}

}  // namespace detail

/// Declares that a command writes the tensor's memory until `event` is complete: whoever uses the memory then waits for
/// it and hears of its failure. Work declared before stays declared until it is finished. Adds a reference to the event.
/// @errors kInvalidArgument: null, an event of another cl_context, a tensor outside OpenCL.
inline void wrote(const Tensor& tensor, cl_event event) {
  detail::check_event(tensor, event, "wrote");
  tensor.memory()->hazards().wrote(point(event), written_bytes(tensor));
}
/// Declares that a command reads the tensor's memory until `event` completes: writers wait for it. @errors as wrote().
inline void reads(const Tensor& tensor, cl_event event) {
  detail::check_event(tensor, event, "reads");
  tensor.memory()->hazards().read_until(point(event));
}

/// Events that a command must wait for, as its event_wait_list. Allocates nothing.
class WaitList {
 public:
  cl_uint size() const { return static_cast<cl_uint>(size_); }
  /// Null when empty, as OpenCL requires.
  const cl_event* data() const { return size_ == 0 ? nullptr : events_.data(); }
  /// Adds `point`, as its own event, or as a user event that is set when the point is reached. @errors those of clFlush
  /// and clCreateUserEvent.
  void add(const detail::Native& native, const TimelinePoint& point) {
    kept_[size_] = detail::event_for(native, point);
    events_[size_] = kept_[size_].get();
    ++size_;
  }
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
inline WaitList wait_list(const Tensor& tensor, Access access) {
  const Context context = tensor ? tensor.context() : Context();
  const detail::Native& native = detail::facet(context, "wait_list").native();
  WaitList list;
  tensor.memory()->wait_for(access, default_deadline(), nullptr, [&](const TimelinePoint& point) {
    list.add(native, point);
    return true;
  });
  return list;
}

/// A user's queue as a stream: MapOptions::stream makes it wait for the work on what is mapped.
class QueueStream final : public Stream {
 public:
  QueueStream(Ref<detail::Native> native, detail::Handle<cl_command_queue> queue)
      : native_(std::move(native)), queue_(std::move(queue)) {}
  std::string_view name() const override { return "opencl.queue"; }
  bool wait_for(const TimelinePoint& point) override {
    WaitList list;
    list.add(*native_, point);
    detail::check(detail::call(clEnqueueBarrierWithWaitList, queue_.get(), list.size(), list.data(),
                               static_cast<cl_event*>(nullptr)),
                  "clEnqueueBarrierWithWaitList", "making a queue wait for a tensor's memory");
    return true;
  }
  TimelinePoint signal() override { return TimelinePoint(EventTimeline::over(detail::marker(queue_.get())), 1); }

 private:
  Ref<detail::Native> native_;
  detail::Handle<cl_command_queue> queue_;
};

/// `queue` as a stream; takes its own reference. Null: the queue of `context`.
/// @errors kInvalidArgument: a context of another framework, a queue of another cl_context.
inline Ref<Stream> stream(const Context& context, cl_command_queue queue = nullptr) {
  const FacetContext& facet = detail::facet(context, "stream");
  const detail::Native& native = facet.native();
  if (!queue) queue = native.queue.get();
  if (detail::info<cl_context>(clGetCommandQueueInfo, "clGetCommandQueueInfo", queue, CL_QUEUE_CONTEXT) !=
      native.context.get())
    throw Error(Code::kInvalidArgument,
                "opencl::stream: the queue belongs to another cl_context than " + std::string(context->name()));
  return Ref<Stream>(new QueueStream(facet.native_ref(), detail::Handle<cl_command_queue>::retain(queue, "a stream")));
}

}  // namespace opencl
}  // namespace v1
}  // namespace tenon
