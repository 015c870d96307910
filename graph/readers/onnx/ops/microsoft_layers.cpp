// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime's own domain: operations that ONNX has in another form or lacks, and layers of diffusion models.
#include <tenon/graph/readers/onnx/internal/onnx.hpp>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

namespace {

// --- forms of the standard's ------------------------------------------------------------------------------------------

/// The standard's operation of the same name, as of set `kOpset`.
template <std::int64_t kOpset>
OutputVector as_standard(const NodeContext& node) {
  OutputVector inputs;
  for (std::size_t i = 0; i < node.input_count(); ++i) inputs.push_back(node.has_input(i) ? node.input(i) : Out());
  return converters().at(":" + node.op_type())(node.with(std::move(inputs), kOpset));
}

// data, pads as [2 * rank] or [1, 2 * rank], value
OutputVector microsoft_pad(const NodeContext& node) {
  return converters().at(":Pad")(
      node.with({node.input(0), reshape(node.input(1), Ints{-1}), node.has_input(2) ? node.input(2) : Out()}, 18));
}

// The values in the order in which they first occur, the place of each element among them, and how often each occurs.
OutputVector microsoft_unique(const NodeContext& node) {
  const OutputVector made =
      ops("Unique", 10, {node.input(0)},
          {{"sorted", false}, {"index_element_type", ElementType::kI64}, {"count_element_type", ElementType::kI64}});
  return {made[0], made[2], made[3]};
}

OutputVector expand_dims(const NodeContext& node) {
  return {op("Unsqueeze", 1, {node.input(0), convert(reshape(node.input(1), Ints{1}), ElementType::kI64)})};
}

OutputVector inverses(const NodeContext& node) { return {op("Inverse", 14, {node.input(0)}, {{"adjoint", false}})}; }

// The distances between the rows of two matrices. Differences are squared one by one: the sum of squares less the product
// loses the distance of close rows.
OutputVector cdist(const NodeContext& node) {
  const std::string metric = node.get_string("metric", "sqeuclidean");
  if (metric != "euclidean" && metric != "sqeuclidean")
    unimplemented("metric \"" + metric + "\" is not written out; euclidean and sqeuclidean are");
  const Out difference = sub(unsqueeze(node.input(0), {1}), unsqueeze(node.input(1), {0}));
  const Out squares = reduce("ReduceSum", mul(difference, difference), ints({2}), false);
  return {metric == "euclidean" ? unary("Sqrt", squares) : squares};
}

// --- diffusion models -------------------------------------------------------------------------------------------------

OutputVector bias_add(const NodeContext& node) { return {add(add(node.input(0), node.input(1)), node.input(2))}; }

// The left half times the Gelu of the right one.
OutputVector bias_split_gelu(const NodeContext& node) {
  const OutputVector halves = ops("Split", 1, {add(node.input(0), node.input(1)), int_scalar(-1)}, {{"num_splits", 2}});
  return {mul(halves[0], op("Gelu", 7, {halves[1]}, {{"approximation_mode", "ERF"}}))};
}

Out group_norm_of(const NodeContext& node, const Out& x) {
  const std::int64_t rank = node.rank(0), groups = node.get_int("groups");
  if (rank < 3 || groups < 1)
    fail("groups is " + std::to_string(groups) + " for an input of rank " + std::to_string(rank));
  const bool is_last = node.get_int("channels_last", 1) != 0;
  // The parameters may be wider than the picture.
  const ElementType type = node.type(1), own = x.get_element_type();
  const Out picture = convert(is_last ? transpose(x, channels_first(rank)) : x, type);
  Out y = op("GroupNormalization", 12, {picture, node.input(1), node.input(2)},
             {{"num_groups", groups}, {"epsilon", node.get_float("epsilon", 1e-5)}});
  const std::int64_t activation = node.get_int("activation", 0);
  if (activation != 0 && activation != 1)
    fail("activation is " + std::to_string(activation) + ", expected 0 for none or 1 for SiLU");
  if (activation == 1) y = op("Swish", 4, {y});
  y = convert(y, own);
  return is_last ? transpose(y, channels_last(rank)) : y;
}

OutputVector group_norm(const NodeContext& node) { return {group_norm_of(node, node.input(0))}; }

// x, gamma, beta, skip as x or one value per picture and channel, bias; y, the sum
OutputVector skip_group_norm(const NodeContext& node) {
  const bool is_last = node.get_int("channels_last", 1) != 0;
  const std::int64_t rank = node.rank(0);
  Out skip = node.input(3);
  if (node.rank(3) == 2 && rank > 2) {
    Ints axes;
    for (std::int64_t axis = is_last ? 1 : 2; axis < (is_last ? rank - 1 : rank); ++axis) axes.push_back(axis);
    skip = unsqueeze(skip, axes);
  }
  Out sum = add(node.input(0), skip);
  if (node.has_input(4)) sum = add(sum, is_last ? node.input(4) : per_channel(node.input(4), sum));
  return {group_norm_of(node, sum), sum};
}

// --- crops -------------------------------------------------------------------------------------------------------------

/// Places along one axis of an image: f32 [crops, count], in pixels.
struct Places {
  Out at, inside, last;

  Places(const Out& begin, const Out& end, const Out& extent, const Out& count) {
    const auto real = [](double value) { return scalar(ElementType::kF32, value); };
    const Out steps = convert(range(int_scalar(0), count, int_scalar(1), ElementType::kI64), ElementType::kF32);
    last = convert(sub(extent, int_scalar(1)), ElementType::kF32);
    const Out gaps = convert(op("Maximum", 1, {sub(count, int_scalar(1)), int_scalar(1)}), ElementType::kF32);
    const Out step = div(mul(sub(end, begin), last), gaps);
    const Out spread = add(mul(begin, last), mul(step, unsqueeze(steps, {0})));
    // A single place is in the middle.
    const Out middle = mul(mul(add(begin, end), real(0.5)), last);
    at = select(op("Greater", 1, {count, int_scalar(1)}), spread, middle);
    inside = op("LogicalAnd", 1, {op("GreaterEqual", 1, {at, real(0)}), op("LessEqual", 1, {at, last})});
  }

  /// The index of a pixel, within the image.
  Out pixel(const Out& place) const {
    const Out bounded = op("Minimum", 1, {op("Maximum", 1, {place, scalar(ElementType::kF32, 0)}), last});
    return convert(bounded, ElementType::kI64);
  }
};

// x [n, channels, height, width], rois: y1, x1, y2, x2 as parts of the last pixel's place, batch_indices, crop_size
OutputVector crop_and_resize(const NodeContext& node) {
  const std::string mode = node.get_string("mode", "bilinear");
  if (mode != "bilinear" && mode != "nearest") fail("mode \"" + mode + "\" is neither bilinear nor nearest");
  if (node.rank(0) != 4) fail("input 0 has rank " + std::to_string(node.rank(0)) + ", expected 4");
  const Out& x = node.input(0);
  const Out rois = convert(node.input(1), ElementType::kF32), sizes = convert(node.input(3), ElementType::kI64);
  const auto corner = [&](std::int64_t index) { return slice(rois, index, index + 1, 1); };
  const auto size = [&](std::int64_t index) {
    return op("Gather", 8, {sizes, int_scalar(index), int_scalar(0)}, {{"batch_dims", 0}});
  };
  const Out height = extent_of(x, 2), width = extent_of(x, 3);
  const Places rows(corner(0), corner(2), height, size(0)), columns(corner(1), corner(3), width, size(1));
  // One row of channels for each pixel of all images.
  const Out pixels = reshape(transpose(x, {0, 2, 3, 1}), concat({ints({-1}), slice(shape_of(x), 1, 2, 0)}, 0));
  const Out first = reshape(mul(convert(node.input(2), ElementType::kI64), mul(height, width)), Ints{-1, 1, 1});
  const auto at = [&](const Out& y_place, const Out& x_place) {
    const Out row = unsqueeze(rows.pixel(y_place), {2}), column = unsqueeze(columns.pixel(x_place), {1});
    const Out taken =
        op("Gather", 8, {pixels, add(add(first, mul(row, width)), column), int_scalar(0)}, {{"batch_dims", 0}});
    return convert(taken, ElementType::kF32);
  };
  Out made;
  if (mode == "nearest") {
    const auto round = [](const Out& place) { return op("Round", 5, {place}, {{"mode", "half_away_from_zero"}}); };
    made = at(round(rows.at), round(columns.at));
  } else {
    const auto floor = [](const Out& place) { return unary("Floor", place); };
    const auto ceiling = [](const Out& place) { return unary("Ceiling", place); };
    const auto between = [](const Out& a, const Out& b, const Out& share) { return add(a, mul(sub(b, a), share)); };
    const Out top = floor(rows.at), bottom = ceiling(rows.at), left = floor(columns.at), right = ceiling(columns.at);
    const Out down = unsqueeze(sub(rows.at, top), {2, 3}), along = unsqueeze(sub(columns.at, left), {1, 3});
    made = between(between(at(top, left), at(top, right), along), between(at(bottom, left), at(bottom, right), along),
                   down);
  }
  const Out inside = op("LogicalAnd", 1, {unsqueeze(rows.inside, {2, 3}), unsqueeze(columns.inside, {1, 3})});
  made = select(inside, made, scalar(ElementType::kF32, node.get_float("extrapolation_value", 0)));
  return {transpose(convert(made, x.get_element_type()), {0, 3, 1, 2})};
}

}  // namespace

void add_microsoft_layers(ConverterTable& table) {
  const auto microsoft = [&](const char* name) -> Converter& { return table[std::string("com.microsoft:") + name]; };
  microsoft("GatherND") = as_standard<13>;
  microsoft("GridSample") = as_standard<16>;
  microsoft("Trilu") = as_standard<14>;
  microsoft("Pad") = microsoft_pad;
  microsoft("Unique") = microsoft_unique;
  microsoft("ExpandDims") = expand_dims;
  microsoft("Inverse") = inverses;
  microsoft("CDist") = cdist;
  microsoft("BiasAdd") = bias_add;
  microsoft("BiasSplitGelu") = bias_split_gelu;
  microsoft("GroupNorm") = group_norm;
  microsoft("SkipGroupNorm") = skip_group_norm;
  microsoft("CropAndResize") = crop_and_resize;
}

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
