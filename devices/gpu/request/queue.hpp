// SPDX-License-Identifier: Apache-2.0
// The OpenCL queue of one request.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <tenon/core/tensor.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/devices/gpu/config.hpp>
#include <tenon/devices/gpu/hardware.hpp>
#include <tenon/devices/gpu/plan/execution.hpp>

namespace tenon::inline v1::gpu_device {

/// The application's queue where the device shares one, else one of the request's own.
/// @thread one at a time. @errors of all members: those of native calls.
class RequestQueue {
 public:
  RequestQueue(const Gpu& gpu, const Config& config);

  cl_command_queue get() const { return queue_.get(); }
  bool is_in_order() const { return is_in_order_; }
  /// Whether commands have times.
  bool has_times() const { return has_times_; }

  /// What is enqueued later waits for these events, or for all that is in the queue if there are none.
  void barrier(std::span<const cl_event> events = {}) const;
  /// After commands that later ones depend on.
  void keep_order() const {
    if (!is_in_order_) barrier();
  }
  /// What is enqueued later waits for these points. @cost no allocation where as many points were waited for before.
  void wait_for(const client::Native& native, std::span<const TimelinePoint> points);
  /// Enqueues the read of a buffer into memory of the host, or of SVM.
  void read(const Tensor& from, void* to, std::size_t bytes, const char* what) const;
  /// Enqueues the copy of a buffer into a buffer, or to a pointer.
  void copy(const Tensor& from, const BoundMemory& to, std::size_t bytes, const char* what) const;
  /// Ends with all that has been enqueued.
  Ref<Timeline> end() const;
  /// Waits for all that has been enqueued. @errors kDeadlineExceeded.
  void finish() const;

 private:
  client::Handle<cl_command_queue> queue_;
  bool is_in_order_ = true, has_times_ = false;
  std::vector<client::Handle<cl_event>> events_;
  std::vector<cl_event> wait_list_;
};

}  // namespace tenon::inline v1::gpu_device
