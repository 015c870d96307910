// SPDX-License-Identifier: Apache-2.0
// Walks over strided and broadcast tensors.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include <tenon/core/shape.hpp>
#include <tenon/engine/kernels/simd/parallel.hpp>  // IWYU pragma: export

namespace tenon::inline v1::engine::kernels {

/// A walk over an output with N operands whose element strides may be 0 (broadcast). Neighbouring axes with uniform
/// strides are merged, extents of 1 dropped. Operand 0 is the output.
template <std::size_t N>
struct Walk {
  std::vector<std::size_t> extents;
  std::array<std::vector<std::ptrdiff_t>, N> strides;

  /// Innermost extent; 1 for scalars.
  std::size_t inner() const { return extents.empty() ? 1 : extents.back(); }
  std::ptrdiff_t inner_stride(std::size_t operand) const { return extents.empty() ? 0 : strides[operand].back(); }
  std::size_t rows() const {
    std::size_t count = 1;
    for (std::size_t i = 0; i + 1 < extents.size(); ++i) count *= extents[i];
    return count;
  }
  /// Element offset of each operand at row `row`.
  std::array<std::ptrdiff_t, N> offsets(std::size_t row) const {
    std::array<std::ptrdiff_t, N> at{};
    for (std::size_t i = extents.empty() ? 0 : extents.size() - 1; i-- > 0;) {
      const auto index = static_cast<std::ptrdiff_t>(row % extents[i]);
      row /= extents[i];
      for (std::size_t n = 0; n < N; ++n) at[n] += index * strides[n][i];
    }
    return at;
  }
};

/// Element strides of a packed tensor of `shape` seen as `target` under numpy broadcasting.
inline std::vector<std::ptrdiff_t> broadcast_strides(const Shape& shape, const Shape& target) {
  std::vector<std::ptrdiff_t> strides(target.size(), 0);
  std::ptrdiff_t step = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::size_t axis = shape.size() - 1 - i;
    if (shape[axis] != 1) strides[target.size() - 1 - i] = step;
    step *= static_cast<std::ptrdiff_t>(shape[axis]);
  }
  return strides;
}

template <std::size_t N>
Walk<N> make_walk(const Shape& shape, const std::array<std::vector<std::ptrdiff_t>, N>& strides) {
  Walk<N> walk;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 1) continue;
    bool merge = !walk.extents.empty();
    for (std::size_t n = 0; n < N && merge; ++n)
      merge = walk.strides[n].back() == strides[n][axis] * static_cast<std::ptrdiff_t>(shape[axis]);
    if (merge) {
      walk.extents.back() *= shape[axis];
      for (std::size_t n = 0; n < N; ++n) walk.strides[n].back() = strides[n][axis];
    } else {
      walk.extents.push_back(shape[axis]);
      for (std::size_t n = 0; n < N; ++n) walk.strides[n].push_back(strides[n][axis]);
    }
  }
  return walk;
}

}  // namespace tenon::inline v1::engine::kernels
