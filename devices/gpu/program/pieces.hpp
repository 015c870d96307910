// SPDX-License-Identifier: Apache-2.0
// What a kernel computes seen with other axes, so that it writes a reshaped or transposed result where that one lies.
#pragma once

#include <cstddef>
#include <vector>

#include <tenon/core/shape.hpp>
#include <tenon/devices/gpu/program/expression.hpp>

namespace tenon::inline v1::gpu_device {

/// Axes of a result that a kernel counts as one: {{0}, {1}, {2, 3}} for batches, channels and pixels.
using AxisGroups = std::vector<std::vector<std::size_t>>;

/// The axes of a result and those of a value with the same elements, both as products of the same pieces, which are counted
/// in the order of the value's axes. Axes of extent 1 have none.
class Pieces {
 public:
  /// The value is the result itself.
  explicit Pieces(const Shape& made);

  /// The value becomes another; false, and nothing changes, if it has then no such pieces, or if what is innermost for both
  /// is no longer the same: kernels write 8 neighbours at once.
  bool reshape(const Shape& shape);
  bool transpose(const std::vector<std::size_t>& order);

  const Shape& extents() const { return extents_; }
  /// For each axis of the result, the pieces that it consists of.
  const AxisGroups& made() const { return made_; }

 private:
  bool keeps_neighbours() const;
  void split(std::size_t piece, std::size_t outer);

  Shape extents_;
  std::vector<std::size_t> counts_;  ///< How many pieces each axis of the value has.
  AxisGroups made_;
};

/// The pieces of a result's axes in two groups: those of all axes but the last one, and those of the last.
AxisGroups rows_and_columns(const AxisGroups& axes);

}  // namespace tenon::inline v1::gpu_device
