// SPDX-License-Identifier: Apache-2.0
// How users' commands and Tenon's tensors wait for each other.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/opencl/context.hpp>
#include <tenon/frameworks/opencl/event.hpp>
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

/// Declares that a command writes the tensor's memory until `event` is complete: host accesses and maps then wait for
/// it and raise its failure. Adds a reference to the event.
/// @errors kInvalidArgument: null, an event of another cl_context, a tensor outside OpenCL.
inline void wrote(const Tensor& tensor, cl_event event) {
  detail::check_event(tensor, event, "wrote");
  tensor.memory()->hazards().wrote(point(event));
}
/// Declares that a command reads the tensor's memory until `event` completes: writers wait for it. @errors as wrote().
inline void reads(const Tensor& tensor, cl_event event) {
  detail::check_event(tensor, event, "reads");
  tensor.memory()->hazards().read_until(point(event));
}

/// What a command must wait for before it accesses a tensor, as an event_wait_list.
class WaitList {
 public:
  cl_uint size() const { return static_cast<cl_uint>(events_.size()); }
  /// Null when empty, as OpenCL requires.
  const cl_event* data() const { return events_.empty() ? nullptr : events_.data(); }

 private:
  friend WaitList wait_list(const Tensor&, Access, Deadline, Ledger*);
  std::vector<TimelinePoint> points_;  // Keep the events alive.
  std::vector<cl_event> events_;
};

/// The wait list for a command. A last write that is an event of the same cl_context is passed on without waiting.
/// Writes of other devices, and for write access also reads in progress, are waited for on the host.
/// @errors kDeadlineExceeded; the failure that a point carries.
inline WaitList wait_list(const Tensor& tensor, Access access, Deadline deadline = default_deadline(),
                          Ledger* ledger = nullptr) {
  const Context context = tensor ? tensor.context() : Context();
  const detail::Native& native = detail::facet(context, "wait_list").native();
  WaitList list;
  Hazards& hazards = tensor.memory()->hazards();
  TimelinePoint last = hazards.last_write();
  const auto* event = dynamic_cast<const EventTimeline*>(last.timeline().get());
  if (writes(access) || !event ||
      detail::info<cl_context>(clGetEventInfo, "clGetEventInfo", event->event(), CL_EVENT_CONTEXT) !=
          native.context.get()) {
    hazards.wait_for(access, deadline, ledger);
    return list;
  }
  if (last.state() == PointState::kReached) return list;
  list.events_.push_back(event->event());
  list.points_.push_back(std::move(last));
  return list;
}

}  // namespace opencl
}  // namespace v1
}  // namespace tenon
