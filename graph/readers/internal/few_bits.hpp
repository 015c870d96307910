// SPDX-License-Identifier: Apache-2.0
// Numbers of 2, 3 and 6 bits in model files. Tensors here have no such types: they become those of 4 and 8 bits, for which
// devices have kernels.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <tenon/core/element_type.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>

namespace tenon {
inline namespace v1 {
namespace readers {

/// A type as a file stores it. A byte holds four numbers of 2 bits, the first in its lowest ones. Eight numbers of 3 bits
/// are two bytes with their lower 2 bits and one with the upper ones; four of 6 bits are two bytes with their lower
/// 4 bits and one with the upper ones; both from the highest bit of a byte on, as OpenVINO has them.
struct FewBits {
  unsigned bits;
  bool is_signed;
  ElementType type;  ///< The tensor's.
  /// Bytes of so many numbers.
  std::size_t bytes(std::size_t count) const {
    return bits == 2 ? (count + 3) / 4 : (count + 24 / bits - 1) / (24 / bits) * 3;
  }
};

/// OpenVINO's u2, u3 and u6; nothing for other names.
std::optional<FewBits> few_bits_from_name(std::string_view name);

/// The numbers in a tensor of `stored.type`. @errors kInvalidArgument: another number of bytes; names `what`.
Tensor widened(const Tensor& bytes, const FewBits& stored, const Shape& shape, const std::string& what);

}  // namespace readers
}  // namespace v1
}  // namespace tenon
