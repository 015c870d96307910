// SPDX-License-Identifier: Apache-2.0
// How users' streams and Tenon's tensors wait for each other.
#pragma once

#include <string_view>
#include <utility>

#include <tenon/core/context.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/cuda/event.hpp>

namespace tenon {
inline namespace v1 {
namespace cuda {

namespace detail {

/// Refuses a stream of another CUcontext: work would be ordered after the wrong work. The default streams (null, 1, 2)
/// are those of whatever context is current. @errors kInvalidArgument; those of cuStreamGetCtx.
void check_stream(const Native& native, abi::Stream stream, const char* function);

TimelinePoint point_in(const Tensor& tensor, abi::Stream stream, const char* function);
TimelinePoint point_in(const Tensor& tensor, abi::Event event, const char* function);

}  // namespace detail

/// The point at which a recorded event is reached. The event stays the caller's, and must not be recorded anew or destroyed
/// before the point was seen as reached. @errors kInvalidArgument: null, a context of another framework.
TimelinePoint point(const Context& context, abi::Event event);

/// Declares that work writes the tensor's memory: all that is in the stream `end` now (which gets an event), or until the
/// event `end`, which stays the caller's as in point(). Uses of the memory then wait, and report a failure.
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
/// that fails meanwhile lets it go on, and a map of the memory afterwards reports that.
/// @errors kInvalidArgument: a stream of another CUcontext; the failure of a write that `access` would read; those of
/// native calls.
void order(const Tensor& tensor, Access access, abi::Stream stream);

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
Ref<Stream> stream(const Context& context, abi::Stream stream);

}  // namespace cuda
}  // namespace v1
}  // namespace tenon
