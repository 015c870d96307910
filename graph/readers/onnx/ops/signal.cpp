// SPDX-License-Identifier: Apache-2.0
// ONNX: Fourier transforms as products with matrices of cosines and sines.
#include <numbers>

#include <tenon/graph/readers/onnx/internal/onnx.hpp>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

namespace {

/// cos and sin of 2 pi k n / length, [length, outputs]. Angles are in f64 and reduced to one turn, so that large ones
/// stay exact.
struct Waves {
  Out cosine, sine;
};

Waves waves(const Out& length, const Out& inputs, const Out& outputs, ElementType type) {
  const auto steps = [](const Out& count) { return range(int_scalar(0), count, int_scalar(1), ElementType::kI64); };
  const Out turns = op("FloorMod", 1, {mul(unsqueeze(steps(inputs), {1}), unsqueeze(steps(outputs), {0})), length});
  const Out angle = div(mul(convert(turns, ElementType::kF64), scalar(ElementType::kF64, 2 * std::numbers::pi)),
                        convert(length, ElementType::kF64));
  return {convert(unary("Cos", angle), type), convert(unary("Sin", angle), type)};
}

// Transforms the second-to-last axis of x [..., n, 1 or 2], cut or zero-padded to `length`; sign -1 is the forward
// transform.
Out transform(const Out& x, const Dimension& components, const Out& length, bool inverse, bool onesided) {
  const std::int64_t rank = x.get_partial_shape().rank().get_length();
  if (components.is_static() && components != Dimension(1) && components != Dimension(2)) {
    fail("the last extent is " + components.to_string() + ", expected 1 (real) or 2 (complex)");
  }
  const ElementType type = x.get_element_type();
  const Out used = op("Minimum", 1, {extent_of(x, rank - 2), length});
  Out cut = op("Slice", 8, {x, ints({0}), reshape(used, Ints{1}), ints({1}), ints({rank - 2})});
  if (components.is_dynamic()) {
    // Numbers that turn out to be real get imaginary parts of 0.
    const Ints none(static_cast<std::size_t>(rank), 0), others(static_cast<std::size_t>(rank - 1), 0);
    const Out missing = sub(int_scalar(2), extent_of(x, rank - 1));
    cut = op("Pad", 12, {cut, ints(none), concat({ints(others), reshape(missing, Ints{1})}, 0), scalar(type, 0)},
             {{"pad_mode", "constant"}});
  }
  const Out outputs = onesided ? add(div(length, int_scalar(2)), int_scalar(1)) : length;
  const Waves w = waves(length, used, outputs, type);
  // Moves the transformed axis to the end for the product.
  const auto component = [&](std::int64_t index) {
    return squeeze(slice(cut, index, index + 1, rank - 1), {rank - 1});
  };
  const Out re = component(0), sign = scalar(type, inverse ? 1 : -1);
  Out real = precise(matmul(re, w.cosine)), imaginary = mul(precise(matmul(re, w.sine)), sign);
  if (components != Dimension(1)) {
    const Out im = component(1);
    real = sub(real, mul(precise(matmul(im, w.sine)), sign));
    imaginary = add(imaginary, precise(matmul(im, w.cosine)));
  }
  if (inverse) {
    real = div(real, convert(length, type));
    imaginary = div(imaginary, convert(length, type));
  }
  return concat({unsqueeze(real, {rank - 1}), unsqueeze(imaginary, {rank - 1})}, rank - 1);
}

// The real signal with the first half of frequencies x [..., length / 2 + 1, 2]. Each frequency counts twice, except
// the first and, for an even length, the middle one.
Out real_inverse(const Out& x, const Out& length) {
  const std::int64_t rank = x.get_partial_shape().rank().get_length();
  const ElementType type = x.get_element_type();
  const Out half = add(div(length, int_scalar(2)), int_scalar(1)),
            used = op("Minimum", 1, {extent_of(x, rank - 2), half});
  const Out cut = op("Slice", 8, {x, ints({0}), reshape(used, Ints{1}), ints({1}), ints({rank - 2})});
  const Waves w = waves(length, used, length, type);
  const Out place = range(int_scalar(0), used, int_scalar(1), ElementType::kI64);
  const Out is_single =
      op("LogicalOr", 1, {op("Equal", 1, {place, int_scalar(0)}), op("Equal", 1, {mul(place, int_scalar(2)), length})});
  const Out weight = div(select(is_single, scalar(type, 1), scalar(type, 2)), convert(length, type));
  const auto component = [&](std::int64_t index) {
    return precise(mul(squeeze(slice(cut, index, index + 1, rank - 1), {rank - 1}), weight));
  };
  return unsqueeze(sub(precise(matmul(component(0), w.cosine)), precise(matmul(component(1), w.sine))), {rank - 1});
}

Out along_second_to_last(const NodeContext& node, const Out& x) {
  const std::int64_t rank = node.rank(0);
  if (node.get_int("inverse", 0) != 0 && node.get_int("onesided", 0) != 0) {
    const Dimension components = dimension_of(node.input(0), -1);
    if (components.is_static() && components != Dimension(2))
      fail("the last extent is " + components.to_string() + ", expected 2 (complex)");
    const Out twice = mul(sub(extent_of(x, rank - 2), int_scalar(1)), int_scalar(2));
    return real_inverse(x, node.has_input(1) ? convert(reshape(node.input(1), Ints{}), ElementType::kI64) : twice);
  }
  const Out length =
      node.has_input(1) ? convert(reshape(node.input(1), Ints{}), ElementType::kI64) : extent_of(x, rank - 2);
  return transform(x, dimension_of(node.input(0), -1), length, node.get_int("inverse", 0) != 0,
                   node.get_int("onesided", 0) != 0);
}

// Swaps the axis with the second-to-last, and back, by an order that is computed.
Out along_computed_axis(const NodeContext& node, std::int64_t rank) {
  const Out order = order_swapping(node.input(2), rank - 2, rank);
  return op("Transpose", 1, {along_second_to_last(node, op("Transpose", 1, {node.input(0), order})), order});
}

OutputVector dft(const NodeContext& node) {
  const Out& x = node.input(0);
  const std::int64_t rank = node.rank(0);
  if (rank < 2) fail("the input has rank " + std::to_string(rank) + ", expected at least 2");
  std::int64_t axis = node.get_int("axis", 1);
  if (node.opset() >= 20) {
    // An input since 20, which may be known only when the model runs.
    if (node.has_input(2) && !node.known_ints(2)) return {along_computed_axis(node, rank)};
    const Ints axes = node.has_input(2) ? node.constant_ints(2, "axis") : Ints{-2};
    if (axes.size() != 1) fail("axis has " + std::to_string(axes.size()) + " values, expected 1");
    axis = axes[0];
  }
  axis = normalized_axis(axis, rank);
  if (axis == rank - 1) fail("the transformed axis cannot be the last, which holds real and imaginary part");
  // Swaps the axis with the second-to-last, and back.
  Ints order;
  for (std::int64_t i = 0; i < rank; ++i) order.push_back(i);
  std::swap(order[static_cast<std::size_t>(axis)], order[static_cast<std::size_t>(rank - 2)]);
  const bool moves = axis != rank - 2;
  const Out moved = moves ? transpose(x, order) : x;
  const Out y = along_second_to_last(node, moved);
  return {moves ? transpose(y, order) : y};
}

// Frames of the signal every frame_step, times the window, transformed.
OutputVector stft(const NodeContext& node) {
  // torch.stft exports [batch, length]: real numbers without an axis for components.
  const std::int64_t rank = node.rank(0);
  if (rank != 2 && rank != 3) fail("the signal has rank " + std::to_string(rank) + ", expected 2 or 3");
  const Out signal = rank == 2 ? unsqueeze(node.input(0), {2}) : node.input(0);
  const ElementType type = signal.get_element_type();
  const Out step = convert(reshape(node.input(1), Ints{}), ElementType::kI64);
  Out length;
  if (node.has_input(3))
    length = convert(reshape(node.input(3), Ints{}), ElementType::kI64);
  else if (node.has_input(2))
    length = extent_of(node.input(2), 0);
  else
    fail("has neither window nor frame_length");
  const auto steps = [](const Out& count) { return range(int_scalar(0), count, int_scalar(1), ElementType::kI64); };
  const Out frames = add(div(sub(extent_of(signal, 1), length), step), int_scalar(1));
  const Out positions = add(mul(unsqueeze(steps(frames), {1}), step), unsqueeze(steps(length), {0}));
  Out framed =
      op("Gather", 8, {signal, positions, int_scalar(1)}, {{"batch_dims", 0}});  // [batch, frames, length, 1 or 2]
  if (node.has_input(2)) framed = precise(mul(framed, reshape(convert(node.input(2), type), Ints{-1, 1})));
  return {transform(framed, dimension_of(signal, 2), length, false, node.get_int("onesided", 1) != 0)};
}

}  // namespace

void add_signal(ConverterTable& table) {
  table[":DFT"] = dft;
  table[":STFT"] = stft;
}

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
