// SPDX-License-Identifier: Apache-2.0
// Layouts: parsing, printing, and how axes move between two of them.
#include <tenon/graph/layout.hpp>

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

#include <tenon/core/error.hpp>
#include <tenon/graph/internal/trimmed.hpp>
#include <tenon/graph/layout_axes.hpp>

namespace tenon {
inline namespace v1 {
namespace {

constexpr const char* kScalar = "**SCALAR**";
constexpr const char* kKey = "layout_0";

[[noreturn]] void refuse(const std::string& message) { throw Error(Code::kInvalidArgument, message); }

std::string canonical(std::string name) {
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if (name == "B" || name == "BATCH") return "N";
  if (name == "CHANNEL" || name == "CHANNELS") return "C";
  if (name == "HEIGHT") return "H";
  if (name == "WIDTH") return "W";
  if (name == "DEPTH") return "D";
  return name;
}

/// The name of one axis as written; "" for "?".
std::string parse_name(const std::string& text) {
  if (text == "?") return {};
  if (text.empty()) refuse("Layout dimension name can't be empty");
  bool has_letter = false;
  for (char c : text) {
    const bool letter = std::isalnum(static_cast<unsigned char>(c)) != 0;
    has_letter |= letter;
    if (!letter && c != '_')
      refuse("Layout name is invalid (" + text + "). Only english letters, digits and _ is allowed");
  }
  if (!has_letter) refuse("Layout name is invalid (" + text + "). Name shall have alphanumeric characters");
  return canonical(text);
}

/// "N,C,?" to names.
std::vector<std::string> parse_list(const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find(',', begin), text.size());
    names.push_back(parse_name(std::string(trimmed(std::string_view(text).substr(begin, end - begin)))));
    begin = end + 1;
  }
  return names;
}

std::vector<std::string> parse_letters(const std::string& text) {
  std::vector<std::string> names;
  for (char c : text) names.push_back(parse_name(std::string(1, c)));
  return names;
}

void check_distinct(const std::vector<std::string>& left, const std::vector<std::string>& right) {
  std::vector<std::string> all(left);
  all.insert(all.end(), right.begin(), right.end());
  std::sort(all.begin(), all.end());
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (!all[i].empty() && all[i] == all[i - 1])
      refuse("Dimension (" + all[i] + ") is defined multiple times in layout");
  }
}

}  // namespace

Layout Layout::scalar() { return Layout(kScalar); }

Layout::Layout(const std::string& layout_str) {
  if (layout_str.empty()) return;
  std::string text(trimmed(layout_str));
  if (text.empty()) refuse("Cannot parse ov::Layout from an empty string");
  if (text == kScalar) {
    scalar_ = true;
    dynamic_ = false;
    return;
  }
  const bool list = text.size() >= 2 && text.front() == '[' && text.back() == ']';
  if (list) text = std::string(trimmed(std::string_view(text).substr(1, text.size() - 2)));
  if (text.empty()) refuse("Cannot parse ov::Layout from an empty string");
  const auto ellipsis = text.find("...");
  dynamic_ = ellipsis != text.npos;
  std::string left = text.substr(0, ellipsis), right = dynamic_ ? text.substr(ellipsis + 3) : std::string();
  if (right.find("...") != right.npos) refuse("Multiple ... are not allowed in layout " + layout_str);
  if (left.find('.') != left.npos || right.find('.') != right.npos)
    refuse("Undefined number of dimensions shall have ... in layout " + layout_str);
  if (!list) {
    left_ = parse_letters(left);
    right_ = parse_letters(right);
  } else {
    left = std::string(trimmed(left));
    right = std::string(trimmed(right));
    if (dynamic_ && !left.empty()) {
      if (left.back() != ',') refuse("Layout: Invalid left side (" + text + ")");
      left.pop_back();
    }
    if (!right.empty()) {
      if (right.front() != ',') refuse("Layout: Invalid right side (" + text + ")");
      right.erase(0, 1);
    }
    if (!left.empty()) left_ = parse_list(left);
    if (!right.empty()) right_ = parse_list(right);
  }
  check_distinct(left_, right_);
}

bool Layout::has_name(const std::string& dimension_name) const {
  const std::string name = canonical(dimension_name);
  return !name.empty() && (std::find(left_.begin(), left_.end(), name) != left_.end() ||
                           std::find(right_.begin(), right_.end(), name) != right_.end());
}

std::int64_t Layout::get_index_by_name(const std::string& dimension_name) const {
  if (!has_name(dimension_name)) refuse(dimension_name + " dimension index is not defined in layout " + to_string());
  const std::string name = canonical(dimension_name);
  const auto left = std::find(left_.begin(), left_.end(), name);
  if (left != left_.end()) return left - left_.begin();
  return std::find(right_.begin(), right_.end(), name) - right_.end();
}

std::string Layout::to_string() const {
  if (scalar_) return kScalar;
  std::string text = "[";
  const auto add = [&](const std::string& name) {
    if (text.size() > 1) text += ",";
    text += name.empty() ? "?" : name;
  };
  for (const std::string& name : left_) add(name);
  if (dynamic_) add("...");
  for (const std::string& name : right_) add(name);
  return text + "]";
}

Layout LayoutAxes::fixed(const Layout& layout, const Rank& rank) {
  if (!layout.dynamic_) return layout;
  if (rank.is_dynamic()) refuse("Conversion is not supported for dynamic layouts with fully dynamic shapes");
  const auto length = static_cast<std::size_t>(rank.get_length());
  const std::size_t named = layout.left_.size() + layout.right_.size();
  if (named > length)
    refuse("Layout " + layout.to_string() + " has more dimensions than a shape of rank " + std::to_string(length));
  Layout result = layout;
  result.dynamic_ = false;
  result.left_.resize(length - layout.right_.size());
  result.left_.insert(result.left_.end(), layout.right_.begin(), layout.right_.end());
  result.right_.clear();
  return result;
}

Layout LayoutAxes::permuted(const Layout& layout, const std::vector<std::uint64_t>& order) {
  std::vector<bool> used(order.size(), false);
  for (std::uint64_t axis : order) {
    if (axis >= order.size()) refuse("Convert layout: dimension " + std::to_string(axis) + " is out of bounds");
    if (used[axis])
      refuse("Convert layout: dimension " + std::to_string(axis) + " is used more than once in convert arguments");
    used[axis] = true;
  }
  if (layout.empty()) return layout;
  if (layout.dynamic_)
    refuse("Layout conversion by indexes is not supported for dynamic layout: " + layout.to_string());
  if (layout.left_.size() != order.size())
    refuse("Convert layout: " + std::to_string(order.size()) + " dimensions are given for layout " +
           layout.to_string());
  Layout result = layout;
  for (std::size_t i = 0; i < order.size(); ++i) result.left_[i] = layout.left_[order[i]];
  return result;
}

std::vector<std::int64_t> LayoutAxes::order(const Layout& from, const PartialShape& shape, const Layout& to) {
  if (from == to || from.empty() || to.empty()) return {};
  const std::vector<std::string> src = fixed(from, shape.rank()).left_, dst = fixed(to, shape.rank()).left_;
  if (src.size() != dst.size())
    refuse("Conversion is not supported for layouts with different sizes, " + from.to_string() + " <-> " +
           to.to_string());
  if (shape.rank().is_static() && src.size() != shape.size())
    refuse("Conversion layout " + from.to_string() + " <-> " + to.to_string() +
           " failure. Layout is not consistent with input shape " + shape.to_string() + ". Layout length " +
           std::to_string(src.size()) + " shall match with input shape rank " + std::to_string(shape.size()));
  const auto named = [](const std::vector<std::string>& names) {
    return names.size() - static_cast<std::size_t>(std::count(names.begin(), names.end(), std::string()));
  };
  // The names in the layout with fewer names must all be in the other; unnamed axes fill the rest, in order.
  const bool less = named(src) <= named(dst);
  const auto& few = less ? src : dst;
  const auto& many = less ? dst : src;
  std::vector<std::int64_t> partner(many.size(), -1);  // For each axis of `many`, the axis of `few`.
  std::vector<bool> taken(few.size(), false);
  for (std::size_t i = 0; i < few.size(); ++i) {
    if (few[i].empty()) continue;
    const auto found = std::find(many.begin(), many.end(), few[i]);
    if (found == many.end())
      refuse("Dimension name '" + few[i] + "' is not found in layout: " + (less ? to : from).to_string());
    partner[static_cast<std::size_t>(found - many.begin())] = static_cast<std::int64_t>(i);
    taken[i] = true;
  }
  std::size_t next = 0;
  for (std::int64_t& axis : partner) {
    if (axis >= 0) continue;
    while (taken[next]) ++next;
    taken[next] = true;
    axis = static_cast<std::int64_t>(next);
  }
  std::vector<std::int64_t> result(partner);
  if (!less) {
    for (std::size_t i = 0; i < partner.size(); ++i)
      result[static_cast<std::size_t>(partner[i])] = static_cast<std::int64_t>(i);
  }
  bool moves = false;
  for (std::size_t i = 0; i < result.size(); ++i) moves |= result[i] != static_cast<std::int64_t>(i);
  return moves ? result : std::vector<std::int64_t>();
}

std::pair<PartialShape, Layout> LayoutAxes::without_missing(const Layout& from, const PartialShape& shape,
                                                            const Layout& to) {
  if (from.dynamic_ || to.dynamic_ || from.left_.size() <= to.left_.size()) return {shape, from};
  const auto check_full = [&](const Layout& layout, const char* what) {
    if (std::count(layout.left_.begin(), layout.left_.end(), std::string()) > 0)
      refuse("Layout conversion " + to.to_string() + " <-> " + from.to_string() +
             " is not supported. Please use fully specified " + what + " layout, current is " + layout.to_string());
  };
  check_full(from, "model");
  check_full(to, "tensor");
  const bool known = shape.rank().is_static();
  if (known && shape.size() != from.left_.size())
    refuse("Model input layout " + from.to_string() + " is inconsistent with input shape " + shape.to_string() +
           ". Layout and shape shall have same rank, got " + std::to_string(from.left_.size()) +
           " != " + std::to_string(shape.size()));
  Layout layout = to;
  layout.left_.clear();
  std::vector<Dimension> extents;
  for (std::size_t axis = 0; axis < from.left_.size(); ++axis) {
    if (!to.has_name(from.left_[axis])) continue;
    layout.left_.push_back(from.left_[axis]);
    if (known) extents.push_back(shape[axis]);
  }
  if (layout.left_.size() != to.left_.size()) {
    std::string missing;
    for (const std::string& name : to.left_) {
      if (!from.has_name(name)) missing += "'" + name + "' ";
    }
    refuse("Layout conversion failed. Tensor layout" + to.to_string() + " has dimensions missing in model layout " +
           from.to_string() + ". Missing dimensions are ( " + missing + ")");
  }
  return {known ? PartialShape(std::move(extents)) : PartialShape::dynamic(), layout};
}

std::pair<Layout, std::size_t> LayoutAxes::with_missing(const Layout& from, const Layout& to) {
  if (from.dynamic_ || to.dynamic_ || from.left_.size() >= to.left_.size()) return {from, 0};
  Layout layout = from;
  layout.left_.clear();
  for (const std::string& name : to.left_) {
    if (name.empty() || !from.has_name(name)) layout.left_.push_back(name);
  }
  const std::size_t count = layout.left_.size();
  layout.left_.insert(layout.left_.end(), from.left_.begin(), from.left_.end());
  if (layout.left_.size() != to.left_.size())
    refuse("Conversion is not supported for layouts with different sizes, " + from.to_string() + " <-> " +
           to.to_string());
  return {layout, count};
}

bool LayoutAxes::fits(const Layout& layout, const PartialShape& shape) {
  if (shape.rank().is_dynamic()) return true;
  const std::size_t named = layout.left_.size() + layout.right_.size();
  return layout.dynamic_ ? shape.size() >= named : shape.size() == named;
}

namespace layout {

bool has_batch(const Layout& layout) { return layout.has_name("N"); }
bool has_channels(const Layout& layout) { return layout.has_name("C"); }
bool has_depth(const Layout& layout) { return layout.has_name("D"); }
bool has_height(const Layout& layout) { return layout.has_name("H"); }
bool has_width(const Layout& layout) { return layout.has_name("W"); }
std::int64_t batch_idx(const Layout& layout) { return layout.get_index_by_name("N"); }
std::int64_t channels_idx(const Layout& layout) { return layout.get_index_by_name("C"); }
std::int64_t depth_idx(const Layout& layout) { return layout.get_index_by_name("D"); }
std::int64_t height_idx(const Layout& layout) { return layout.get_index_by_name("H"); }
std::int64_t width_idx(const Layout& layout) { return layout.get_index_by_name("W"); }

void set_layout(Output<Node> output, const Layout& layout) {
  if (!is_op(output.get_node(), "Parameter") && !is_op(output.get_node(), "Result"))
    refuse("Layout can be set only for Parameter and Result operations, not for " + output.get_node()->describe());
  if (layout.empty()) {
    output.get_rt_info().erase(kKey);
    return;
  }
  if (!LayoutAxes::fits(layout, output.get_partial_shape()))
    refuse("Can't set layout for Parameter/Result " + output.get_node()->describe() + ": layout " + layout.to_string() +
           " is not compatible with shape " + output.get_partial_shape().to_string());
  output.get_rt_info()[kKey] =
      AnyMap{{"name", std::string("layout")}, {"version", std::string("0")}, {"layout", layout.to_string()}};
}

Layout get_layout(const Output<const Node>& output) {
  const auto found = output.get_rt_info().find(kKey);
  if (found == output.get_rt_info().end() || !found->second.is<AnyMap>()) return {};
  const AnyMap values = found->second.as<AnyMap>();
  const auto text = values.find("layout");
  return text == values.end() ? Layout() : Layout(text->second.to_text());
}
Layout get_layout(const Output<Node>& output) { return get_layout(Output<const Node>(output)); }

}  // namespace layout

}  // namespace v1
}  // namespace tenon
