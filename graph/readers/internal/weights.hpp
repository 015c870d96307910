// SPDX-License-Identifier: Apache-2.0
// Parts of mapped weights as tensors, in place.
#pragma once

#include <cstdint>
#include <string>

#include <tenon/core/element_type.hpp>
#include <tenon/core/mapped_file.hpp>  // IWYU pragma: export
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>

namespace tenon {
inline namespace v1 {
namespace readers {

/// The bytes [offset, offset + size) of `bytes` as a packed tensor: in place if aligned for the type, else
/// copied.
/// @errors kDataLoss: past the end; names `what`.
Tensor tensor_at(const Tensor& bytes, std::uint64_t offset, std::uint64_t size, ElementType type, const Shape& shape,
                 const std::string& what);

}  // namespace readers
}  // namespace v1
}  // namespace tenon
