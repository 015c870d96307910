// SPDX-License-Identifier: Apache-2.0
// Rounding to 8 bits, and back.
#include <algorithm>
#include <cmath>

#include <tenon/tests/graphs/builder.hpp>

namespace tenon::graphs {

void Builder::rounding() {
  Item x = read(any());
  if (!x.is_real()) return make_real(x);
  if (x.bound > 100) x = {op1("Clamp", 1, {x.out}, {{"min", -8.0}, {"max", 8.0}}), 8};
  const double range = std::min(x.bound, 6.0), step = 2 * range / 255;
  switch (choices_.below(6)) {
    case 0:  // One range, symmetric or not.
    case 1: {
      const double zero = choices_.once_in(2) ? 128 : static_cast<double>(choices_.below(200));
      const Out low = number(-zero * step), high = number((255 - zero) * step);
      return add(op1("FakeQuantize", 1, {x.out, low, high, low, high}, {{"levels", std::int64_t{256}}}), range * 2);
    }
    case 2: {  // A range per index of some axis.
      const Shape shape = x.shape();
      const std::size_t axis = axis_of(shape);
      Shape narrow(shape.size(), 1);
      narrow[axis] = shape[axis];
      std::vector<double> low(shape[axis]), high(shape[axis]);
      for (std::size_t i = 0; i < low.size(); ++i) {
        low[i] = -range * (i % 2 ? 1 : 0.5);
        high[i] = low[i] + 255 * step;
      }
      const Out a = Constant::create(element::f32, narrow, low), b = Constant::create(element::f32, narrow, high);
      return add(
          op1("FakeQuantize", 1, {x.out, a, b, a, b}, {{"levels", std::int64_t{choices_.once_in(3) ? 16 : 256}}}),
          range * 2);
    }
    default: {  // As ONNX's QuantizeLinear, to numbers that may be moved before they are made real.
      const bool is_signed = choices_.once_in(2);
      const double zero = is_signed ? (choices_.once_in(2) ? 3 : 0) : 100 + static_cast<double>(choices_.below(60));
      Out y = op1("Round", 5, {op1("Divide", 1, {x.out, number(step)})}, {{"mode", "half_to_even"}});
      if (zero != 0) y = op1("Add", 1, {y, number(zero)});
      y = op1("Clamp", 1, {y}, {{"min", is_signed ? -128.0 : 0.0}, {"max", is_signed ? 127.0 : 255.0}});
      y = convert(y, is_signed ? ElementType::kI8 : ElementType::kU8);
      items_.push_back({y, range * 2, step, zero});
      if (choices_.once_in(3)) return;
      make_real(read(items_.back()));
      if (choices_.once_in(2)) make_real(read(items_[items_.size() - 2]));  // A second reader of the numbers.
    }
  }
}

Out Builder::rounded(const Out& x, double bound) {
  const double step = 2 * std::min(bound, 6.0) / 255;
  const double zero = choices_.once_in(2) ? 128 : static_cast<double>(choices_.below(200));
  const Out low = number(-zero * step), high = number((255 - zero) * step);
  return op1("FakeQuantize", 1, {x, low, high, low, high}, {{"levels", std::int64_t{256}}});
}

void Builder::between_roundings() {
  const std::size_t kind = choices_.below(5);
  const Item x = kind == 3 ? picture() : real();
  const Shape shape = x.shape();
  const Out q = rounded(x.out, x.bound);
  Out made;
  switch (kind) {
    case 0: {  // Two of them, or two parts of one, which overlap.
      Out a = q, b;
      if (!shape.empty() && shape.at(outer_axis(shape)) > 1 && choices_.once_in(2)) {
        const Out axis = scalar_int(signed_of(outer_axis(shape)));
        a = make_node("VariadicSplit", 1, {q, axis, ints({1, -1})})->output(1);
        b = make_node("VariadicSplit", 1, {q, axis, ints({-1, 1})})->output(0);
        if (choices_.once_in(2)) std::swap(a, b);
      } else {
        b = rounded(op1(choices_.once_in(2) ? "Tanh" : "Negative", 1, {x.out}), 2);
      }
      static const std::vector<const char*> kTypes{"Add", "Subtract", "Multiply"};
      made = op1(choices_.one_of(kTypes), 1, {a, b});
      break;
    }
    case 1:
      made = op1("Multiply", 1, {q, rounded(op1("Sigmoid", 1, {q}), 1)});
      break;
    case 2: {
      if (shape.empty()) return;
      const Out other = rounded(op1("Relu", 1, {x.out}), 3);
      const std::size_t axis = choices_.once_in(2) ? axis_of(shape) : outer_axis(shape);
      made = op1("Concat", 1, {q, other}, {{"axis", signed_of(axis)}});
      break;
    }
    case 3: {
      if (shape[1] > 64) return;
      const std::size_t side = choices_.once_in(2) ? 3 : 1, out = choices_.once_in(2) ? shape[1] : 16;
      const auto pad = signed_of(side / 2);
      made =
          op1("Convolution", 1,
              {q, filter({out, shape[1], side, side}, 0, 1 / std::sqrt(static_cast<double>(shape[1] * side * side)))},
              {{"strides", {1, 1}}, {"pads_begin", {pad, pad}}, {"pads_end", {pad, pad}}, {"dilations", {1, 1}}});
      if (choices_.once_in(2)) made = op1("Relu", 1, {made});
      if (made.get_shape() == shape && choices_.once_in(2))
        made = op1("Add", 1, {made, rounded(op1("Tanh", 1, {x.out}), 1)});
      break;
    }
    default:
      if (shape.empty()) return;
      made = op1("MatMul", 1, {q, filter({shape.back(), 8}, 1, 1 / std::sqrt(static_cast<double>(shape.back())))},
                 {{"transpose_a", false}, {"transpose_b", false}});
  }
  if (choices_.once_in(4)) add(q, x.bound);
  add(choices_.once_in(4) ? made : rounded(made, 4), x.bound * 4);
}

void Builder::make_real(const Item& x) {
  Out y = convert(x.out, ElementType::kF32);
  if (choices_.once_in(5)) return add(y, 255);
  if (x.zero_point != 0) y = op1("Subtract", 1, {y, number(x.zero_point)});
  const double scale = choices_.once_in(5) ? x.scale * 1.5 : x.scale;
  if (!x.shape().empty() && choices_.once_in(5)) {  // One per index of some axis.
    const Shape shape = x.shape();
    const std::size_t axis = axis_of(shape);
    Shape narrow(shape.size(), 1);
    narrow[axis] = shape[axis];
    std::vector<double> scales(shape[axis]);
    for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = x.scale * (i % 2 ? 0.5 : 1);
    return add(op1("Multiply", 1, {y, Constant::create(element::f32, narrow, scales)}), x.bound);
  }
  add(op1("Multiply", 1, {y, number(scale)}), x.bound * 1.5);
}

}  // namespace tenon::graphs
