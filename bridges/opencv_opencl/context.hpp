// SPDX-License-Identifier: Apache-2.0
// OpenCV's execution context over a cl_context of Tenon, and the memory of cv::UMat in it.
#pragma once

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include <opencv2/core/ocl.hpp>

#include <tenon/core/context.hpp>
#include <tenon/core/edge.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/opencl/buffer.hpp>
#include <tenon/frameworks/opencl/client.hpp>
#include <tenon/frameworks/opencl/device.hpp>
#include <tenon/frameworks/opencl/opencl.hpp>  // IWYU pragma: keep
#include <tenon/frameworks/opencv/client.hpp>

namespace tenon {
inline namespace v1 {
namespace opencv_opencl {

/// Buffers as cv::UMat sees them.
inline constexpr MemoryKind kUmatMemory{"opencv.umat"};

namespace detail {

/// Counted by conformance: memories and headers that hold a UMat or are held by one.
struct Probe {
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

inline Ref<Execution> make_execution(const Ref<opencl::client::Native>& native) {
  const opencl::Device& device = native->device;
  if (!cv::ocl::haveOpenCL())
    throw Error(Code::kUnavailable,
                "opencv_opencl: this OpenCV was built without OpenCL, or OPENCV_OPENCL_RUNTIME "
                "disables it");
  auto execution = make_ref<Execution>();
  execution->native = native;
  checked(
      "cv::ocl::OpenCLExecutionContext::create", [&] { return "OpenCV on " + device.name; },
      [&] {
        const std::string platform =
            opencl::client::info_text(clGetPlatformInfo, "clGetPlatformInfo", device.platform, CL_PLATFORM_NAME);
        // On success it takes over one reference of each.
        clRetainContext(native->context.get());
        clRetainDevice(device.id);
        try {
          execution->context =
              cv::ocl::OpenCLExecutionContext::create(platform, device.platform, native->context.get(), device.id);
        } catch (...) {
          clReleaseContext(native->context.get());
          clReleaseDevice(device.id);
          throw;
        }
        execution->context.setUseOpenCL(true);  // Off on CPU devices by default.
        execution->cv_context = execution->context.getContext();
        return 0;
      });
  return execution;
}

/// The cl_mem behind a UMat, up to date on the device. @errors kFailedPrecondition: UMats in host memory, or mapped.
inline cl_mem handle_of(const cv::UMat& umat) {
  const auto what = [&] { return "opencv_opencl: a cv::UMat of " + std::to_string(umat.total()) + " elements "; };
  if (!umat.u) throw Error(Code::kInvalidArgument, "opencv_opencl: an empty cv::UMat; give it create() first");
  if (umat.u->currAllocator != cv::ocl::getOpenCLAllocator())
    throw Error(Code::kFailedPrecondition,
                what() +
                    "lies in host memory: OpenCV made it while no OpenCL context was bound; bind execution(context) "
                    "first, or take getMat() to opencv::wrap");
  if (umat.u->refcount != 0)
    throw Error(Code::kFailedPrecondition, what() + "is mapped by a cv::Mat of it; release that Mat first");
  return checked(
      "cv::UMat::handle", [] { return std::string("the buffer of a UMat"); },
      [&] { return static_cast<cl_mem>(umat.handle(cv::ACCESS_RW)); });
}

}  // namespace detail

/// The whole allocation behind a cv::UMat, even if the UMat is a region of it. Shares the UMat's reference count.
class UmatMemory final : public Memory {
 public:
  /// @param host  Permanent host address of the buffer's first byte; null if there is none.
  static Ref<UmatMemory> over(Context context, const cv::UMat& umat, cl_mem buffer, void* host) {
    Properties properties;
    properties.host = host;
    properties.size_bytes = umat.u->size;
    // The same identity as in opencl.buffer: the same cl_mem is the same memory.
    properties.identity = {MemoryIdentity::Kind::kHandle, 0, reinterpret_cast<std::uintptr_t>(buffer)};
    return Ref<UmatMemory>(new UmatMemory(std::move(context), properties, umat));
  }
  ~UmatMemory() override { drop_views(); }

  const cv::UMat& umat() const { return umat_; }

 private:
  UmatMemory(Context context, const Properties& properties, const cv::UMat& umat)
      : Memory(std::move(context), kUmatMemory, properties), umat_(umat) {}

  cv::UMat umat_;
  detail::Counted counted_;
};

/// A buffer as OpenCV sees it.
class UmatView final : public View {
 public:
  UmatView(Context context, Access access, void* host, opencl::client::Handle<cl_mem> buffer)
      : View(std::move(context), kUmatMemory, access, host), buffer_(std::move(buffer)) {}
  cl_mem buffer() const { return buffer_.get(); }

 private:
  opencl::client::Handle<cl_mem> buffer_;
};

/// OpenCV on one cl_context and device.
class UmatContext final : public ContextImpl {
 public:
  UmatContext(Ref<detail::Execution> execution, const Context& opencl)
      : execution_(std::move(execution)), opencl_(opencl), name_("opencv.umat") {
    const std::string_view device = opencl->name();
    name_ += device.substr(std::min(device.find(':'), device.size()));
  }
  std::string_view name() const override { return name_; }
  MemoryKind kind() const override { return kUmatMemory; }
  /// umat() makes OpenCV's queue wait.
  bool can_wait_for(const Timeline&) const override { return true; }
  DeviceIdentity device() const override { return opencl_->device(); }
  std::span<const Edge* const> edges() const override;
  Requirements requirements() const override { return opencl_->requirements(); }
  std::variant<Offer, Refusal> offer(const Requirements& wanted) const override {
    if (needs_opencl(wanted)) return opencl_->offer(wanted);
    return Offer{1, FdKind::kNone, 0, false};
  }
  /// A buffer made by OpenCV; if host access or an alignment beyond the device's is wanted, one over a buffer of the
  /// OpenCL context. @errors kResourceExhausted; errors of cv::UMat::create or the OpenCL context.
  Ref<Memory> allocate(const Requirements& wanted) override {
    const opencl::Device& device = execution_->native->device;
    const std::size_t bytes = std::max<std::size_t>(wanted.size_bytes + wanted.tail_padding, 1);
    if (bytes > INT_MAX || bytes > device.max_allocation)
      throw Error(Code::kResourceExhausted, name_ + ": " + std::to_string(bytes) +
                                                " bytes were asked for; OpenCV's kernels count bytes in ints, and the "
                                                "device allows " +
                                                std::to_string(device.max_allocation));
    if (needs_opencl(wanted)) return allocate_in_opencl(wanted);
    cv::UMat umat;
    const cv::ocl::OpenCLExecutionContextScope scope(execution_->context);
    detail::checked(
        "cv::UMat::create", [&] { return "allocating " + std::to_string(bytes) + " bytes"; },
        [&] {
          umat.create(1, static_cast<int>(bytes), CV_8U);
          return 0;
        });
    return UmatMemory::over(Context(Ref<ContextImpl>(this)), umat, detail::handle_of(umat), nullptr);
  }
  void read(const Tensor& tensor, std::span<std::byte> out) const override;
  void write(const Tensor& tensor, std::span<const std::byte> in) const override;

  const detail::Execution& execution() const { return *execution_; }
  const Ref<detail::Execution>& execution_ref() const { return execution_; }
  /// The context of buffers that this one was made from.
  const Context& opencl() const { return opencl_; }

 private:
  bool needs_opencl(const Requirements& wanted) const {
    return wanted.fd != FdKind::kNone || wanted.host_access ||
           wanted.alignment > execution_->native->device.base_alignment;
  }
  Ref<Memory> allocate_in_opencl(const Requirements& wanted);

  Ref<detail::Execution> execution_;
  Context opencl_;
  std::string name_;
};

namespace detail {

inline const UmatContext& umats(const Context& context, const char* function) {
  const auto* umats = context ? context.as<UmatContext>() : nullptr;
  if (!umats)
    throw Error(Code::kInvalidArgument, std::string("opencv_opencl::") + function + ": " +
                                            (context ? std::string(context->name()) : std::string("a null context")) +
                                            " is not a context of cv::UMat");
  return *umats;
}

}  // namespace detail

/// OpenCV on the cl_context and device of `opencl`, with a queue of its own.
/// @param opencl  A context from opencl::make_context or opencl::wrap; kept.
/// @errors kInvalidArgument: no OpenCL context; kUnavailable: OpenCV without OpenCL; OpenCV's errors.
inline Context make_context(const Context& opencl) {
  const auto* buffers = opencl ? opencl.as<opencl::BufferContext>() : nullptr;
  if (!buffers)
    throw Error(Code::kInvalidArgument, "opencv_opencl::make_context: " +
                                            (opencl ? std::string(opencl->name()) : std::string("a null context")) +
                                            " is not a context of OpenCL buffers");
  return Context(make_ref<UmatContext>(detail::make_execution(buffers->native_ref()), opencl));
}

/// The execution context that a thread binds before it works on UMats of `context`:
/// `cv::ocl::OpenCLExecutionContextScope scope(execution(context))`. OpenCV has one current context per thread, and
/// kernels fail on UMats of any other. @errors kInvalidArgument
inline const cv::ocl::OpenCLExecutionContext& execution(const Context& context) {
  return detail::umats(context, "execution").execution().context;
}

}  // namespace opencv_opencl
}  // namespace v1
}  // namespace tenon
