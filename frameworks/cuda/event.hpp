// SPDX-License-Identifier: Apache-2.0
// CUevent as a timeline point, and streams that wait for points of any API.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <tenon/core/deferred.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/free_list.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/polling.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/relayed_point.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/cuda/device.hpp>

namespace tenon {
inline namespace v1 {
namespace cuda {

/// One recorded event; its only point is 1. A reached point stays reached without another native call. Timelines come
/// from a free list, events from the context's shelf: in the steady state a point allocates nothing.
/// @thread all members from any thread.
class EventTimeline final : public Timeline {
 public:
  /// @param is_ours  Given back to the shelf afterwards; else a user's, who keeps it until the point is reached.
  static Ref<EventTimeline> over(Ref<detail::Native> native, abi::Event event, bool is_ours) {
    EventTimeline* const timeline = FreeList<EventTimeline>::instance().take();
    timeline->native_ = std::move(native);
    timeline->event_ = event;
    timeline->is_ours_ = is_ours;
    timeline->reached_.store(false, std::memory_order_relaxed);
    return Ref<EventTimeline>(timeline);
  }
  std::string_view name() const override { return "cuda.event"; }
  abi::Event event() const { return event_; }

  /// Never throws: an event that cannot be queried counts as failed, and wait() gives the reason.
  PointState query(std::uint64_t) const override {
    if (reached_.load(std::memory_order_acquire)) return PointState::kReached;
    return state_of(ask());
  }
  /// Polls at growing intervals: cuEventSynchronize has no deadline.
  /// @errors kAborted: the work before it failed; kDeadlineExceeded; other errors of the query.
  void wait(std::uint64_t, Deadline deadline) const override {
    const bool in_time = poll_until(deadline, [&] {
      if (reached_.load(std::memory_order_acquire)) return true;
      const abi::Result result = detail::Probe::injected() ? detail::kInjected : ask();
      if (result == abi::kNotReady) return false;
      detail::check(result, "cuEventQuery", "the work before an event failed; what it was to write is undefined");
      reached_.store(true, std::memory_order_release);
      return true;
    });
    if (!in_time)
      throw Error(Code::kDeadlineExceeded,
                  "cuda: an event was not reached in time; the stream's work is late, or waits for something else",
                  "cuEventQuery", abi::kNotReady);
  }

 protected:
  void dispose() noexcept override {
    const Ref<detail::Native> native = std::move(native_);  // Released last.
    if (is_ours_) native->events.give_back(event_);
    FreeList<EventTimeline>::instance().give_back(this);
  }

 private:
  friend class FreeList<EventTimeline>;
  EventTimeline() = default;
  ~EventTimeline() override = default;

  abi::Result ask() const noexcept {
    const detail::Current current(native_->handle(), std::nothrow);
    return detail::driver().cuEventQuery(event_);
  }
  PointState state_of(abi::Result result) const {
    if (result == abi::kNotReady) return PointState::kPending;
    if (result != abi::kSuccess) return PointState::kFailed;
    reached_.store(true, std::memory_order_release);
    return PointState::kReached;
  }

  Ref<detail::Native> native_;
  abi::Event event_ = nullptr;
  bool is_ours_ = false;
  mutable std::atomic<bool> reached_{false};
  EventTimeline* next_ = nullptr;
};

namespace detail {

/// The point at which all work now in `stream` is done. @errors those of native calls.
inline TimelinePoint record(const Ref<Native>& native, abi::Stream stream) {
  const Current current(native->handle());
  const abi::Event event = native->events.take();
  const Ref<EventTimeline> timeline = EventTimeline::over(native, event, true);
  check(call(driver().cuEventRecord, event, stream), "cuEventRecord",
        "marking the end of a stream's work (a stream of this context?)");
  return TimelinePoint(timeline, 1);
}

/// Keeps an object alive until a point is settled, by RelayedPoint.
struct Keeper {
  Ref<RefCounted> kept;
  void set(bool) noexcept { kept = {}; }
};
inline void keep_until(const TimelinePoint& point, Ref<RefCounted> kept) {
  RelayedPoint<Keeper>::relay(point, {std::move(kept)});
}

/// A word that a stream waits for: set when its point is settled, and given back when the stream has passed it.
class WaitedWord final : public RefCounted {
 public:
  /// Null when all words are in use.
  static Ref<WaitedWord> take(const Ref<Native>& native) {
    std::uint32_t* const word = native->words.take();
    if (!word) return {};
    WaitedWord* const made = FreeList<WaitedWord>::instance().take();
    made->native_ = native;
    made->word_ = word;
    return Ref<WaitedWord>(made);
  }
  std::uint32_t* word() const { return word_; }
  void set() noexcept { WordShelf::set(word_, 1); }

 protected:
  void dispose() noexcept override {
    const Ref<Native> native = std::move(native_);
    native->words.give_back(word_);
    FreeList<WaitedWord>::instance().give_back(this);
  }

 private:
  friend class FreeList<WaitedWord>;
  Ref<Native> native_;
  std::uint32_t* word_ = nullptr;
  WaitedWord* next_ = nullptr;
};

/// The word as the signal of a RelayedPoint. It carries no failure: whoever maps the memory hears of that.
struct WordSignal {
  Ref<WaitedWord> word;
  void set(bool) noexcept {
    word->set();
    word = {};
  }
};

/// Makes later work in `stream` wait for `point`: by its event, or by a word that the host sets. False where the driver
/// has no word left: the host must wait. @errors those of native calls; the failure of a point that has failed.
inline bool make_wait(const Ref<Native>& native, abi::Stream stream, const TimelinePoint& point) {
  if (point.state() == PointState::kFailed) point.wait();
  if (!point.needs_wait()) return true;
  const Current current(native->handle());
  if (const auto* timeline = dynamic_cast<const EventTimeline*>(point.timeline().get())) {
    check(call(driver().cuStreamWaitEvent, stream, timeline->event(), 0u), "cuStreamWaitEvent",
          "making a stream wait for an event");
    return true;
  }
  const Ref<WaitedWord> word = WaitedWord::take(native);
  if (!word) return false;
  abi::DevicePointer address = 0;
  check(call(driver().cuMemHostGetDevicePointer, &address, word->word(), 0u), "cuMemHostGetDevicePointer",
        "making a stream wait for another API's work");
  check(call(driver().cuStreamWaitValue32, stream, address, std::uint32_t{1}, abi::kWaitValueEqual),
        "cuStreamWaitValue32", "making a stream wait for another API's work");
  RelayedPoint<WordSignal>::relay(point, {word});  // From here on the stream goes on, whatever fails below.
  try {
    keep_until(record(native, stream), word);
  } catch (...) {
    word->add_ref();  // Nobody knows when the stream has passed it: it is not used again.
    throw;
  }
  return true;
}

}  // namespace detail
}  // namespace cuda
}  // namespace v1
}  // namespace tenon
