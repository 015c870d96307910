// SPDX-License-Identifier: Apache-2.0
// Splits a strided tensor into few blocks of equal rows, for APIs that copy rectangles.
#pragma once

#include <cstddef>

#include <tenon/core/element_type.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>

namespace tenon {
inline namespace v1 {

/// A block of rows of a tensor, and its position in the packed form.
struct Rows {
  std::size_t offset = 0;  ///< In the memory, bytes.
  std::size_t pitch = 0;   ///< From row to row in the memory, bytes.
  std::size_t packed = 0;  ///< Offset in the packed form, in which rows are contiguous, bytes.
  std::size_t width = 0, count = 1;
};

/// Calls run(Rows) for each block of equal rows of a tensor. Blocks are as large as possible, because each is one
/// command.
template <typename Run>
void for_each_block(const Tensor& tensor, Run run) {
  if (tensor.size_bytes() == 0) return;
  if (tensor.is_contiguous()) return run(Rows{tensor.offset(), 0, 0, tensor.size_bytes(), 1});
  const Shape& shape = tensor.shape();
  const auto stride = [&](std::size_t axis) { return static_cast<std::size_t>(tensor.byte_strides()[axis]); };
  Rows rows;
  rows.width = size_bytes(tensor.element_type());
  std::size_t outer = shape.size();
  while (outer > 0 && (shape[outer - 1] == 1 || stride(outer - 1) == rows.width)) rows.width *= shape[--outer];
  // Such APIs need rows that do not overlap, so a broadcast axis is copied row by row.
  if (outer > 0 && stride(outer - 1) >= rows.width) {
    rows.count = shape[--outer];
    rows.pitch = stride(outer);
  }
  Shape index(outer, 0);
  for (std::size_t done = 0; done < tensor.size_bytes(); done += rows.width * rows.count) {
    rows.offset = tensor.offset();
    for (std::size_t axis = 0; axis < outer; ++axis) rows.offset += index[axis] * stride(axis);
    rows.packed = done;
    run(rows);
    for (std::size_t axis = outer; axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
}

}  // namespace v1
}  // namespace tenon
