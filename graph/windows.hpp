// SPDX-License-Identifier: Apache-2.0
// Sliding windows over spatial axes: the parameters of convolutions and pooling of known shapes.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tenon/core/export.hpp>
#include <tenon/graph/node.hpp>

namespace tenon {
inline namespace v1 {

/// One spatial axis of a sliding window. Padding is after auto_pad was resolved.
struct WindowAxis {
  std::int64_t kernel = 1, stride = 1, dilation = 1, pad_begin = 0, pad_end = 0;
};

/// All spatial axes, preceded by extents of 1 up to three, so that one kernel serves 1-D to 3-D.
struct Spatial3 {
  std::size_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1};
  WindowAxis window[3];
};

/// The windows of a convolution of any kind, a MaxPool, AvgPool, AdaptiveAvgPool or AdaptiveMaxPool (whose windows
/// follow from the extents), an ExtractImagePatches or a Col2Im. The windows of a Col2Im slide over its output, so `in`
/// is the output and `out` the number of windows.
/// @pre shapes are known. @errors kInvalidArgument: attributes that do not agree with them.
TENON_API Spatial3 sliding_window(const Node& node);

/// Whether the means of an AvgPool are of the picture's elements alone: exclude-pad says so, or no pads are declared that could count. Rounded
/// up, the last window may reach beyond the picture all the same. @cost some look-ups of attributes
TENON_API bool excludes_padding(const Node& average_pool);

}  // namespace v1
}  // namespace tenon
