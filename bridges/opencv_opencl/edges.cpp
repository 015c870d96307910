// SPDX-License-Identifier: Apache-2.0
// Edges between OpenCL buffers and cv::UMat: views of one cl_mem.
#include <tenon/bridges/opencv_opencl/edges.hpp>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <tenon/bridges/opencv_opencl/context.hpp>
#include <tenon/bridges/opencv_opencl/umat.hpp>
#include <tenon/core/context.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/host_edge.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/opencl/buffer.hpp>
#include <tenon/frameworks/opencl/client.hpp>
#include <tenon/frameworks/opencl/context.hpp>
#include <tenon/frameworks/opencv/client.hpp>

namespace tenon {
inline namespace v1 {
namespace opencv_opencl {
namespace detail {

inline constexpr const char* kForeign =
    "the buffer belongs to another cl_context, and OpenCL shares none between two: make the UMat context of the "
    "buffer's own OpenCL context";

class BufferToUmat final : public Edge {
 public:
  std::string_view name() const override { return "opencl.buffer->opencv.umat"; }
  MemoryKind from() const override { return opencl::kBufferMemory; }
  MemoryKind to() const override { return kUmatMemory; }
  Step step(const Description& from, const Context& to, Access access) const override {
    const auto* umats = to.as<UmatContext>();
    const auto* buffers = from.context.as<opencl::FacetContext>();
    if (!umats || !buffers) return Refusal{"source or target is not a context of OpenCL buffers and cv::UMat"};
    if (buffers->native().context.get() != umats->execution().native->context.get()) return Refusal{kForeign};
    if (from.modifier != kModifierLinear) return Refusal{opencv::client::kTiled};
    if (writes(access) && from.read_only) return Refusal{"the memory is read-only, or a decoder still refers to it"};
    if (std::string reason = umat_reason(from.info, from.offset); !reason.empty()) return Refusal{std::move(reason)};
    return shared_in_place(from, to, kUmatMemory, 200);
  }
  bool makes_standing_views(const Context&) const override { return true; }
  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    check_step(*this, source, to, options);
    const Memory& memory = *source.memory();
    // Back to the context it came from.
    if (memory.context() == to) return source.through(nullptr);
    const View* view = memory.find_view(*to, kUmatMemory, options.access);
    if (!view) {
      void* const host = source.view() ? source.view()->host() : memory.host();
      auto made = std::make_unique<UmatView>(
          to, widest_access(source), host,
          opencl::client::Handle<cl_mem>::retain(opencl::buffer(source), "sharing a buffer with OpenCV"));
      made->set_standing(id());  // umat() makes OpenCV's queue wait.
      view = &memory.add_view(std::move(made));
    }
    return source.through(view);
  }
};

/// Not a standing view: at each map, OpenCV's enqueued work becomes the last write.
class UmatToBuffer final : public Edge {
 public:
  std::string_view name() const override { return "opencv.umat->opencl.buffer"; }
  MemoryKind from() const override { return kUmatMemory; }
  MemoryKind to() const override { return opencl::kBufferMemory; }
  Step step(const Description& from, const Context& to, Access access) const override {
    const auto* umats = from.context.as<UmatContext>();
    const auto* buffers = to.as<opencl::FacetContext>();
    if (!umats || !buffers) return Refusal{"source or target is not a context of cv::UMat and OpenCL buffers"};
    if (buffers->native().context.get() != umats->execution().native->context.get()) return Refusal{kForeign};
    if (writes(access) && from.read_only) return Refusal{"the memory is read-only, or a decoder still refers to it"};
    return shared_in_place(from, to, opencl::kBufferMemory, 2000);
  }
  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    check_step(*this, source, to, options);
    const Memory& memory = *source.memory();
    const cl_mem buffer = buffer_of(source, "map");
    const Execution& execution = source.context().as<UmatContext>()->execution();
    const bool home = memory.context() == to;  // Back to the context it came from.
    const View* view = home ? nullptr : memory.find_view(*to, opencl::kBufferMemory, options.access);
    std::unique_ptr<View> made;
    if (!view && !home) {
      void* const host = source.view() ? source.view()->host() : memory.host();
      made = std::make_unique<opencl::BufferView>(
          to, widest_access(source), host, opencl::client::Handle<cl_mem>::retain(buffer, "sharing a UMat's buffer"));
    }
    note_work(memory, execution);  // Last of the calls that can fail, so that a failure leaves nothing behind.
    if (made) view = &memory.add_view(std::move(made));
    return source.through(view);
  }
};

TENON_INLINE const Edge& buffer_to_umat() {
  static const BufferToUmat edge;
  return edge;
}

TENON_INLINE const Edge& umat_to_buffer() {
  static const UmatToBuffer edge;
  return edge;
}

}  // namespace detail

TENON_INLINE std::span<const Edge* const> UmatContext::edges() const {
  static const Edge* const all[] = {&detail::buffer_to_umat(), &detail::umat_to_buffer()};
  return all;
}

}  // namespace opencv_opencl
}  // namespace v1
}  // namespace tenon
