// SPDX-License-Identifier: Apache-2.0
// OpenCV's execution context over a cl_context of Tenon, and the memory of cv::UMat in it.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include <opencv2/core/ocl.hpp>

#include <tenon/core/context.hpp>
#include <tenon/core/edge.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/opencl/buffer.hpp>
#include <tenon/frameworks/opencl/client.hpp>
#include <tenon/frameworks/opencv/client.hpp>

namespace tenon {
inline namespace v1 {
namespace opencv_opencl {

/// Buffers as cv::UMat sees them.
inline constexpr MemoryKind kUmatMemory{"opencv.umat"};

namespace detail {

/// Counted by conformance: memories and headers that hold a UMat or are held by one.
struct TENON_API Probe {
  static inline std::atomic<std::size_t> alive{0};
};
struct Counted {
  Counted() { Probe::alive.fetch_add(1, std::memory_order_relaxed); }
  Counted(const Counted&) : Counted() {}
  Counted& operator=(const Counted&) = default;
  ~Counted() { Probe::alive.fetch_sub(1, std::memory_order_relaxed); }
};

/// Makes a call to OpenCV: its exceptions become errors, and opencl's probe can make each call fail.
template <typename What, typename Body>
auto checked(const char* call, What what, Body body) {
  if (opencl::client::injected()) opencl::client::fail(opencl::client::injected_code(), call, what());
  return opencv::client::checked(call, what, body);
}

/// OpenCV's side of one context.
class Execution final : public RefCounted {
 public:
  Ref<opencl::client::Native> native;
  cv::ocl::OpenCLExecutionContext context;
  cv::ocl::Context cv_context;  ///< The same as context.getContext(), at a separate address.

  cl_command_queue queue() const { return static_cast<cl_command_queue>(context.getQueue().ptr()); }
};

/// The cl_mem behind a UMat, up to date on the device. @errors kFailedPrecondition: UMats in host memory, or mapped.
cl_mem handle_of(const cv::UMat& umat);

}  // namespace detail

/// The whole allocation behind a cv::UMat, even if the UMat is a region of it. Shares the UMat's reference count.
class UmatMemory final : public Memory {
 public:
  /// @param host  Permanent host address of the buffer's first byte; null if there is none.
  static Ref<UmatMemory> over(Context context, const cv::UMat& umat, cl_mem buffer, void* host);
  ~UmatMemory() override;

  const cv::UMat& umat() const { return umat_; }

 private:
  UmatMemory(Context context, const Properties& properties, const cv::UMat& umat);

  cv::UMat umat_;
  detail::Counted counted_;
};

/// A buffer as OpenCV sees it.
class UmatView final : public View {
 public:
  UmatView(Context context, Access access, void* host, opencl::client::Handle<cl_mem> buffer);
  cl_mem buffer() const { return buffer_.get(); }

 private:
  opencl::client::Handle<cl_mem> buffer_;
};

/// OpenCV on one cl_context and device.
class UmatContext final : public ContextImpl {
 public:
  UmatContext(Ref<detail::Execution> execution, const Context& opencl);
  std::string_view name() const override { return name_; }
  MemoryKind kind() const override { return kUmatMemory; }
  /// umat() makes OpenCV's queue wait.
  bool can_wait_for(const Timeline&) const override { return true; }
  DeviceIdentity device() const override { return opencl_->device(); }
  std::span<const Edge* const> edges() const override;
  Requirements requirements() const override { return opencl_->requirements(); }
  std::variant<Offer, Refusal> offer(const Requirements& wanted) const override;
  /// A buffer made by OpenCV; if host access or an alignment beyond the device's is wanted, one over a buffer of the
  /// OpenCL context. @errors kResourceExhausted; errors of cv::UMat::create or the OpenCL context.
  Ref<Memory> allocate(const Requirements& wanted) override;
  void read(const Tensor& tensor, std::span<std::byte> out) const override;
  void write(const Tensor& tensor, std::span<const std::byte> in) const override;

  const detail::Execution& execution() const { return *execution_; }
  const Ref<detail::Execution>& execution_ref() const { return execution_; }
  /// The context of buffers that this one was made from.
  const Context& opencl() const { return opencl_; }

 private:
  bool needs_opencl(const Requirements& wanted) const;
  Ref<Memory> allocate_in_opencl(const Requirements& wanted);

  Ref<detail::Execution> execution_;
  Context opencl_;
  std::string name_;
};

namespace detail {

const UmatContext& umats(const Context& context, const char* function);

}  // namespace detail

/// OpenCV on the cl_context and device of `opencl`, with a queue of its own.
/// @param opencl  A context from opencl::make_context or opencl::wrap; kept.
/// @errors kInvalidArgument: no OpenCL context; kUnavailable: OpenCV without OpenCL; OpenCV's errors.
Context make_context(const Context& opencl);

/// The execution context that a thread binds before it works on UMats of `context`:
/// `cv::ocl::OpenCLExecutionContextScope scope(execution(context))`. OpenCV has one current context per thread, and
/// kernels fail on UMats of any other. @errors kInvalidArgument
inline const cv::ocl::OpenCLExecutionContext& execution(const Context& context) {
  return detail::umats(context, "execution").execution().context;
}

}  // namespace opencv_opencl
}  // namespace v1
}  // namespace tenon
