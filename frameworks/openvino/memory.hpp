// SPDX-License-Identifier: Apache-2.0
// ov::Tensor as Tenon memory, and Tenon memory as ov::Tensor.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include <openvino/runtime/allocator.hpp>      // IWYU pragma: export
#include <openvino/runtime/remote_tensor.hpp>  // IWYU pragma: export
#include <openvino/runtime/tensor.hpp>

#include <tenon/core/context.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/openvino/element_type.hpp>

namespace tenon {
inline namespace v1 {
namespace openvino {

/// `Tensor::kind()` of OpenVINO's memory, host and remote.
inline constexpr MemoryKind kOpenVinoMemory{"openvino"};

/// Memory that holds an ov::Tensor; `openvino::tensor` looks for it.
class NativeTensor {
 public:
  virtual ~NativeTensor() = default;
  /// Covers the whole memory.
  virtual const ov::Tensor& native_tensor() const = 0;
};

/// An ov::Tensor, kept alive. Host-addressable unless it is remote. Devices derive their own classes from it.
class TensorMemory : public Memory, public NativeTensor {
 public:
  TensorMemory(Context context, const Properties& properties, ov::Tensor native)
      : Memory(std::move(context), kOpenVinoMemory, properties), native_(std::move(native)) {}
  ~TensorMemory() override;
  const ov::Tensor& native_tensor() const override { return native_; }

 private:
  ov::Tensor native_;
};

/// As tensor(), but does not wait for the work on the memory: for callers that order their uses of it themselves.
ov::Tensor pending_tensor(const Tensor& tensor);

/// How tensor() waits before it gives the bytes out.
struct TensorOptions {
  Access access = Access::kReadWrite;   ///< kRead: readers under way are not waited for. Read-only memory: always.
  Ledger* ledger = nullptr;             ///< Where a wait is booked; null: the process ledger.
  Deadline deadline = Deadline::max();  ///< Deadline of that wait; max: default_deadline().
};

/// The tensor as an ov::Tensor over the same bytes. It keeps memory and lease alive, and so do its copies and regions,
/// also inside OpenVINO's requests. A tensor that came from an ov::Tensor and was not cut gives that same ov::Tensor.
/// Read-only memory gives a read-only ov::Tensor. Waits for work in progress on the memory.
/// @param tensor  Has the kind `openvino` or `cpu`; map others with a Router first.
/// @errors kInvalidArgument: an empty tensor, another kind; kUnimplemented: type or strides that OpenVINO lacks;
///         kDeadlineExceeded, and the failure of a write that `access` would read.
/// @thread any. @cost a bare ov::Tensor constructor plus two references.
ov::Tensor tensor(const Tensor& tensor, const TensorOptions& options = {});

namespace detail {

/// Turns the exception in flight into an Error that names the call. Only for use in a catch block. OpenVINO has
/// exception classes, not codes, so the native code is always -1.
[[noreturn]] void raise(const char* call, const std::string& what);

/// What an ov::Tensor is as memory.
struct Found {
  TensorInfo info;
  Memory::Properties properties;
};
/// @errors kInvalidArgument: empty, or not remote when `want_remote` says so and the reverse; kUnimplemented: the type, or
/// a region of a sub-byte type.
Found inspect(const ov::Tensor& native, bool want_remote);

/// Why OpenVINO cannot express a tensor of these strides; nothing when it can. Its strides are multiples of the element
/// size, and no axis is closer than in a packed tensor (no broadcast, no transposition).
std::optional<std::string> why_not_strides(const TensorInfo& info);

/// A header over host bytes, without an owner.
ov::Tensor bare_tensor(const TensorInfo& info, void* data, bool packed, bool read_only);

}  // namespace detail
}  // namespace openvino
}  // namespace v1
}  // namespace tenon
