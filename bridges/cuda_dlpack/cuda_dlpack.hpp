// SPDX-License-Identifier: Apache-2.0
// Tensors on CUDA devices (kDLCUDA, kDLCUDAHost, kDLCUDAManaged) to and from DLPack, by its rules for streams: the
// exporter makes the importer's stream wait. No bytes are copied and no host waits.
//
//   import:  managed = x.__dlpack__(stream=s, max_version=(1, 2))  ->  cuda_dlpack::import_tensor(managed, context, s)
//   export:  cuda_dlpack::export_tensor(tensor, s)                 ->  torch.from_dlpack(...)
//
// Memory of cudaMalloc has no descriptor, so another API needs one copy of it on the device. A torch that allocates by
// cuda::pluggable_malloc (torch.cuda.memory.CUDAPluggableAllocator; examples/cuda_torch) has memory that OpenCL uses in
// place.
#pragma once

#include <cstdint>

#include <tenon/core/context.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/cuda/cuda.hpp>
#include <tenon/frameworks/dlpack/dlpack.hpp>

namespace tenon {
inline namespace v1 {
namespace cuda_dlpack {

/// A stream as DLPack counts on CUDA: 1 is the legacy default stream, 2 the default stream of each thread, larger numbers
/// are CUstream handles; -1: no stream waits. 0 is forbidden, since it could be 1 or 2.
using StreamNumber = std::intptr_t;
inline constexpr StreamNumber kLegacyDefaultStream = 1, kNoStream = -1;

/// Imports a DLPack 1.x tensor on a CUDA device and takes ownership: the producer's deleter is called exactly once, when
/// nothing of Tenon uses the memory any more, on any thread, or before this throws.
/// @param context  The context of the tensor's device.
/// @param stream   The one given to the producer's __dlpack__: in it the bytes are ready. Later users of the memory, in
/// any API, wait for what is in it now. -1: they are ready already.
/// @errors kUnimplemented: another device or major version; kInvalidArgument: another device's number, stream 0, invalid
/// extents, strides or pointers; kOutOfRange: more than the allocation has; those of native calls.
/// @cost one allocation, some queries of the driver, one event.
Tensor import_tensor(dlpack::abi::DLManagedTensorVersioned* managed, const Context& context,
                     StreamNumber stream = kLegacyDefaultStream, Ledger* ledger = nullptr);
/// As above, for the struct before 1.0, which is always writable.
Tensor import_tensor(dlpack::abi::DLManagedTensor* managed, const Context& context,
                     StreamNumber stream = kLegacyDefaultStream, Ledger* ledger = nullptr);

/// Exports a tensor in CUDA memory as DLPack 1.x. Memory and lease live until the consumer calls the deleter.
/// @param stream  The consumer's: it is made to wait for the work on the memory. What is in it when the deleter is called
/// counts as the consumer's work, for which others wait: it must live until then. -1: no stream waits.
/// @errors kInvalidArgument: a tensor outside CUDA, stream 0; kFailedPrecondition: strides that DLPack cannot express;
/// the failure of a write to the memory; those of native calls.
dlpack::abi::DLManagedTensorVersioned* export_tensor(const Tensor& tensor, StreamNumber stream = kLegacyDefaultStream,
                                                     Ledger* ledger = nullptr);
/// As export_tensor(), for consumers before 1.0. @errors as export_tensor(); kPermissionDenied: a read-only tensor;
/// kUnimplemented: elements below a byte.
dlpack::abi::DLManagedTensor* export_legacy(const Tensor& tensor, StreamNumber stream = kLegacyDefaultStream,
                                            Ledger* ledger = nullptr);

}  // namespace cuda_dlpack
}  // namespace v1
}  // namespace tenon
