// SPDX-License-Identifier: Apache-2.0
// Headers of cv::UMat over buffers, what keeps their memory, and the order of OpenCV's work.
#include <tenon/bridges/opencv_opencl/umat.hpp>

#include <climits>
#include <memory>
#include <span>
#include <utility>
#include <variant>

#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/small_vector.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/opencl/buffer.hpp>
#include <tenon/frameworks/opencl/client.hpp>
#include <tenon/frameworks/opencl/event.hpp>
#include <tenon/frameworks/opencl/sync.hpp>
#include <tenon/frameworks/opencv/client.hpp>

namespace tenon {
inline namespace v1 {
namespace opencv_opencl {
namespace detail {

/// Held by each UMat from umat(): the memory under its cl_mem, which OpenCL counts but does not keep alive. OpenCV
/// destroys it with its UMatData, after the last header and the last kernel that uses it.
struct Keeper {
  Ref<Memory> memory;
  Lease lease;
  const View* view = nullptr;
  Ref<Execution> execution;
  Counted counted;
  void operator()(void*) noexcept {
    lease = nullptr;
    memory = nullptr;
  }
  /// The keeper behind `umat`; null when umat() did not make it.
  static const Keeper* of(const cv::UMat& umat) {
    return umat.u ? std::get_deleter<Keeper>(umat.u->allocatorContext) : nullptr;
  }
};

TENON_INLINE std::string umat_reason(const TensorInfo& info, std::size_t offset) {
  const auto judged = opencv::client::lay_out(info);
  if (const auto* refusal = std::get_if<Refusal>(&judged)) return refusal->reason;
  const std::size_t item = size_bytes(info.type);
  if (offset % item != 0)
    return "it begins at byte " + std::to_string(offset) + ", which is not a multiple of its element's " +
           std::to_string(item);
  const auto extent = checked_extent_bytes(info);
  if (!extent || *extent > INT_MAX || offset > INT_MAX - *extent)
    return "it ends past 2^31 bytes, and OpenCV's kernels count in ints";
  if (*extent == 0) return "it has no elements, and OpenCL has no empty buffers";
  if (std::get<opencv::client::MatLayout>(judged).dims != 2 && !info.strides.empty() &&
      !(info.strides == packed_strides(info.type, info.shape)))
    return "cv::UMat has strides for two dimensions and channels only; these are " + to_string(info.strides);
  return {};
}

/// A UMat that refers to the bytes of `tensor` in `buffer`. OpenCV's convertFromBuffer takes the reference and drops
/// the step that it is given (4.6), so the header is written here. @errors kInternal: what convertFromBuffer gives.
TENON_INLINE cv::UMat header_of(const Tensor& tensor, cl_mem buffer) {
  const TensorInfo& info = tensor.info();
  const auto layout = std::get<opencv::client::MatLayout>(opencv::client::lay_out(info));
  cv::UMat umat;
  checked(
      "cv::ocl::convertFromBuffer", [&] { return "a UMat of " + to_string(tensor); },
      [&] {
        cv::ocl::convertFromBuffer(buffer, 1, 1, 1, CV_8U, umat);
        return 0;
      });
  const bool flat = layout.dims != 2;
  umat.flags = (umat.flags & ~CV_MAT_TYPE_MASK) | layout.type;
  umat.rows = flat ? 1 : layout.rows;
  umat.cols = flat ? static_cast<int>(tensor.element_count()) : layout.columns;
  umat.step.p[1] = umat.elemSize();
  umat.step.p[0] = flat ? tensor.size_bytes() : layout.step;
  umat.offset = tensor.offset();
  umat.updateContinuityFlag();
  if (tensor.offset() != 0 || umat.total() * umat.elemSize() != umat.u->size) umat.flags |= cv::UMat::SUBMATRIX_FLAG;
  if (!flat) return umat;
  SmallVector<int, 8> sizes;
  for (std::size_t extent : info.shape) sizes.push_back(static_cast<int>(extent));
  return checked(
      "cv::UMat::reshape", [&] { return "a UMat of " + to_string(tensor); },
      [&] { return umat.reshape(1, static_cast<int>(sizes.size()), sizes.data()); });
}

/// As header_of(), and also holds what the tensor holds.
TENON_INLINE cv::UMat keeping_umat(const Tensor& tensor, cl_mem buffer, const UmatContext& context) {
  cv::UMat umat = header_of(tensor, buffer);
  // OpenCV stores its own cl_context object in this field.
  umat.u->allocatorContext =
      std::shared_ptr<void>(const_cast<cv::ocl::Context*>(&context.execution().cv_context),
                            Keeper{tensor.memory(), tensor.lease(), tensor.view(), context.execution_ref(), {}});
  return umat;
}

/// Makes OpenCV's queue wait for the work on `memory`. @errors the failure of a write that `access` would read.
TENON_INLINE void hand_over(const Memory& memory, const Execution& execution, Access access, Deadline deadline,
                            Ledger* ledger) {
  if (!memory.has_hazards() || !memory.hazards().has_points()) return;
  opencl::WaitList list;
  memory.wait_for(access, deadline == Deadline::max() ? default_deadline() : deadline, ledger,
                  [&](const TimelinePoint& point) {
                    list.add(*execution.native, point);
                    return true;
                  });
  if (list.size() == 0) return;
  opencl::client::check(opencl::client::call(clEnqueueBarrierWithWaitList, execution.queue(), list.size(), list.data(),
                                             static_cast<cl_event*>(nullptr)),
                        "clEnqueueBarrierWithWaitList", "making OpenCV's queue wait for a buffer");
}

/// An event that completes with all work now in OpenCV's queue.
TENON_INLINE opencl::client::Handle<cl_event> marker_of(const Execution& execution) {
  return opencl::client::marker(execution.queue());
}

TENON_INLINE void note_work(const Memory& memory, const Execution& execution) {
  memory.hazards().wrote(TimelinePoint(opencl::EventTimeline::over(marker_of(execution)), 1));
}

TENON_INLINE cl_mem buffer_of(const Tensor& tensor, const char* function) {
  if (tensor && tensor.view()) {
    if (const auto* view = dynamic_cast<const UmatView*>(tensor.view())) return view->buffer();
  } else if (tensor) {
    if (const auto* memory = dynamic_cast<const UmatMemory*>(tensor.memory().get())) return handle_of(memory->umat());
  }
  throw Error(Code::kInvalidArgument,
              std::string("opencv_opencl::") + function + " of " + to_string(tensor) +
                  ": it is not an opencv.umat; map it to a context of cv::UMat with a Router first");
}

}  // namespace detail

TENON_INLINE cv::UMat umat(const Tensor& tensor, const opencv::MatOptions& options) {
  const cl_mem buffer = detail::buffer_of(tensor, "umat");
  const UmatContext& context = detail::umats(tensor.context(), "umat");
  if (writes(options.access) && !tensor.is_writable())
    throw Error(Code::kPermissionDenied, "opencv_opencl::umat of " + to_string(tensor) +
                                             ": it is read-only, and cv::UMat knows no const; ask for Access::kRead "
                                             "and do not write, or clone it");
  if (const std::string reason = detail::umat_reason(tensor.info(), tensor.offset()); !reason.empty())
    throw Error(Code::kFailedPrecondition, "opencv_opencl::umat of " + to_string(tensor) + ": " + reason);
  detail::hand_over(*tensor.memory(), context.execution(), options.access, options.deadline, options.ledger);
  return detail::keeping_umat(tensor, buffer, context);
}

TENON_INLINE cv::UMat umat(const Tensor& tensor, Access access) {
  return umat(tensor, opencv::MatOptions{access, nullptr, Deadline::max()});
}

TENON_INLINE void wrote(const Tensor& tensor) {
  detail::note_work(*tensor.memory(), detail::umats(tensor ? tensor.context() : Context(), "wrote").execution());
}

TENON_INLINE Tensor wrap(const Context& context, const cv::UMat& umat) {
  const UmatContext& umats = detail::umats(context, "wrap");
  const cl_mem buffer = detail::handle_of(umat);
  if (opencl::client::info<cl_context>(clGetMemObjectInfo, "clGetMemObjectInfo", buffer, CL_MEM_CONTEXT) !=
      umats.execution().native->context.get())
    throw Error(Code::kInvalidArgument, "opencv_opencl::wrap: the cv::UMat belongs to another cl_context than " +
                                            std::string(umats.name()) + "; work under its execution(), or copy it");
  TensorInfo info = opencv::client::info_of(umat);
  const auto* keeper = detail::Keeper::of(umat);
  const bool ours = keeper && keeper->execution.get() == &umats.execution();
  Ref<Memory> memory = ours ? keeper->memory : Ref<Memory>(UmatMemory::over(context, umat, buffer, nullptr));
  detail::note_work(*memory, umats.execution());
  return ours ? Tensor(std::move(info), std::move(memory), umat.offset, keeper->lease, keeper->view)
              : Tensor(std::move(info), std::move(memory), umat.offset);
}

namespace detail {

/// One contiguous run of a tensor as a row of bytes.
TENON_INLINE cv::UMat run_of(const Tensor& tensor, std::size_t offset, std::size_t size) {
  const Tensor row({ElementType::kU8, {size}, {}}, tensor.memory(), offset, tensor.lease(), tensor.view());
  return umat(row, Access::kRead);
}

/// Copies run by run with OpenCV's own transfers; complete when it returns.
template <typename Copy>
void copy_runs(const UmatContext& context, const Tensor& tensor, const char* call, Copy copy) {
  const cv::ocl::OpenCLExecutionContextScope scope(context.execution().context);
  opencl::client::for_each_run(tensor, [&](std::size_t offset, std::size_t packed, std::size_t size) {
    cv::UMat device = run_of(tensor, offset, size);
    checked(
        call, [&] { return "copying " + to_string(tensor); },
        [&] {
          copy(device, packed, static_cast<int>(size));
          return 0;
        });
  });
  // Copies to a UMat over host memory return before they complete (OpenCV 4.6 on Intel's CPU runtime).
  opencl::client::finish(marker_of(context.execution()), default_deadline());
}

}  // namespace detail

TENON_INLINE Ref<Memory> UmatContext::allocate_in_opencl(const Requirements& wanted) {
  const Ref<Memory> memory = opencl_->allocate(wanted);
  const Tensor whole({ElementType::kU8, {memory->size_bytes()}, {}}, memory);
  const cl_mem buffer = opencl::buffer(whole);
  return UmatMemory::over(Context(Ref<ContextImpl>(this)), detail::keeping_umat(whole, buffer, *this), buffer,
                          memory->host());
}

TENON_INLINE void UmatContext::read(const Tensor& tensor, std::span<std::byte> out) const {
  detail::copy_runs(*this, tensor, "cv::UMat::copyTo", [&](const cv::UMat& device, std::size_t at, int size) {
    cv::Mat host(size, 1, CV_8U, out.data() + at);
    device.copyTo(host);
  });
}

TENON_INLINE void UmatContext::write(const Tensor& tensor, std::span<const std::byte> in) const {
  if (!tensor.is_writable())
    throw Error(Code::kPermissionDenied, name_ + ": writing to " + to_string(tensor) + ": its memory is read-only");
  if (tensor.size_bytes() != 0) tensor.memory()->wait_for(Access::kWrite, default_deadline());
  detail::copy_runs(*this, tensor, "cv::Mat::copyTo", [&](cv::UMat& device, std::size_t at, int size) {
    cv::Mat(size, 1, CV_8U, const_cast<std::byte*>(in.data()) + at).copyTo(device);
  });
}

}  // namespace opencv_opencl
}  // namespace v1
}  // namespace tenon
