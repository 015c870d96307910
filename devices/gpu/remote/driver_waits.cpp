// SPDX-License-Identifier: Apache-2.0
#include <tenon/devices/gpu/remote/driver_waits.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <utility>

#include <tenon/core/new_thread.hpp>
#include <tenon/core/timeline.hpp>

namespace tenon::inline v1::gpu_device {

/// Lives as long as the process, as its thread does.
struct DriverWaits::Waiter {
  std::mutex mutex;
  std::condition_variable begins, ends;
  client::Handle<cl_event> event;
  bool waits = false;    ///< For the event, from when it is given until the driver has returned.
  bool is_left = false;  ///< The caller has gone on.
};

DriverWaits& DriverWaits::process() {
  static auto* const waits = new DriverWaits;  // Its threads end with the process.
  return *waits;
}

std::size_t DriverWaits::idle() const noexcept {
  const std::lock_guard lock(mutex_);
  return idle_count_;
}

std::size_t DriverWaits::begun() const noexcept {
  const std::lock_guard lock(mutex_);
  return begun_;
}

DriverWaits::Waiter* DriverWaits::take() noexcept {
  const std::lock_guard lock(mutex_);
  if (idle_count_ == 0) {
    if (count_ == kMost) return nullptr;
    try {
      auto waiter = std::make_unique<Waiter>();
      new_thread("GPU: waits in the driver", [this, &waiter = *waiter] { run(waiter); }).detach();
      idle_[idle_count_++] = waiter.release();
      ++count_;
    } catch (const std::exception&) {  // The caller asks the event itself.
      return nullptr;
    }
  }
  ++begun_;
  return idle_[--idle_count_];
}

void DriverWaits::give_back(Waiter& waiter) noexcept {
  const std::lock_guard lock(mutex_);
  idle_[idle_count_++] = &waiter;
}

void DriverWaits::run(Waiter& waiter) noexcept {
  std::unique_lock lock(waiter.mutex);
  for (;;) {
    waiter.begins.wait(lock, [&] { return waiter.waits; });
    lock.unlock();
    const cl_event event = waiter.event.get();
    clWaitForEvents(1, &event);  // What it says of failures, the event says, too.
    waiter.event.reset();        // First: where the caller goes on, the event has no reference of this thread's.
    lock.lock();
    waiter.waits = false;
    const bool is_left = std::exchange(waiter.is_left, false);
    lock.unlock();
    if (is_left)
      give_back(waiter);
    else
      waiter.ends.notify_one();
    lock.lock();
  }
}

void DriverWaits::wait(const opencl::EventTimeline& event, Deadline deadline) noexcept {
  // Waits of some drivers never return once their context has failed.
  constexpr std::chrono::milliseconds kPatience(5);
  Waiter* const waiter = take();
  if (!waiter) return;
  if (clRetainEvent(event.event()) != CL_SUCCESS) return give_back(*waiter);
  std::unique_lock lock(waiter->mutex);
  waiter->event = client::Handle<cl_event>(event.event());
  waiter->waits = true;
  lock.unlock();
  waiter->begins.notify_one();
  lock.lock();
  while (waiter->waits) {
    const auto now = Clock::now();
    if (now >= deadline || event.query(1) != PointState::kPending) {
      waiter->is_left = true;
      return;
    }
    waiter->ends.wait_for(lock, std::min<Clock::duration>(kPatience, deadline - now));
  }
  lock.unlock();
  give_back(*waiter);
}

}  // namespace tenon::inline v1::gpu_device
