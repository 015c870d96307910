// SPDX-License-Identifier: Apache-2.0
// How users' commands and Tenon's tensors wait for each other.
#include <tenon/frameworks/opencl/sync.hpp>

#include <exception>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/core/polling.hpp>
#include <tenon/core/relayed_point.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {
namespace detail {

TENON_INLINE void check_event(const Tensor& tensor, cl_event event, const char* function) {
  const Context context = tensor ? tensor.context() : Context();
  const Native& native = facet(context, function).native();
  if (!event) throw Error(Code::kInvalidArgument, std::string("opencl::") + function + ": a null cl_event");
  if (info<cl_context>(clGetEventInfo, "clGetEventInfo", event, CL_EVENT_CONTEXT) != native.context.get())
    throw Error(Code::kInvalidArgument, std::string("opencl::") + function +
                                            ": the event belongs to another cl_context than " + to_string(tensor));
}

}  // namespace detail

TENON_INLINE void wrote(const Tensor& tensor, cl_event event) {
  detail::check_event(tensor, event, "wrote");
  tensor.memory()->hazards().wrote(point(event), written_bytes(tensor));
}

TENON_INLINE void reads(const Tensor& tensor, cl_event event) {
  detail::check_event(tensor, event, "reads");
  tensor.memory()->hazards().read_until(point(event));
}

TENON_INLINE void WaitList::add(const detail::Native& native, const TimelinePoint& point) {
  kept_[size_] = detail::event_for(native, point);
  events_[size_] = kept_[size_].get();
  ++size_;
}

TENON_INLINE WaitList wait_list(const Tensor& tensor, Access access) {
  const Context context = tensor ? tensor.context() : Context();
  const detail::Native& native = detail::facet(context, "wait_list").native();
  WaitList list;
  tensor.memory()->wait_for(access, default_deadline(), nullptr, [&](const TimelinePoint& point) {
    list.add(native, point);
    return true;
  });
  return list;
}

TENON_INLINE bool QueueStream::wait_for(const TimelinePoint& point) {
  WaitList list;
  list.add(*native_, point);
  detail::check(detail::call(clEnqueueBarrierWithWaitList, queue_.get(), list.size(), list.data(),
                             static_cast<cl_event*>(nullptr)),
                "clEnqueueBarrierWithWaitList", "making a queue wait for a tensor's memory");
  return true;
}

TENON_INLINE Ref<Stream> stream(const Context& context, cl_command_queue queue) {
  const FacetContext& facet = detail::facet(context, "stream");
  const detail::Native& native = facet.native();
  if (!queue) queue = native.queue.get();
  if (detail::info<cl_context>(clGetCommandQueueInfo, "clGetCommandQueueInfo", queue, CL_QUEUE_CONTEXT) !=
      native.context.get())
    throw Error(Code::kInvalidArgument,
                "opencl::stream: the queue belongs to another cl_context than " + std::string(context->name()));
  return Ref<Stream>(new QueueStream(facet.native_ref(), detail::Handle<cl_command_queue>::retain(queue, "a stream")));
}

TENON_INLINE Ref<EventTimeline> EventTimeline::over(detail::Handle<cl_event> event) {
  Ref<EventTimeline> timeline = take();
  timeline->event_ = std::move(event);
  return timeline;
}

TENON_INLINE void EventTimeline::flush() const {
  const auto queue =
      detail::info<cl_command_queue>(clGetEventInfo, "clGetEventInfo", event_.get(), CL_EVENT_COMMAND_QUEUE);
  if (queue) detail::check(detail::call(clFlush, queue), "clFlush", "before waiting for an event");
}

TENON_INLINE PointState EventTimeline::ask() const noexcept {
  cl_int status = CL_COMPLETE;
  if (clGetEventInfo(event_.get(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr) != CL_SUCCESS)
    return PointState::kFailed;
  return status < 0 ? PointState::kFailed : status == CL_COMPLETE ? PointState::kReached : PointState::kPending;
}

TENON_INLINE void EventTimeline::await(Deadline deadline) const {
  bool flushed = false;
  cl_int status = CL_QUEUED;
  const bool in_time = poll_until(deadline, [&] {
    status = detail::info<cl_int>(clGetEventInfo, "clGetEventInfo", event_.get(), CL_EVENT_COMMAND_EXECUTION_STATUS);
    if (status < 0) {
      throw Error(
          Code::kAborted,
          "opencl: the command behind an event failed: " + status_name(status) + "; what it was to write is undefined",
          "CL_EVENT_COMMAND_EXECUTION_STATUS", status);
    }
    if (status != CL_COMPLETE && !std::exchange(flushed, true)) flush();
    return status == CL_COMPLETE;
  });
  const char* const text = status == CL_QUEUED ? "queued" : status == CL_SUBMITTED ? "submitted" : "running";
  if (!in_time)
    throw Error(Code::kDeadlineExceeded, "opencl: an event was not complete in time (" + std::string(text) +
                                             "); the command is late, or waits for a user event that is never set");
}

TENON_INLINE TimelinePoint point(cl_event event) {
  if (!event) throw Error(Code::kInvalidArgument, "opencl::point: a null cl_event; TimelinePoint::ready() needs none");
  return TimelinePoint(EventTimeline::over(detail::Handle<cl_event>::retain(event, "a user's event")), 1);
}

namespace detail {

TENON_INLINE void finish(Handle<cl_event> event, Deadline deadline) {
  EventTimeline::over(std::move(event))->wait(1, deadline);
}

/// What is let go when a RelayedPoint is settled.
struct Kept {
  Ref<RefCounted> what;
  void set(bool /*failed*/) noexcept { what = {}; }
};

TENON_INLINE void keep_until(cl_event event, const Ref<RefCounted>& what) noexcept try {
  what->add_ref();
  const auto let_go = [](cl_event, cl_int, void* kept) { static_cast<RefCounted*>(kept)->release(); };
  if (clSetEventCallback(event, CL_COMPLETE, let_go, what.get()) == CL_SUCCESS) return;
  RelayedPoint<Kept>::relay(point(event), {what});
  what->release();
} catch (const std::exception&) {
  // It is never freed.
}

}  // namespace detail
}  // namespace opencl
}  // namespace v1
}  // namespace tenon
