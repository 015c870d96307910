// SPDX-License-Identifier: Apache-2.0
// What bridges to DLPack may use of this framework: checks of foreign structs, and what an exported struct owns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <tenon/core/element_type.hpp>
#include <tenon/core/small_vector.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/dlpack/abi.hpp>

namespace tenon {
inline namespace v1 {
namespace dlpack {

/// For other folders of this repository, beside the public functions. Not for applications: it may change with every
/// release. The rest of namespace detail is this folder's own.
namespace client {

/// @errors kInvalidArgument: a type that DLPack has not.
abi::DLDataType to_dl(ElementType type);
/// For messages; "unknown" for a number that DLPack has not.
const char* device_name(std::int32_t type);

/// Checks all of a foreign struct but its device before using any of it. `may_lack_strides`: versions before 1.2.
/// @errors kInvalidArgument: impossible extents or strides; kUnimplemented: the type, or elements below a byte that are
/// padded or not in rows.
TensorInfo checked_info(const abi::DLTensor& dl, bool may_lack_strides, bool legacy, std::uint64_t flags);

/// Bytes from dl.data to the end of the tensor. @errors kInvalidArgument: past the address space, or no data
std::size_t checked_size(const abi::DLTensor& dl, const TensorInfo& info);

/// @errors kUnimplemented: another major version.
void check_version(const abi::DLPackVersion& version);

/// Computes element strides; returns why DLPack cannot express the tensor, or an empty text.
std::string element_strides(const Tensor& tensor, SmallVector<std::int64_t, 6>& strides);

/// Owned by an exported struct. One allocation holds struct, extents and the reference to memory and lease.
template <typename Managed>
struct Exported {
  Managed managed{};
  Tensor tensor;
  SmallVector<std::int64_t, 6> shape, strides;

  static void destroy(Managed* self) { delete static_cast<Exported*>(self->manager_ctx); }
};

}  // namespace client

}  // namespace dlpack
}  // namespace v1
}  // namespace tenon
