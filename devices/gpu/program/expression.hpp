// SPDX-License-Identifier: Apache-2.0
// Element-wise functions as trees: what a kernel computes for each element of its result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/small_vector.hpp>
#include <tenon/devices/gpu/program/types.hpp>
#include <tenon/devices/gpu/program/view_source.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/planning/buffer_slices.hpp>

namespace tenon::inline v1::gpu_device {

using Extents = SmallVector<std::int64_t, 6>;

/// An array in memory: where it begins, and how far its neighbours are apart. Strides in elements; 0 repeats.
struct View {
  planning::BufferSlice place;  ///< Offset in bytes.
  ElementType type = ElementType::kUndefined;
  Shape shape;
  Extents strides;
  /// Null: plain memory. Else offset and strides count as if the source were packed, kernels read by NAME(i) alone, and
  /// no kernel writes there.
  ViewSourceRef source = nullptr;
  /// Reals that lie as 8-bit numbers, and what these mean: kernels read and write reals by their macros. `type` is the numbers'.
  std::optional<planning::Quantization> numbers = std::nullopt;

  /// What kernels read and write there.
  ElementType value_type() const { return numbers ? ElementType::kF32 : type; }
  bool is_packed() const;
  /// Whether elements along some axis are the same one.
  bool repeats() const;
  /// Bytes from the first element to the last, included.
  std::size_t extent_bytes() const;
  friend bool operator==(const View&, const View&) = default;
};

/// Row-major strides.
Extents packed_strides(const Shape& shape);
/// The axes of a view, the one whose neighbours are furthest apart first.
std::vector<std::size_t> axes_by_stride(const View& view);
/// Without gaps, the axes in the same order in memory as those of a view.
Extents packed_as(const View& view);
/// The strides of [N, C, ...] with channels last: the channels of a place are neighbours, and places follow each other in row-major order.
Extents channels_last_strides(const Shape& shape);
/// Whether a view [N, C, ...] lies so; pixels may be further apart than their channels need.
bool is_channels_last(const View& view);
/// The view with other extents, if its elements lie so that no copy is needed.
/// @return false else; `view` is unchanged.
bool reshape(View& view, const Shape& shape);
/// Axis i of the result is axis order[i] of the view.
View transposed(const View& view, const std::vector<std::size_t>& order);
/// Repeats axes of extent 1, and adds axes in front, as NumPy's broadcasting does. @pre the shapes agree.
View broadcast(const View& view, const Shape& shape);

class Expression;
using ExpressionRef = std::shared_ptr<const Expression>;

/// A tree over views of one shape. Immutable; parts are shared.
class Expression {
 public:
  /// The elements of a view.
  static ExpressionRef load(const View& view);
  static ExpressionRef number(ElementType type, double value);
  /// What the kernel has computed so far: the sum of a product. At most one in a tree. @param is_second  The other one,
  /// where a kernel computes two values for each element; each of them is there at most once.
  static ExpressionRef computed(ElementType type, bool is_second = false);
  /// @param text  With $0, $1... for the operands.
  static ExpressionRef call(ElementType type, std::string text, std::vector<ExpressionRef> operands);

  ElementType type() const { return type_; }
  const std::vector<ExpressionRef>& operands() const { return operands_; }
  /// Null unless it loads.
  const View* view() const { return kind_ == Kind::kLoad ? &view_ : nullptr; }
  bool is_computed() const { return kind_ == Kind::kComputed; }
  bool is_second() const { return is_second_; }
  /// The number of nodes in the whole tree; shared parts are counted each time.
  std::size_t size() const { return size_; }
  std::size_t loads() const { return loads_; }
  bool has_computed() const { return has_computed_; }
  const std::string& text() const { return text_; }

 private:
  enum class Kind : std::uint8_t { kLoad, kNumber, kComputed, kCall };
  Kind kind_ = Kind::kCall;
  ElementType type_ = ElementType::kUndefined;
  std::string text_;
  std::vector<ExpressionRef> operands_;
  View view_;
  std::size_t size_ = 1, loads_ = 0;
  bool has_computed_ = false, is_second_ = false;
};

/// Another type's value of the same tree.
ExpressionRef convert(const ExpressionRef& value, ElementType type);
/// The same for a store, whose macros round.
ExpressionRef as_stored(const ExpressionRef& value, ElementType type);

/// The tree with other views in its loads. @param change  Changes one view; false: it cannot be changed.
/// @return null if one cannot be changed.
ExpressionRef with_views(const ExpressionRef& root, const std::function<bool(View&)>& change);

/// What a tree only loads, as it is or as another real type; null: it does something else.
const View* loaded_view(const ExpressionRef& root);
/// The tree over the second of two values that a kernel computes, which was over the only one.
ExpressionRef of_second(const ExpressionRef& root);

/// All loads of a tree, each once, in the order in which statements() meets them.
std::vector<ExpressionRef> loads_of(const ExpressionRef& root);

/// The statements that compute a tree, one constant a line, and the name of the last.
/// @param load  The text of a load: `index` is its number in loads_of().
/// @param computed  The text of what the kernel has computed; the second value's is `second`.
/// @param lanes  "16": of vectors of so many; empty: of single elements.
struct Statements {
  std::string lines, value;
};
Statements statements(const ExpressionRef& root, const std::function<std::string(std::size_t index)>& load,
                      const std::string& computed, const std::string& lanes = {});

/// Whether the same text computes vectors of f32, each lane by itself.
bool is_lane_wise(const Expression& root);

/// The operation table's expression of an element-wise node over values of `type`, with $0, $1... for its inputs; empty
/// if the node has none that is right for that type.
std::string expression_text(const Node& node, ElementType type);

}  // namespace tenon::inline v1::gpu_device
