// SPDX-License-Identifier: Apache-2.0
// Layouts: the meaning of a tensor's axes; OpenVINO's Layout.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/graph/node.hpp>

namespace tenon {
inline namespace v1 {

/// Names of axes: "NCHW"; "NC?" (third unnamed); "N...C" (any rank, first N, last C); "[N,C,H,W,custom_name]" for
/// longer names. Case does not matter; B and BATCH are N, CHANNEL and CHANNELS are C, HEIGHT, WIDTH and DEPTH are H, W
/// and D. An empty text is the layout without information ("...").
/// @thread a value.
class TENON_API Layout {
 public:
  Layout() = default;
  static Layout scalar();
  Layout(const char* layout_str) : Layout(std::string(layout_str)) {}
  /// @errors kInvalidArgument: a repeated name, an invalid character, two ellipses (the message quotes the text).
  explicit Layout(const std::string& layout_str);

  bool operator==(const Layout& other) const = default;

  bool has_name(const std::string& dimension_name) const;
  /// Axis of a name; names after an ellipsis give a negative axis, counted from the end. @errors kInvalidArgument: no
  /// such name.
  std::int64_t get_index_by_name(const std::string& dimension_name) const;
  /// "[N,C,H,W]", "[N,...,C]", "[...]" when empty.
  std::string to_string() const;
  bool empty() const { return *this == Layout(); }

 private:
  friend struct LayoutAxes;
  std::vector<std::string> left_, right_;  ///< Before and after the ellipsis; "" is an unnamed axis.
  bool dynamic_ = true;                    ///< Has an ellipsis.
  bool scalar_ = false;
};

namespace layout {

TENON_API bool has_batch(const Layout& layout);
TENON_API bool has_channels(const Layout& layout);
TENON_API bool has_depth(const Layout& layout);
TENON_API bool has_height(const Layout& layout);
TENON_API bool has_width(const Layout& layout);
/// As Layout::get_index_by_name.
TENON_API std::int64_t batch_idx(const Layout& layout);
TENON_API std::int64_t channels_idx(const Layout& layout);
TENON_API std::int64_t depth_idx(const Layout& layout);
TENON_API std::int64_t height_idx(const Layout& layout);
TENON_API std::int64_t width_idx(const Layout& layout);

/// Sets the layout of a model's input or output. It is stored in the port's rt_info["layout_0"], in the form of IR
/// files; an empty layout removes it.
/// @errors kInvalidArgument: the port belongs to no Parameter or Result, or its rank does not fit the layout.
TENON_API void set_layout(Output<Node> output, const Layout& layout);
/// Empty when there is none.
TENON_API Layout get_layout(const Output<Node>& output);
TENON_API Layout get_layout(const Output<const Node>& output);

}  // namespace layout

}  // namespace v1
}  // namespace tenon
