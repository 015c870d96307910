// SPDX-License-Identifier: Apache-2.0
// Times of one inference.
#include <tenon/devices/gpu/plan/tried_inference.hpp>

#include <time.h>

namespace tenon::inline v1::gpu_device {
namespace {

/// The processor time of this thread: on a busy machine, wall time says little.
std::chrono::nanoseconds time_of_thread() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace

void TriedInference::before_enqueue() {
  if (!trial_.is_over()) before_ = time_of_thread();
}

void TriedInference::enqueued(LaunchWay way, std::size_t kernels) {
  if (trial_.is_over()) return;
  way_ = way;
  kernels_ = kernels;
  host_ = time_of_thread() - before_;
}

void TriedInference::end(std::chrono::nanoseconds whole) {
  if (kernels_ > 0) trial_.note(way_, kernels_, host_, whole);
  kernels_ = 0;
}

}  // namespace tenon::inline v1::gpu_device
