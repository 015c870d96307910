// SPDX-License-Identifier: Apache-2.0
// Parts of tensors.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "dlstreamer/base/context.h"
#include "dlstreamer/utils.h"

namespace dlstreamer {

/// Without the outermost axes of extent 1.
inline TensorInfo squeeze_tensor_info(const TensorInfo& info) {
  TensorInfo squeezed = info;
  while (!squeezed.shape.empty() && squeezed.shape.front() == 1) {
    squeezed.shape.erase(squeezed.shape.begin());
    squeezed.stride.erase(squeezed.stride.begin());
  }
  return squeezed;
}

/// A part of a tensor of the host, over the same bytes; the whole one is its parent.
/// @param slice  {first, count} for each axis, or for as many of the outermost. @param squeeze  Without outer axes of extent 1.
/// @errors std::runtime_error: null, more axes than there are, a part that reaches past an axis.
inline TensorPtr get_tensor_slice(TensorPtr tensor, const std::vector<std::pair<size_t, size_t>>& slice,
                                  bool squeeze = false) {
  DLS_CHECK(tensor);
  TensorInfo info = tensor->info();
  DLS_CHECK(slice.size() <= info.shape.size());
  size_t offset = 0;
  for (size_t axis = 0; axis < slice.size(); ++axis) {
    const auto [first, count] = slice[axis];
    if (first > info.shape[axis] || count > info.shape[axis] - first)
      throw std::runtime_error("get_tensor_slice: " + std::to_string(count) + " elements from " +
                               std::to_string(first) + " of axis " + std::to_string(axis) + ", which has " +
                               std::to_string(info.shape[axis]));
    offset += first * info.stride[axis];
    info.shape[axis] = count;
  }
  if (squeeze) info = squeeze_tensor_info(info);
  const tenon::Tensor whole = detail::native_of(*tensor);
  const auto part = std::make_shared<CPUTensor>(
      tenon::Tensor(detail::to_tenon(info), whole.memory(), whole.offset() + offset, whole.lease(), whole.view()),
      tensor->context());
  part->set_parent(tensor);
  return part;
}

}  // namespace dlstreamer
