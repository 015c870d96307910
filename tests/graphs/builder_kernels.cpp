// SPDX-License-Identifier: Apache-2.0
// Steps with kernels and layouts of their own.
#include <cmath>
#include <random>

#include <tenon/tests/graphs/builder.hpp>

namespace tenon::graphs {

Out Builder::filter(const Shape& shape, std::size_t axis, double scale) {
  if (!wishes_.quantized || choices_.once_in(3)) return weights(shape, scale);
  std::mt19937 random(static_cast<unsigned>(choices_.below(8)) + 1);
  const bool is_signed = !choices_.once_in(3);
  Ints values(element_count(shape));
  for (auto& value : values) value = static_cast<std::int64_t>(random() % 255) - (is_signed ? 127 : 0);
  Out real = convert(Constant::create(is_signed ? element::i8 : element::u8, shape, values), ElementType::kF32);
  if (!is_signed || choices_.once_in(4)) {
    const Out zero = Constant::create(is_signed ? element::i8 : element::u8, Shape{}, Ints{is_signed ? 3 : 128});
    real = op1("Subtract", 1, {real, convert(zero, ElementType::kF32)});
  }
  Shape ones(shape.size(), 1);
  if (choices_.once_in(2)) ones[choices_.once_in(5) ? axis_of(shape) : axis] = shape[axis];
  if (element_count(ones) > 1)
    for (std::size_t i = 0; i < ones.size(); ++i)
      if (ones[i] > 1) ones[i] = shape[i];
  std::vector<double> scales(element_count(ones));
  for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = scale / 64 * static_cast<double>(1 + i % 3);
  return op1("Multiply", 1, {real, Constant::create(element::f32, ones, scales)});
}

void Builder::product() {
  const Item x = real();
  const Shape shape = x.shape();
  if (shape.empty()) return;
  const std::size_t inner = shape.back();
  const auto product = [&](const Out& a, const Out& b, bool ta, bool tb, double bound) {
    add(op1("MatMul", 1, {a, b}, {{"transpose_a", ta}, {"transpose_b", tb}}), bound);
  };
  const double slope = 1 / std::sqrt(static_cast<double>(inner));
  const std::size_t columns = choices_.between(1, 24);
  switch (choices_.below(5)) {
    case 0:
    case 1:
      return product(x.out, filter({inner, columns}, 1, slope), false, false, x.bound * 3);
    case 2:
      return product(x.out, filter({columns, inner}, 0, slope), false, true, x.bound * 3);
    case 3:
      if (shape.size() < 2) return;
      return product(filter({columns, shape[shape.size() - 2]}, 0, slope), x.out, false, false, x.bound * 6);
    default:
      if (shape.size() < 2 || x.bound > 30) return;
      return product(x.out, x.out, false, true, x.bound * x.bound * static_cast<double>(inner));
  }
}

Item Builder::picture() {
  for (int tries = 0; tries < 3; ++tries)
    if (Item& item = any(); item.is_real() && item.shape().size() == 4) return read(item);
  Item x = real();
  Shape shape = x.shape();
  if (shape.size() == 4) return x;
  if (shape.size() > 4) shape = {1, 1, 1, element_count(shape)};
  while (shape.size() < 3) shape.insert(shape.begin(), 1);
  if (shape.size() < 4) shape.insert(shape.begin(), 1);
  x.out = op1("Reshape", 1, {x.out, ints(signed_of(shape))}, {{"special_zero", false}});
  return x;
}

void Builder::tokens() {
  const Item x = picture();
  const Ints shape = signed_of(x.shape());
  if (choices_.once_in(3)) {
    const Attributes inside{{"normalize_variance", true}, {"eps", 0.01}, {"eps_mode", "inside_sqrt"}};
    return add(op1("MVN", 6, {x.out, ints({2, 3})}, inside), 12);
  }
  const Attributes plain{{"special_zero", false}};
  Out row = op1("Reshape", 1, {x.out, ints({shape[0], shape[1], shape[2] * shape[3]})}, plain);
  row = op1("Transpose", 1, {row, ints({0, 2, 1})});
  if (choices_.once_in(2)) row = op1("Tanh", 1, {row});
  if (choices_.once_in(4)) return add(row, x.bound);
  const Out back = op1("Transpose", 1, {row, ints({0, 2, 1})});
  add(op1("Reshape", 1, {back, ints(shape)}, plain), x.bound);
}

void Builder::image() {
  const Item x = picture();
  const Shape shape = x.shape();
  const std::size_t channels = shape[1];
  if (channels > 64) return;
  const auto windows = [](std::int64_t stride, std::int64_t pad) {
    return Attributes{
        {"strides", {stride, stride}}, {"pads_begin", {pad, pad}}, {"pads_end", {pad, pad}}, {"dilations", {1, 1}}};
  };
  const std::size_t kind = choices_.below(8);
  if (kind == 7) return pools_and_blocks(x);
  const std::int64_t stride = choices_.once_in(4) ? 2 : 1;
  const bool wide = choices_.once_in(2);
  const std::size_t side = wide ? 3 : 1;
  const double slope = 1 / std::sqrt(static_cast<double>(channels * side * side));
  Out made;
  double bound = x.bound * 4;
  if (kind <= 2) {
    static const std::vector<std::size_t> kChannels{16, 8, 32, 4, 17};
    const std::size_t out = choices_.once_in(2) ? channels : choices_.one_of(kChannels);
    made = op1("Convolution", 1, {x.out, filter({out, channels, side, side}, 0, slope)}, windows(stride, wide ? 1 : 0));
  } else if (kind == 3) {
    made = op1("GroupConvolution", 1, {x.out, filter({channels, 1, 1, 3, 3}, 0, 0.3)}, windows(stride, 1));
  } else if (kind == 6) {
    const Out sizes = ints({signed_of(2 * shape[2]), signed_of(2 * shape[3])});
    made = op1("Interpolate", 4, {x.out, sizes, weights({2}, 1), ints({2, 3})},
               {{"mode", "nearest"},
                {"shape_calculation_mode", "sizes"},
                {"coordinate_transformation_mode", "asymmetric"},
                {"nearest_mode", "floor"}});
    bound = x.bound;
  } else {
    const Attributes window{{"kernel", {2, 2}},
                            {"strides", {stride, stride}},
                            {"pads_begin", {0, 0}},
                            {"pads_end", {1, 1}},
                            {"rounding_type", "floor"}};
    Attributes mean = window;
    mean.set("exclude-pad", choices_.once_in(2));
    made = kind == 4 ? op1("MaxPool", 1, {x.out}, window) : op1("AvgPool", 1, {x.out}, mean);
    bound = x.bound;
  }
  // Likely followers: an activation, a residual with further readers.
  if (kind <= 3 && choices_.once_in(2)) {
    made = op1("Add", 1, {made, weights({1, made.get_shape()[1], 1, 1}, 1)});
    bound += 4;
  }
  if (choices_.once_in(3)) made = op1("Relu", 1, {made});
  if (made.get_shape() == shape && choices_.once_in(2)) {
    add(made, bound);
    return combine(read(items_.back()), x);
  }
  add(made, bound);
}

void Builder::pools_and_blocks(const Item& x) {
  const Shape shape = x.shape();
  switch (choices_.below(5)) {
    case 0:
      return add(op1("AdaptiveAvgPool", 8, {x.out, ints({3, 2})}), x.bound);
    case 1:
      return add(op1("AdaptiveMaxPool", 8, {x.out, ints({2, 3})}), x.bound);
    case 2: {
      // Padded to whole blocks.
      const Ints after{0, 0, signed_of(shape[2] % 2), signed_of(2 - shape[3] % 2)};
      return add(op1("SpaceToBatch", 2, {x.out, ints({1, 1, 2, 2}), ints({0, 0, 2, 0}), ints(after)}), x.bound);
    }
    case 3: {
      const Out doubled = op1("Concat", 1, {x.out, op1("Relu", 1, {x.out})}, {{"axis", std::int64_t{0}}});
      return add(op1("BatchToSpace", 2, {doubled, ints({1, 1, 1, 2}), ints({0, 0, 0, 1}), ints({0, 0, 0, 0})}),
                 x.bound);
    }
    default: {
      Ints lengths;
      for (std::size_t i = 0; i < shape[0]; ++i) lengths.push_back(signed_of(choices_.below(shape[2] + 1)));
      return add_moved(op1("ReverseSequence", 1, {x.out, ints(lengths)}, {{"batch_axis", 0}, {"seq_axis", 2}}), x);
    }
  }
}

void Builder::residual() {
  const bool is_picture = choices_.once_in(2);
  const Item x = is_picture ? picture() : real();
  const Shape shape = x.shape();
  if (shape.size() < 2 || shape[1] > 64) return;
  const Out side = op1(choices_.once_in(2) ? "Tanh" : "Sigmoid", 1, {x.out});
  Out made = op1("Relu", 1, {x.out});
  if (is_picture) {
    const double slope = 1 / std::sqrt(static_cast<double>(shape[1]));
    made = op1("Convolution", 1, {made, filter({shape[1], shape[1], 1, 1}, 0, slope)},
               {{"strides", {1, 1}}, {"pads_begin", {0, 0}}, {"pads_end", {0, 0}}, {"dilations", {1, 1}}});
  } else {
    const double slope = 1 / std::sqrt(static_cast<double>(shape.back()));
    made = op1("MatMul", 1, {made, filter({shape.back(), shape.back()}, 1, slope)},
               {{"transpose_a", false}, {"transpose_b", false}});
  }
  if (choices_.once_in(3)) made = op1("Relu", 1, {made});
  made = choices_.once_in(2) ? op1("Add", 1, {made, side}) : op1("Add", 1, {side, made});
  if (choices_.once_in(3)) made = op1("Clamp", 1, {made}, {{"min", -2.0}, {"max", 3.0}});
  add(made, x.bound * 4 + 1);
}

void Builder::products_of_norms() {
  const Item x = real();
  if (x.shape().empty()) return;
  constexpr std::size_t kWide = 32;
  const auto product = [&](const Out& a, std::size_t columns) {
    const std::size_t inner = a.get_shape().back();
    const double slope = 1 / std::sqrt(static_cast<double>(inner));
    const bool turned = choices_.once_in(2);
    const Out b = turned ? filter({columns, inner}, 0, slope) : filter({inner, columns}, 1, slope);
    return op1("MatMul", 1, {a, b}, {{"transpose_a", false}, {"transpose_b", turned}});
  };
  const Out row = product(x.out, kWide);
  const Out square = choices_.once_in(2) ? op1("Power", 1, {row, number(2)}) : op1("Multiply", 1, {row, row});
  const Out mean = op1("ReduceMean", 1, {square, ints({-1})}, {{"keep_dims", true}});
  const Out root = op1("Sqrt", 0, {op1("Add", 1, {mean, number(0.1)})});
  Out norm = op1("Multiply", 1, {row, op1("Divide", 1, {number(1), root})});
  if (choices_.once_in(2)) norm = op1("Multiply", 1, {weights({kWide}, 1), norm});
  const std::size_t columns = choices_.between(1, 24);
  Out gate = product(norm, columns), up = product(norm, columns);
  if (choices_.once_in(3)) up = op1("Add", 1, {up, weights({columns}, 1)});
  gate = choices_.once_in(2) ? op1("Swish", 4, {gate}) : op1("Sigmoid", 1, {gate});
  add(choices_.once_in(2) ? op1("Multiply", 1, {gate, up}) : op1("Add", 1, {up, gate}), 400);
  if (choices_.once_in(2)) add(product(norm, choices_.between(1, 24)), 20);
  if (choices_.once_in(4)) add(norm, 6);
}

void Builder::rows() {
  const Item x = real();
  const Shape shape = x.shape();
  const auto axis = signed_of(axis_of(shape));
  switch (choices_.below(5)) {
    case 0:
      return add(op1("Softmax", 8, {x.out}, {{"axis", choices_.once_in(3) ? axis - signed_of(shape.size()) : axis}}),
                 1);
    case 1:
      return add(op1("ReduceMean", 1, {x.out, ints({axis})}, {{"keep_dims", choices_.once_in(2)}}), x.bound);
    case 2:
      return add(op1("ReduceMax", 1, {x.out, ints({axis})}, {{"keep_dims", choices_.once_in(2)}}), x.bound);
    case 3:
      return add(op1("ReduceSum", 1, {x.out, ints({axis})}, {{"keep_dims", choices_.once_in(2)}}),
                 x.bound * static_cast<double>(shape[static_cast<std::size_t>(axis)]));
    default:
      return add(
          op1("MVN", 6, {x.out, ints({-1})}, {{"normalize_variance", true}, {"eps", 0.1}, {"eps_mode", "INSIDE_SQRT"}}),
          4);
  }
}

}  // namespace tenon::graphs
