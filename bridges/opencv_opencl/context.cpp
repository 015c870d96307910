// SPDX-License-Identifier: Apache-2.0
// OpenCV's side of a cl_context: execution contexts, and memory that OpenCV allocates.
#include <tenon/bridges/opencv_opencl/context.hpp>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <utility>
#include <vector>

#include <tenon/bridges/opencv_opencl/contexts.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/frameworks/opencl/context.hpp>
#include <tenon/frameworks/opencl/contexts.hpp>
#include <tenon/frameworks/opencl/device.hpp>

namespace tenon {
inline namespace v1 {
namespace opencv_opencl {
namespace detail {

TENON_INLINE Ref<Execution> make_execution(const Ref<opencl::client::Native>& native) {
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

TENON_INLINE cl_mem handle_of(const cv::UMat& umat) {
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

TENON_INLINE Ref<UmatMemory> UmatMemory::over(Context context, const cv::UMat& umat, cl_mem buffer, void* host) {
  Properties properties;
  properties.host = host;
  properties.size_bytes = umat.u->size;
  // The same identity as in opencl.buffer: the same cl_mem is the same memory.
  properties.identity = {MemoryIdentity::Kind::kHandle, 0, reinterpret_cast<std::uintptr_t>(buffer)};
  return Ref<UmatMemory>(new UmatMemory(std::move(context), properties, umat));
}

TENON_INLINE UmatMemory::~UmatMemory() { drop_views(); }

TENON_INLINE UmatMemory::UmatMemory(Context context, const Properties& properties, const cv::UMat& umat)
    : Memory(std::move(context), kUmatMemory, properties), umat_(umat) {}

TENON_INLINE UmatView::UmatView(Context context, Access access, void* host, opencl::client::Handle<cl_mem> buffer)
    : View(std::move(context), kUmatMemory, access, host), buffer_(std::move(buffer)) {}

TENON_INLINE UmatContext::UmatContext(Ref<detail::Execution> execution, const Context& opencl)
    : execution_(std::move(execution)), opencl_(opencl), name_("opencv.umat") {
  const std::string_view device = opencl->name();
  name_ += device.substr(std::min(device.find(':'), device.size()));
}

TENON_INLINE std::variant<Offer, Refusal> UmatContext::offer(const Requirements& wanted) const {
  if (needs_opencl(wanted)) return opencl_->offer(wanted);
  return Offer{1, FdKind::kNone, 0, false};
}

TENON_INLINE Ref<Memory> UmatContext::allocate(const Requirements& wanted) {
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

TENON_INLINE bool UmatContext::needs_opencl(const Requirements& wanted) const {
  return wanted.fd != FdKind::kNone || wanted.host_access ||
         wanted.alignment > execution_->native->device.base_alignment;
}

namespace detail {

TENON_INLINE const UmatContext& umats(const Context& context, const char* function) {
  const auto* umats = context ? context.as<UmatContext>() : nullptr;
  if (!umats)
    throw Error(Code::kInvalidArgument, std::string("opencv_opencl::") + function + ": " +
                                            (context ? std::string(context->name()) : std::string("a null context")) +
                                            " is not a context of cv::UMat");
  return *umats;
}

}  // namespace detail

TENON_INLINE Context make_context(const Context& opencl) {
  const auto* buffers = opencl ? opencl.as<opencl::BufferContext>() : nullptr;
  if (!buffers)
    throw Error(Code::kInvalidArgument, "opencv_opencl::make_context: " +
                                            (opencl ? std::string(opencl->name()) : std::string("a null context")) +
                                            " is not a context of OpenCL buffers");
  return Context(make_ref<UmatContext>(detail::make_execution(buffers->native_ref()), opencl));
}

namespace detail {

TENON_INLINE std::vector<Context> find_contexts() {
  std::vector<Context> found;
  for (const Context& context : opencl::contexts()) {
    if (!(context->kind() == opencl::kBufferMemory)) continue;
    try {
      found.push_back(make_context(context));
    } catch (const Error&) {
      // Skips devices on which OpenCV cannot work.
    }
  }
  return found;
}

}  // namespace detail

TENON_INLINE std::string why_none() { return "there is no OpenCL device, or OpenCV was built without OpenCL"; }

}  // namespace opencv_opencl
}  // namespace v1
}  // namespace tenon
