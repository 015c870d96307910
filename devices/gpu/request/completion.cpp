// SPDX-License-Identifier: Apache-2.0
// The thread that ends inferences.
#include <tenon/devices/gpu/request/completion.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

#include <tenon/core/new_thread.hpp>
#include <tenon/core/polling.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

/// The error that a failed event carries; null for one that is complete.
std::exception_ptr error_of(const Timeline& event) {
  if (event.query(1) == PointState::kReached) return nullptr;
  try {
    event.wait(1, Clock::now());
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace

Completion& Completion::process() {
  static auto* const completion = new Completion;  // Inferences may end while the process does.
  return *completion;
}

void Completion::when_over(Ref<Timeline> event, Pending& pending) {
  const std::lock_guard lock(mutex_);
  if (!thread_.joinable()) thread_ = new_thread("GPU: ends of inferences", [this] { run(); });
  entries_.push_back({std::move(event), &pending});
  last_change_ = Clock::now();
  changed_.notify_one();
}

bool Completion::end_here(Pending& pending) noexcept {
  Ref<Timeline> event;
  {
    const std::lock_guard lock(mutex_);
    const auto entry =
        std::find_if(entries_.begin(), entries_.end(), [&](const Entry& each) { return each.pending == &pending; });
    if (entry == entries_.end()) return false;
    event = std::move(entry->event);
    entries_.erase(entry);
  }
  std::exception_ptr error;
  try {
    pending.wait_here(*event);
  } catch (...) {
    error = std::current_exception();
  }
  event = {};
  pending.ended(error);
  return true;
}

void Completion::take_over(std::vector<Entry>& over) {
  const auto rest = std::partition(entries_.begin(), entries_.end(),
                                   [](const Entry& entry) { return entry.event->query(1) == PointState::kPending; });
  over.assign(std::make_move_iterator(rest), std::make_move_iterator(entries_.end()));
  entries_.erase(rest, entries_.end());
  if (!over.empty()) last_change_ = Clock::now();
}

void Completion::run() {
  using std::chrono::microseconds;
  const TimerSlackGuard prompt;
  std::vector<Entry> over;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return !entries_.empty(); });
    take_over(over);
    if (over.empty()) {
      const auto waited = Clock::now() - last_change_;
      if (waited < microseconds(30)) {
        lock.unlock();
        std::this_thread::yield();
        lock.lock();
      } else {
        // As poll_until(): 6 % too late at most, and at most a quarter of a millisecond.
        changed_.wait_for(lock, std::min<Clock::duration>(waited / 16, microseconds(250)));
      }
      continue;
    }
    lock.unlock();
    for (Entry& entry : over) {
      const std::exception_ptr error = error_of(*entry.event);
      entry.event = {};  // Before ended(), so that the event has no reference of ours afterwards.
      entry.pending->ended(error);
    }
    over.clear();
    lock.lock();
  }
}

}  // namespace tenon::inline v1::gpu_device
