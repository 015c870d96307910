// SPDX-License-Identifier: Apache-2.0
// How users' streams and Tenon's tensors wait for each other.
#pragma once

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
#include <tenon/frameworks/cuda/event.hpp>
#include <tenon/frameworks/cuda/make.hpp>

namespace tenon {
inline namespace v1 {
namespace cuda {

namespace detail {

inline const Ref<Native>& native_of(const Tensor& tensor, const char* function) {
  pointer(tensor);
  return cuda_context(tensor.context(), function).native_ref();
}

/// Refuses a stream of another CUcontext: work would be ordered after the wrong work. The default streams (null, 1, 2)
/// are those of whatever context is current. @errors kInvalidArgument; those of cuStreamGetCtx.
inline void check_stream(const Native& native, abi::Stream stream, const char* function) {
  if (reinterpret_cast<std::uintptr_t>(stream) <= 2) return;
  abi::ContextHandle context = nullptr;
  const Current current(native.handle());
  check(call(driver().cuStreamGetCtx, stream, &context), "cuStreamGetCtx", "asking for a stream's context");
  if (context != native.handle())
    throw Error(Code::kInvalidArgument, std::string("cuda::") + function +
                                            ": the stream belongs to another CUcontext than that of " +
                                            native.device.name + " given; wrap that context");
}

inline TimelinePoint point_in(const Tensor& tensor, abi::Stream stream, const char* function) {
  const Ref<Native>& native = native_of(tensor, function);
  check_stream(*native, stream, function);
  return record(native, stream);
}
inline TimelinePoint point_in(const Tensor& tensor, abi::Event event, const char* function) {
  const Ref<Native>& native = native_of(tensor, function);
  if (!event) throw Error(Code::kInvalidArgument, std::string("cuda::") + function + ": a null CUevent");
  return TimelinePoint(EventTimeline::over(native, event, false), 1);
}

}  // namespace detail

/// The point at which a recorded event is reached. The event stays the caller's, who must not record it anew or destroy
/// it before the point was seen as reached. @errors kInvalidArgument: null, a context of another framework.
inline TimelinePoint point(const Context& context, abi::Event event) {
  if (!event) throw Error(Code::kInvalidArgument, "cuda::point: a null CUevent; TimelinePoint::ready() needs none");
  return TimelinePoint(EventTimeline::over(detail::cuda_context(context, "point").native_ref(), event, false), 1);
}

/// Declares that work writes the tensor's memory: all that is in the stream `end` now (which gets an event), or until the
/// event `end`, which stays the caller's as in point(). Whoever uses the memory then waits, and hears of a failure.
/// @errors kInvalidArgument: a tensor outside CUDA, a stream of another CUcontext, a null event; those of native calls.
template <typename End>
void wrote(const Tensor& tensor, End end) {
  const TimelinePoint point = detail::point_in(tensor, end, "wrote");
  tensor.memory()->hazards().wrote(point, written_bytes(tensor));
}
/// Declares that work reads the tensor's memory: writers wait for it. @errors as wrote().
template <typename End>
void reads(const Tensor& tensor, End end) {
  tensor.memory()->hazards().read_until(detail::point_in(tensor, end, "reads"));
}

/// Makes later work in `stream` wait for all work on the tensor's memory that `access` must wait for, in whatever API it
/// runs. The host does not wait, unless 256 waits for other APIs are under way. A stream's wait carries no failure: work
/// that fails meanwhile lets it go on, and whoever maps the memory afterwards hears of it.
/// @errors kInvalidArgument: a stream of another CUcontext; the failure of a write that `access` would read; those of
/// native calls.
inline void order(const Tensor& tensor, Access access, abi::Stream stream) {
  const Ref<detail::Native>& native = detail::native_of(tensor, "order");
  detail::check_stream(*native, stream, "order");
  tensor.memory()->wait_for(access, default_deadline(), nullptr,
                            [&](const TimelinePoint& point) { return detail::make_wait(native, stream, point); });
}

/// A user's CUstream as a stream: MapOptions::stream makes it wait for the work on what is mapped.
class StreamAdapter final : public Stream {
 public:
  StreamAdapter(Ref<detail::Native> native, abi::Stream stream) : native_(std::move(native)), stream_(stream) {}
  std::string_view name() const override { return "cuda.stream"; }
  bool wait_for(const TimelinePoint& point) override { return detail::make_wait(native_, stream_, point); }
  TimelinePoint signal() override { return detail::record(native_, stream_); }

 private:
  Ref<detail::Native> native_;
  abi::Stream stream_;
};

/// `stream` as a stream; borrowed. Null: the default stream of the CUcontext.
/// @errors kInvalidArgument: a context of another framework, a stream of another CUcontext; those of native calls.
inline Ref<Stream> stream(const Context& context, abi::Stream stream) {
  const CudaContext& cuda = detail::cuda_context(context, "stream");
  detail::check_stream(cuda.native(), stream, "stream");
  return Ref<Stream>(new StreamAdapter(cuda.native_ref(), stream));
}

}  // namespace cuda
}  // namespace v1
}  // namespace tenon
