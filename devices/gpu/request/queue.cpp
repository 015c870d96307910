// SPDX-License-Identifier: Apache-2.0
#include <tenon/devices/gpu/request/queue.hpp>

namespace tenon::inline v1::gpu_device {

RequestQueue::RequestQueue(const Gpu& gpu, const Config& config) {
  if (!gpu.shares_queue()) {
    queue_ = make_queue(gpu, config.profiling, config.queue_priority, config.queue_throttle);
    has_times_ = config.profiling;
    return;
  }
  queue_ = client::Handle<cl_command_queue>::retain(gpu.native().queue.get(), "using an application's queue");
  const auto properties = client::info<cl_command_queue_properties>(clGetCommandQueueInfo, "clGetCommandQueueInfo",
                                                                    queue_.get(), CL_QUEUE_PROPERTIES);
  is_in_order_ = (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0;
  has_times_ = (properties & CL_QUEUE_PROFILING_ENABLE) != 0;
}

void RequestQueue::barrier(std::span<const cl_event> events) const {
  client::check(client::call(clEnqueueBarrierWithWaitList, queue_.get(), static_cast<cl_uint>(events.size()),
                             events.empty() ? nullptr : events.data(), kNoEvent),
                "clEnqueueBarrierWithWaitList", "ordering an inference");
}

void RequestQueue::wait_for(const client::Native& native, std::span<const TimelinePoint> points) {
  if (points.empty()) return;
  wait_list_.clear();
  events_.clear();
  for (const TimelinePoint& point : points)
    wait_list_.push_back(events_.emplace_back(client::event_for(native, point)).get());
  barrier(wait_list_);
}

void RequestQueue::read(const Tensor& from, void* to, std::size_t bytes, const char* what) const {
  client::check(client::call(clEnqueueReadBuffer, queue_.get(), opencl::buffer(from), cl_bool{CL_FALSE}, from.offset(),
                             bytes, to, cl_uint{0}, kNoEvents, kNoEvent),
                "clEnqueueReadBuffer", what);
}

void RequestQueue::copy(const Tensor& from, const BoundMemory& to, std::size_t bytes, const char* what) const {
  if (!to.buffer) return read(from, to.pointer + to.offset, bytes, what);
  client::check(client::call(clEnqueueCopyBuffer, queue_.get(), opencl::buffer(from), to.buffer, from.offset(),
                             to.offset, bytes, cl_uint{0}, kNoEvents, kNoEvent),
                "clEnqueueCopyBuffer", what);
}

Ref<Timeline> RequestQueue::end() const { return opencl::EventTimeline::over(client::marker(queue_.get())); }

void RequestQueue::finish() const { client::finish(client::marker(queue_.get()), default_deadline()); }

}  // namespace tenon::inline v1::gpu_device
