// SPDX-License-Identifier: Apache-2.0
// Windows of convolutions and pools: converts ONNX's attributes to the operation table's.
#pragma once

#include <cstddef>
#include <string>

#include <tenon/graph/attributes.hpp>
#include <tenon/graph/readers/onnx/internal/onnx.hpp>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

/// Attributes shared by convolutions and pools; lists have one entry per spatial axis.
struct Window {
  Ints strides, dilations, pads_begin, pads_end;
  std::string auto_pad;  ///< "explicit", "same_upper", "same_lower", "valid"

  /// @errors kInvalidArgument: lists of the wrong length.
  Window(const NodeContext& node, std::size_t spatial_axes);
  Attributes attributes() const;
};

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
