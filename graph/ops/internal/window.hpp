// SPDX-License-Identifier: Apache-2.0
// Windows that slide over spatial axes: shared by convolution and pooling.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <tenon/core/shape.hpp>
#include <tenon/graph/attributes.hpp>
#include <tenon/graph/dimension.hpp>
#include <tenon/graph/node.hpp>     // IWYU pragma: export
#include <tenon/graph/windows.hpp>  // IWYU pragma: export

namespace tenon {
inline namespace v1 {

/// Reads strides, dilations, pads and auto_pad; absent lists mean 1 (0 for pads). @errors lists of a wrong length,
/// values below their minimum.
std::vector<WindowAxis> read_window(const Attributes& attributes, std::size_t spatial, bool has_dilations);

/// Replaces pads according to auto_pad, for a known extent; same_upper and same_lower need it.
void resolve_auto_pad(WindowAxis& axis, const std::string& auto_pad, std::int64_t extent);

/// Number of windows in `extent`: floor((padded - span) / stride) + 1. @errors a window larger than the padded extent.
Dimension window_count(const WindowAxis& axis, const Dimension& extent, const std::string& auto_pad, bool ceil = false,
                       bool ceil_torch = false);

/// Spatial axes from `first` on.
Spatial3 spatial3(const std::vector<WindowAxis>& axes, const Shape& in, const Shape& out, std::size_t first);

/// @name The result of sliding_window() for each family; shapes as in the kernels.
Spatial3 convolution_window(const Node& node, const Shape& data, const Shape& filters, const Shape& out);
Spatial3 pool_window(const Node& node, const Shape& in, const Shape& out);
Spatial3 patch_window(const Node& node, const Shape& in, const Shape& out);
Spatial3 column_window(const Node& node, const std::vector<std::int64_t>& kernel, const Shape& picture);

}  // namespace v1
}  // namespace tenon
