// SPDX-License-Identifier: Apache-2.0
// CUevent as a timeline point, and how streams and tensors wait for each other.
#include <tenon/frameworks/cuda/sync.hpp>

#include <cstdint>
#include <new>
#include <string>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/free_list.hpp>
#include <tenon/core/polling.hpp>
#include <tenon/core/relayed_point.hpp>
#include <tenon/frameworks/cuda/context.hpp>
#include <tenon/frameworks/cuda/event.hpp>
#include <tenon/frameworks/cuda/make.hpp>

namespace tenon {
inline namespace v1 {
namespace cuda {

TENON_INLINE Ref<EventTimeline> EventTimeline::over(Ref<detail::Native> native, abi::Event event, bool is_ours) {
  Ref<EventTimeline> timeline = take();
  timeline->native_ = std::move(native);
  timeline->event_ = event;
  timeline->is_ours_ = is_ours;
  return timeline;
}

TENON_INLINE PointState EventTimeline::ask() const noexcept {
  const abi::Result result = query_event();
  return result == abi::kSuccess    ? PointState::kReached
         : result == abi::kNotReady ? PointState::kPending
                                    : PointState::kFailed;
}

TENON_INLINE void EventTimeline::await(Deadline deadline) const {
  const bool in_time = poll_until(deadline, [&] {
    const abi::Result result = detail::Probe::injected() ? detail::kInjected : query_event();
    if (result == abi::kNotReady) return false;
    detail::check(result, "cuEventQuery", "the work before an event failed; what it was to write is undefined");
    return true;
  });
  if (!in_time)
    throw Error(Code::kDeadlineExceeded,
                "cuda: an event was not reached in time; the stream's work is late, or waits for something else",
                "cuEventQuery", abi::kNotReady);
}

TENON_INLINE void EventTimeline::drop() noexcept {
  const Ref<detail::Native> native = std::move(native_);  // Released last.
  if (is_ours_) native->events.give_back(event_);
}

TENON_INLINE abi::Result EventTimeline::query_event() const noexcept {
  const detail::Current current(native_->handle(), std::nothrow);
  return detail::driver().cuEventQuery(event_);
}

namespace detail {

/// Keeps an object alive until a point is settled, by RelayedPoint.
struct Keeper {
  Ref<RefCounted> kept;
  void set(bool) noexcept { kept = {}; }
};

/// A word that a stream waits for: set when its point is settled, and given back when the stream has passed it.
class WaitedWord final : public RefCounted {
 public:
  /// Null when all words are in use.
  static Ref<WaitedWord> take(const Ref<Native>& native);
  std::uint32_t* word() const { return word_; }
  void set() noexcept { WordShelf::set(word_, 1); }

 protected:
  void dispose() noexcept override;

 private:
  friend class FreeList<WaitedWord>;
  Ref<Native> native_;
  std::uint32_t* word_ = nullptr;
  WaitedWord* next_ = nullptr;
};

/// The word as the signal of a RelayedPoint. It carries no failure: a map of the memory reports that.
struct WordSignal {
  Ref<WaitedWord> word;
  void set(bool) noexcept;
};

TENON_INLINE TimelinePoint record(const Ref<Native>& native, abi::Stream stream) {
  const Current current(native->handle());
  const abi::Event event = native->events.take();
  const Ref<EventTimeline> timeline = EventTimeline::over(native, event, true);
  check(call(driver().cuEventRecord, event, stream), "cuEventRecord",
        "marking the end of a stream's work (a stream of this context?)");
  return TimelinePoint(timeline, 1);
}

TENON_INLINE void keep_until(const TimelinePoint& point, Ref<RefCounted> kept) {
  RelayedPoint<Keeper>::relay(point, {std::move(kept)});
}

TENON_INLINE Ref<WaitedWord> WaitedWord::take(const Ref<Native>& native) {
  std::uint32_t* const word = native->words.take();
  if (!word) return {};
  WaitedWord* const made = FreeList<WaitedWord>::instance().take();
  made->native_ = native;
  made->word_ = word;
  return Ref<WaitedWord>(made);
}

TENON_INLINE void WaitedWord::dispose() noexcept {
  const Ref<Native> native = std::move(native_);
  native->words.give_back(word_);
  FreeList<WaitedWord>::instance().give_back(this);
}

TENON_INLINE void WordSignal::set(bool) noexcept {
  word->set();
  word = {};
}

TENON_INLINE bool make_wait(const Ref<Native>& native, abi::Stream stream, const TimelinePoint& point) {
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
    word->add_ref();  // When the stream has passed it cannot be known, so it is not used again.
    throw;
  }
  return true;
}

TENON_INLINE const Ref<Native>& native_of(const Tensor& tensor, const char* function) {
  pointer(tensor);
  return cuda_context(tensor.context(), function).native_ref();
}

TENON_INLINE void check_stream(const Native& native, abi::Stream stream, const char* function) {
  if (reinterpret_cast<std::uintptr_t>(stream) <= 2) return;
  abi::ContextHandle context = nullptr;
  const Current current(native.handle());
  check(call(driver().cuStreamGetCtx, stream, &context), "cuStreamGetCtx", "asking for a stream's context");
  if (context != native.handle())
    throw Error(Code::kInvalidArgument, std::string("cuda::") + function +
                                            ": the stream belongs to another CUcontext than that of " +
                                            native.device.name + " given; wrap that context");
}

TENON_INLINE TimelinePoint point_in(const Tensor& tensor, abi::Stream stream, const char* function) {
  const Ref<Native>& native = native_of(tensor, function);
  check_stream(*native, stream, function);
  return record(native, stream);
}

TENON_INLINE TimelinePoint point_in(const Tensor& tensor, abi::Event event, const char* function) {
  const Ref<Native>& native = native_of(tensor, function);
  if (!event) throw Error(Code::kInvalidArgument, std::string("cuda::") + function + ": a null CUevent");
  return TimelinePoint(EventTimeline::over(native, event, false), 1);
}

}  // namespace detail

TENON_INLINE TimelinePoint point(const Context& context, abi::Event event) {
  if (!event) throw Error(Code::kInvalidArgument, "cuda::point: a null CUevent; TimelinePoint::ready() needs none");
  return TimelinePoint(EventTimeline::over(detail::cuda_context(context, "point").native_ref(), event, false), 1);
}

TENON_INLINE void order(const Tensor& tensor, Access access, abi::Stream stream) {
  const Ref<detail::Native>& native = detail::native_of(tensor, "order");
  detail::check_stream(*native, stream, "order");
  tensor.memory()->wait_for(access, default_deadline(), nullptr,
                            [&](const TimelinePoint& point) { return detail::make_wait(native, stream, point); });
}

TENON_INLINE Ref<Stream> stream(const Context& context, abi::Stream stream) {
  const CudaContext& cuda = detail::cuda_context(context, "stream");
  detail::check_stream(cuda.native(), stream, "stream");
  return Ref<Stream>(new StreamAdapter(cuda.native_ref(), stream));
}

}  // namespace cuda
}  // namespace v1
}  // namespace tenon
