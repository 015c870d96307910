// SPDX-License-Identifier: Apache-2.0
// ONNX: reductions, extremes along an axis, running sums.
#include <tenon/graph/readers/onnx/internal/onnx.hpp>

#include <limits>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

namespace {

bool is_known_empty(const Out& x) {
  const PartialShape& shape = x.get_partial_shape();
  return shape.rank() == Rank(1) && shape[0] == Dimension(0);
}

struct Reduction {
  Out x;
  Out axes;
  bool keep_dims;
  bool is_identity;  // No axes, and the node says that this means "none".
};

/// The axes of an input. A list that turns out to be empty means all, unless the node says "none".
Out given_axes(const NodeContext& node) {
  const Out given = convert(node.input(1), ElementType::kI64);
  const PartialShape& shape = given.get_partial_shape();
  const bool may_be_empty = shape.rank().is_dynamic() || (shape.size() == 1 && shape[0].get_min_length() == 0);
  if (!may_be_empty || node.get_int("noop_with_empty_axes", 0) != 0) return given;
  const Out& x = node.input(0);
  const Out axes = reshape(given, Ints{-1}), count = shape_of(axes), rank = reshape(rank_of(x), Ints{1});
  const Out taken = select(op("Equal", 1, {count, int_scalar(0)}), rank, count);
  return op("Slice", 8, {concat({axes, all_axes(x)}, 0), ints({0}), taken, ints({1}), ints({0})});
}

// Axes are an attribute in old versions, later an input (Sum since 13, the others since 18); none means all.
Reduction arguments(const NodeContext& node) {
  Reduction r{node.input(0), {}, node.get_int("keepdims", 1) != 0, false};
  const bool has_input = node.has_input(1) && !is_known_empty(node.input(1));
  const bool has_attribute = node.has("axes") && !node.get_ints("axes").empty();
  if (has_input)
    r.axes = given_axes(node);
  else if (has_attribute)
    r.axes = ints(node.get_ints("axes"));
  else if (node.get_int("noop_with_empty_axes", 0) != 0)
    r.is_identity = true;
  else
    r.axes = all_axes(r.x);
  return r;
}

double largest_finite(ElementType type) {
  if (type == ElementType::kF64) return std::numeric_limits<double>::max();
  return type == ElementType::kF16 ? 65504 : type == ElementType::kBf16 ? 0x1.FEp127 : 0x1.FFFFFEp127;
}

Out reduced(const Reduction& r, const char* type, const Out& x) {
  return r.is_identity ? x : reduce(type, x, r.axes, r.keep_dims);
}

template <int kIndex>
OutputVector plain(const NodeContext& node) {
  static constexpr const char* kTypes[] = {"ReduceSum", "ReduceMean", "ReduceProd"};
  const Reduction r = arguments(node);
  return {reduced(r, kTypes[kIndex], r.x)};
}

// The norm of each element by itself is its magnitude.
template <bool kSquares>
OutputVector norm(const NodeContext& node) {
  const Reduction r = arguments(node);
  return {r.is_identity ? unary("Abs", r.x) : reduce(kSquares ? "ReduceL2" : "ReduceL1", r.x, r.axes, r.keep_dims)};
}

// Booleans have their own reductions since version 20.
template <bool kMax>
OutputVector extreme(const NodeContext& node) {
  const Reduction r = arguments(node);
  if (r.x.get_element_type() == ElementType::kBool && !r.is_identity) {
    return {op(kMax ? "ReduceLogicalOr" : "ReduceLogicalAnd", 1, {r.x, r.axes}, {{"keep_dims", r.keep_dims}})};
  }
  return {reduced(r, kMax ? "ReduceMax" : "ReduceMin", r.x)};
}

OutputVector sum_square(const NodeContext& node) {
  const Reduction r = arguments(node);
  return {reduced(r, "ReduceSum", mul(r.x, r.x))};
}

// Integers are summed as they are; the logarithm is taken of reals, and cut to an integer again.
OutputVector log_sum(const NodeContext& node) {
  const Reduction r = arguments(node);
  const ElementType type = r.x.get_element_type();
  const Out sum = reduced(r, "ReduceSum", r.x);
  return {convert(unary("Log", info(type).is_real ? sum : convert(sum, ElementType::kF64)), type)};
}

// Relative to the maximum, so that the exponentials stay finite. An infinite maximum, also that of no elements, is
// replaced by the nearest finite number: the exponential of the difference is then infinite or 0, as it must be.
OutputVector log_sum_exp(const NodeContext& node) {
  const Reduction r = arguments(node);
  if (r.is_identity) return {r.x};
  const ElementType type = r.x.get_element_type();
  const Out x = info(type).is_real ? r.x : convert(r.x, ElementType::kF64);
  const double most = largest_finite(x.get_element_type());
  const Out top = op("Clamp", 1, {reduce("ReduceMax", x, r.axes, true)}, {{"min", -most}, {"max", most}});
  const Out sum = unary("Log", reduce("ReduceSum", unary("Exp", sub(x, top)), r.axes, r.keep_dims));
  return {convert(add(sum, r.keep_dims ? top : op("Squeeze", 1, {top, r.axes})), type)};
}

template <bool kMax>
OutputVector arg_extreme(const NodeContext& node) {
  const std::int64_t axis = normalized_axis(node.get_int("axis", 0), node.rank(0));
  Out x = node.input(0);
  const bool last = node.get_int("select_last_index", 0) != 0;
  const auto reversed = [&](const Out& value) {
    return op("Slice", 8,
              {value, ints({-1}), ints({std::numeric_limits<std::int64_t>::min()}), ints({-1}), ints({axis})});
  };
  // The last of equal elements is the first when read backwards.
  if (last) x = reversed(x);
  // A NaN is the extreme on either side, and TopK has it behind all numbers: the least number is the greatest negated.
  const bool is_negated = !kMax && info(x.get_element_type()).is_real;
  if (is_negated) x = unary("Negative", x);
  Out index = ops("TopK", 11, {x, int_scalar(1)},
                  {{"axis", axis},
                   {"mode", kMax || is_negated ? "max" : "min"},
                   {"sort", "value"},
                   {"stable", true},
                   {"index_element_type", ElementType::kI64}})[1];
  if (last) index = sub(sub(extent_of(x, axis), int_scalar(1)), index);
  return {node.get_int("keepdims", 1) != 0 ? index : squeeze(index, {axis})};
}

OutputVector top_k(const NodeContext& node) {
  const Out k = node.opset() < 10 ? int_scalar(node.get_int("k")) : reshape(node.input(1), Ints{});
  const bool largest = node.get_int("largest", 1) != 0, sorted = node.get_int("sorted", 1) != 0;
  return ops("TopK", 11, {node.input(0), k},
             {{"axis", node.get_int("axis", -1)},
              {"mode", largest ? "max" : "min"},
              {"sort", sorted ? "value" : "none"},
              {"stable", sorted},
              {"index_element_type", ElementType::kI64}});
}

OutputVector cum_sum(const NodeContext& node) {
  return {op("CumSum", 3, {node.input(0), reshape(node.input(1), Ints{})},
             {{"exclusive", node.get_int("exclusive", 0) != 0}, {"reverse", node.get_int("reverse", 0) != 0}})};
}

// Each element times those before it, by a triangle of factors: n * n numbers for an axis of n.
OutputVector cum_prod(const NodeContext& node) {
  const Out& x = node.input(0);
  const std::int64_t rank = node.rank(0);
  const bool exclusive = node.get_int("exclusive", 0) != 0, reverse = node.get_int("reverse", 0) != 0;
  if (const auto axes = node.known_ints(1)) normalized_axis(axes->empty() ? 0 : (*axes)[0], rank);
  const Out order = order_swapping(node.input(1), rank - 1, rank), moved = op("Transpose", 1, {x, order});
  const Out place = range(int_scalar(0), extent_of(moved, rank - 1), int_scalar(1), ElementType::kI64);
  const Out own = unsqueeze(place, {1}), other = unsqueeze(place, {0});
  const Out counts = exclusive ? op("Less", 1, reverse ? OutputVector{own, other} : OutputVector{other, own})
                               : op("LessEqual", 1, reverse ? OutputVector{own, other} : OutputVector{other, own});
  const Out factors = select(counts, unsqueeze(moved, {rank - 1}), scalar_like(x, 1));
  return {op("Transpose", 1, {reduce("ReduceProd", factors, ints({rank}), false), order})};
}

}  // namespace

void add_reductions(ConverterTable& table) {
  table[":CumProd"] = cum_prod;
  table[":ReduceSum"] = plain<0>;
  table[":ReduceMean"] = plain<1>;
  table[":ReduceProd"] = plain<2>;
  table[":ReduceL1"] = norm<false>;
  table[":ReduceL2"] = norm<true>;
  table[":ReduceMax"] = extreme<true>;
  table[":ReduceMin"] = extreme<false>;
  table[":ReduceSumSquare"] = sum_square;
  table[":ReduceLogSum"] = log_sum;
  table[":ReduceLogSumExp"] = log_sum_exp;
  table[":ArgMax"] = arg_extreme<true>;
  table[":ArgMin"] = arg_extreme<false>;
  table[":TopK"] = top_k;
  table[":CumSum"] = cum_sum;
}

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
