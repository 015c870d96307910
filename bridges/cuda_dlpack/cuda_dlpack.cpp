// SPDX-License-Identifier: Apache-2.0
// Tensors on CUDA devices to and from DLPack: checks, streams and ownership.
#include <tenon/bridges/cuda_dlpack/cuda_dlpack.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <tenon/bridges/cuda_dlpack/device_types.hpp>
#include <tenon/core/context.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/hazards.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/cpu/client.hpp>
#include <tenon/frameworks/cuda/client.hpp>
#include <tenon/frameworks/cuda/cuda.hpp>
#include <tenon/frameworks/dlpack/client.hpp>
#include <tenon/frameworks/dlpack/dlpack.hpp>

namespace tenon {
inline namespace v1 {
namespace cuda_dlpack {
namespace detail {

TENON_INLINE cuda::abi::Stream stream_of(StreamNumber number, const char* what) {
  if (number < 1)
    throw Error(
        Code::kInvalidArgument,
        std::string("cuda_dlpack ") + what + ": stream " + std::to_string(number) +
            " is ambiguous or unknown in DLPack; give 1 (legacy default), 2 (per thread), a CUstream, or -1 for "
            "no synchronisation");
  return reinterpret_cast<cuda::abi::Stream>(number);
}

TENON_INLINE EdgeId import_edge() {
  static const EdgeId id = register_edge("dlpack->cuda");
  return id;
}

TENON_INLINE EdgeId export_edge() {
  static const EdgeId id = register_edge("cuda->dlpack");
  return id;
}

TENON_INLINE void check_device(const dlpack::abi::DLDevice& device, const Context& context) {
  const std::string type =
      std::to_string(device.device_type) + " (" + dlpack::client::device_name(device.device_type) + ")";
  if (!is_on_device(device.device_type) && device.device_type != dlpack::abi::kDLCUDAHost)
    throw Error(Code::kUnimplemented, "cuda_dlpack import: the tensor lies on device type " + type +
                                          ", CUDA's are taken here; host memory is taken by dlpack::import_tensor");
  const int ordinal = cuda::device(context).ordinal;
  if (is_on_device(device.device_type) && device.device_id != ordinal)
    throw Error(Code::kInvalidArgument, "cuda_dlpack import: the tensor lies on CUDA device " +
                                            std::to_string(device.device_id) + ", and " + std::string(context->name()) +
                                            " is device " + std::to_string(ordinal) +
                                            "; give cuda::make_context of that device");
}

/// The common part of both imports; `guard` calls the producer's deleter.
TENON_INLINE Tensor import_cuda(const dlpack::abi::DLTensor& dl, bool may_lack_strides, bool legacy,
                                std::uint64_t flags, cpu::client::ReleaseGuard& guard, const Context& context,
                                StreamNumber stream, Ledger* ledger) {
  check_device(dl.device, context);
  const bool waits = stream != kNoStream && is_on_device(dl.device.device_type);
  const cuda::abi::Stream ready_in = waits ? stream_of(stream, "import") : nullptr;
  const TensorInfo info = dlpack::client::checked_info(dl, may_lack_strides, legacy, flags);
  dlpack::client::checked_size(dl, info);
  Ledger& booked = ledger ? *ledger : Ledger::process();
  // Nothing to share: the producer's memory goes at once.
  if (!dl.data || checked_size_bytes(info.type, info.shape) == std::size_t{0})
    return cuda::allocate(context, cuda::MemoryType::kDevice, info);
  std::function<void()> release = guard.get();
  guard.disarm();  // From here on adopt() calls it.
  Tensor tensor = cuda::adopt(context, reinterpret_cast<std::uintptr_t>(dl.data) + dl.byte_offset, info,
                              std::move(release), (flags & dlpack::abi::kFlagReadOnly) != 0);
  if (waits) cuda::wrote(tensor, ready_in);
  booked.book_map(import_edge(), false);
  if (flags & dlpack::abi::kFlagIsCopied) booked.book_copied(import_edge(), tensor.size_bytes());
  return tensor;
}

/// Owned by an exported struct; its end is that of the consumer's work.
template <typename Managed>
struct CudaExported : dlpack::client::Exported<Managed> {
  Ref<cuda::client::Native> native;
  StreamNumber stream = kNoStream;

  static void destroy(Managed* self) {
    const std::unique_ptr<CudaExported> owned(static_cast<CudaExported*>(self->manager_ctx));
    if (owned->stream == kNoStream) return;
    try {
      const TimelinePoint used =
          cuda::client::record(owned->native, reinterpret_cast<cuda::abi::Stream>(owned->stream));
      if (owned->tensor.is_writable())
        owned->tensor.memory()->hazards().wrote(used, written_bytes(owned->tensor));
      else
        owned->tensor.memory()->hazards().read_until(used);
    } catch (const Error&) {
      // A driver that is shutting down: nothing runs any more.
    }
  }
};

template <typename Managed>
std::unique_ptr<CudaExported<Managed>> make_export(const Tensor& tensor, StreamNumber stream, Ledger* ledger) {
  const std::string what = "cuda_dlpack export of " + to_string(tensor);
  if (!tensor) throw Error(Code::kInvalidArgument, "cuda_dlpack export: the tensor is empty");
  const cuda::abi::DevicePointer data = cuda::pointer(tensor);
  auto made = std::make_unique<CudaExported<Managed>>();
  const dlpack::abi::DLDataType type = dlpack::client::to_dl(tensor.element_type());
  if (const std::string refusal = dlpack::client::element_strides(tensor, made->strides); !refusal.empty())
    throw Error(Code::kFailedPrecondition, what + ": " + refusal + "; pad rows to whole elements");
  const Access access = tensor.is_writable() ? Access::kReadWrite : Access::kRead;
  const std::int32_t device = device_type(cuda::memory_type(tensor));
  Ledger& booked = ledger ? *ledger : Ledger::process();
  if (!is_on_device(device))  // A consumer of pinned host memory expects no stream.
    tensor.memory()->wait_for(access, default_deadline(), &booked);
  else if (stream != kNoStream)
    cuda::order(tensor, access, stream_of(stream, "export"));
  made->native = cuda::client::cuda_context(tensor.context(), "export").native_ref();
  made->stream = is_on_device(device) ? stream : kNoStream;
  made->tensor = tensor;
  for (std::size_t extent : tensor.shape()) made->shape.push_back(static_cast<std::int64_t>(extent));
  dlpack::abi::DLTensor& dl = made->managed.dl_tensor;
  dl.data = reinterpret_cast<void*>(data);
  dl.device = {device, made->native->device.ordinal};
  dl.ndim = static_cast<std::int32_t>(made->shape.size());
  dl.dtype = type;
  dl.shape = made->shape.data();
  dl.strides = made->strides.data();
  dl.byte_offset = 0;
  made->managed.manager_ctx = made.get();
  made->managed.deleter = &CudaExported<Managed>::destroy;
  booked.book_map(export_edge(), false);
  return made;
}

}  // namespace detail

TENON_INLINE Tensor import_tensor(dlpack::abi::DLManagedTensorVersioned* managed, const Context& context,
                                  StreamNumber stream, Ledger* ledger) {
  if (!managed) throw Error(Code::kInvalidArgument, "cuda_dlpack import: a null pointer");
  cpu::client::ReleaseGuard guard([managed] {
    if (managed->deleter) managed->deleter(managed);
  });
  dlpack::client::check_version(managed->version);
  return detail::import_cuda(managed->dl_tensor, managed->version.minor < 2, false, managed->flags, guard, context,
                             stream, ledger);
}

TENON_INLINE Tensor import_tensor(dlpack::abi::DLManagedTensor* managed, const Context& context, StreamNumber stream,
                                  Ledger* ledger) {
  if (!managed) throw Error(Code::kInvalidArgument, "cuda_dlpack import: a null pointer");
  cpu::client::ReleaseGuard guard([managed] {
    if (managed->deleter) managed->deleter(managed);
  });
  return detail::import_cuda(managed->dl_tensor, true, true, 0, guard, context, stream, ledger);
}

TENON_INLINE dlpack::abi::DLManagedTensorVersioned* export_tensor(const Tensor& tensor, StreamNumber stream,
                                                                  Ledger* ledger) {
  auto made = detail::make_export<dlpack::abi::DLManagedTensorVersioned>(tensor, stream, ledger);
  made->managed.version = {dlpack::abi::kMajorVersion, dlpack::abi::kMinorVersion};
  made->managed.flags = tensor.is_writable() ? 0 : dlpack::abi::kFlagReadOnly;
  return &made.release()->managed;
}

TENON_INLINE dlpack::abi::DLManagedTensor* export_legacy(const Tensor& tensor, StreamNumber stream, Ledger* ledger) {
  if (tensor && (!tensor.is_writable() || size_bytes(tensor.element_type()) == 0))
    throw Error(
        tensor.is_writable() ? Code::kUnimplemented : Code::kPermissionDenied,
        "cuda_dlpack export of " + to_string(tensor) +
            ": legacy DLPack can say neither 'read-only' nor 'packed below a byte'; export the versioned struct");
  return &detail::make_export<dlpack::abi::DLManagedTensor>(tensor, stream, ledger).release()->managed;
}

}  // namespace cuda_dlpack
}  // namespace v1
}  // namespace tenon
