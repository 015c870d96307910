// SPDX-License-Identifier: Apache-2.0
// From a work-item's number to places in memory.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <tenon/devices/gpu/program/expression.hpp>
#include <tenon/devices/gpu/program/kernel.hpp>

namespace tenon::inline v1::gpu_device {

/// The axes over which a kernel counts, and how far each view moves along them.
struct Walk {
  Extents extents;
  std::vector<Extents> strides;  ///< The strides of each view along these extents.
  std::size_t count() const;
};

/// All axes, those joined along which every view lies as one, without those of extent 1.
/// @param views  Views of this shape.
Walk collapse(const Shape& shape, const std::vector<const View*>& views);
/// Only some of the axes, in this order.
Walk collapse(const Shape& shape, const std::vector<const View*>& views, const std::vector<std::size_t>& axes);

/// Statements that take the number `linear` apart into one coordinate for each axis of the walk.
/// @param prefix  Begins the names of coordinates and numbers: unique in the kernel.
struct Coordinates {
  std::string lines;
  std::vector<std::string> names;
};
Coordinates take_apart(Kernel& kernel, const Walk& walk, const std::string& prefix, const std::string& linear);

/// The same as expressions of `linear`, for macros, which cannot declare anything.
std::vector<std::string> coordinate_texts(Kernel& kernel, const Walk& walk, const std::string& prefix,
                                          const std::string& linear);

/// "i0 * NAME_S0 + i2": where a view's element lies. @param name  Unique in the kernel.
std::string index_text(Kernel& kernel, const std::string& name, const Extents& strides,
                       const std::vector<std::string>& coordinates);

}  // namespace tenon::inline v1::gpu_device
