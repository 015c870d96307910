// SPDX-License-Identifier: Apache-2.0
// Windows of convolutions and pools: ONNX's attributes in the table's terms.
#pragma once

#include <tenon/graph/readers/onnx/internal/onnx.hpp>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

/// Attributes that convolutions and pools share; lists have one entry per spatial axis.
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
