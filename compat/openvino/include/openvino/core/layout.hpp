// SPDX-License-Identifier: Apache-2.0
// The meaning of a tensor's axes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "openvino/core/core_visibility.hpp"
#include "openvino/core/node_output.hpp"
#include "openvino/core/runtime_attribute.hpp"

namespace ov {

/// "NCHW", "N...C", "[N,C,H,W,name]". @errors Exception: a text of another form.
class OPENVINO_API Layout {
 public:
  Layout();
  static Layout scalar();
  Layout(const char* text) : Layout(std::string(text)) {}
  explicit Layout(const std::string& text);
  bool operator==(const Layout& other) const;
  bool operator!=(const Layout& other) const { return !(*this == other); }
  bool has_name(const std::string& name) const;
  std::int64_t get_index_by_name(const std::string& name) const;
  std::string to_string() const;
  bool empty() const { return *this == Layout(); }

  struct Impl;
  const Impl& impl() const { return *impl_; }
  explicit Layout(std::shared_ptr<const Impl> impl);

 private:
  std::shared_ptr<const Impl> impl_;
};

/// A layout in the rt_info of an input or output, under the key LayoutAttribute::get_type_info_static().
class OPENVINO_API LayoutAttribute : public RuntimeAttribute {
 public:
  OPENVINO_RTTI("layout", "0", RuntimeAttribute)
  LayoutAttribute() = default;
  explicit LayoutAttribute(const Layout& from) : value(from) {}
  bool visit_attributes(AttributeVisitor& visitor) override;
  std::string to_string() const override { return value.to_string(); }
  bool operator==(const LayoutAttribute& other) const { return value == other.value; }
  Layout value;
};

namespace layout {
OPENVINO_API bool has_batch(const Layout& layout);
OPENVINO_API bool has_channels(const Layout& layout);
OPENVINO_API bool has_depth(const Layout& layout);
OPENVINO_API bool has_height(const Layout& layout);
OPENVINO_API bool has_width(const Layout& layout);
OPENVINO_API std::int64_t batch_idx(const Layout& layout);
OPENVINO_API std::int64_t channels_idx(const Layout& layout);
OPENVINO_API std::int64_t depth_idx(const Layout& layout);
OPENVINO_API std::int64_t height_idx(const Layout& layout);
OPENVINO_API std::int64_t width_idx(const Layout& layout);
OPENVINO_API void set_layout(Output<Node> output, const Layout& layout);
OPENVINO_API Layout get_layout(const Output<Node>& output);
OPENVINO_API Layout get_layout(const Output<const Node>& output);
}  // namespace layout

}  // namespace ov
