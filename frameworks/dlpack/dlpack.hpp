// SPDX-License-Identifier: Apache-2.0
// Tensors to and from DLPack, versioned and legacy, without copies.
#pragma once

#include <cstdint>

#include <tenon/core/ledger.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/cpu/cpu.hpp>  // IWYU pragma: export
#include <tenon/frameworks/dlpack/abi.hpp>

namespace tenon {
inline namespace v1 {
namespace dlpack {

/// Whether an export may copy when the bytes cannot be shared as they are: the array API's values of `copy`.
enum class Copy : std::uint8_t { kNever, kIfNeeded, kAlways };

struct ExportOptions {
  Copy copy = Copy::kNever;
  Ledger* ledger = nullptr;             ///< Where the export books; null: the process ledger.
  Deadline deadline = Deadline::max();  ///< For the wait on the last write; max: default_deadline().
};

/// Exports `tensor` as DLPack 1.x. Memory and lease live until the consumer calls the deleter, on any thread. Waits for
/// work in progress on the memory. The read-only flag is the opposite of Tensor::is_writable().
/// @errors kFailedPrecondition: not host-addressable, or strides that DLPack cannot express and no copy allowed;
/// kDeadlineExceeded. Nothing is left behind on failure.
/// @cost one allocation; copies the bytes only when allowed and needed (flag kFlagIsCopied, booked in the
/// ledger).
abi::DLManagedTensorVersioned* export_tensor(const Tensor& tensor, const ExportOptions& options = {});

/// As export_tensor(), for consumers before 1.0. Their struct cannot say "read-only" or "packed below a byte".
/// @errors as export_tensor(); kPermissionDenied: a read-only tensor and no copy allowed; kUnimplemented: types below a
/// byte.
abi::DLManagedTensor* export_legacy(const Tensor& tensor, const ExportOptions& options = {});

/// Imports a DLPack 1.x tensor and takes ownership. A type of several lanes below a byte that fill bytes (torch's
/// float4_e2m1fn_x2) becomes the type of one lane, and the last extent counts lanes. The producer's deleter (if any) is called exactly once: when the
/// last tensor over the memory goes, from any thread, or before this throws.
/// @errors kUnimplemented: another major version, a device that is not host memory, a type that has no element type
/// here (complex, vectors of whole bytes); kInvalidArgument: null, or invalid extents, strides or offsets.
/// @cost one allocation; no bytes are touched. A copy that the producer made (kFlagIsCopied) is booked in `ledger`.
Tensor import_tensor(abi::DLManagedTensorVersioned* managed, Ledger* ledger = nullptr);

/// As above, for the struct before 1.0. The tensor is writable, because the struct cannot say otherwise.
Tensor import_tensor(abi::DLManagedTensor* managed, Ledger* ledger = nullptr);

}  // namespace dlpack
}  // namespace v1
}  // namespace tenon
