// SPDX-License-Identifier: Apache-2.0
// Making choices, element-wise steps, and choosing among all steps.
#include <algorithm>
#include <random>

#include <tenon/tests/graphs/builder.hpp>

#include <cmath>

namespace tenon::graphs {

std::shared_ptr<Model> Builder::whole() {
  const std::size_t inputs = choices_.between(1, 3);
  const Shape base = random_shape();
  for (std::size_t i = 0; i < inputs; ++i) add_parameter(choices_.once_in(3) ? random_shape() : base);
  for (std::size_t i = 0; i < wishes_.nodes && !choices_.is_spent(); ++i) grow();
  return std::make_shared<Model>(results(), sinks_, parameters_);
}

void Builder::add_parameter(const Shape& shape, double bound) {
  parameters_.push_back(std::make_shared<Parameter>(element::f32, PartialShape(shape)));
  items_.push_back({parameters_.back(), bound});
}

void Builder::grow() {
  const std::size_t before = items_.size();
  try {
    step();
  } catch (const std::exception&) {
    items_.resize(before);  // The operation does not accept such shapes.
  }
  for (std::size_t i = before; i < items_.size();) {
    if (element_count(items_[i].shape()) > kMostElements || items_[i].shape().size() > 5)
      items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(i));
    else
      ++i;
  }
}

OutputVector Builder::results() {
  OutputVector outputs = states_;
  for (Item& item : items_)
    if (item.readers == 0) outputs.push_back(item.out);
  if (outputs.empty()) outputs.push_back(items_.back().out);
  if (choices_.once_in(3)) outputs.push_back(any().out);
  if (choices_.once_in(6)) outputs.push_back(outputs[choices_.below(outputs.size())]);
  return outputs;
}

Shape Builder::random_shape() {
  static const std::vector<std::size_t> kExtents{2, 1, 3, 4, 8, 16, 5, 17};
  const auto extent = [&] { return choices_.one_of(kExtents); };
  if (choices_.once_in(40)) return {1, 160, 64};  // Large enough for several threads.
  switch (choices_.below(5)) {
    case 0:
      return {extent() * 4, extent()};
    case 1:
      return {1, extent() * 4, extent() * 2};
    case 2: {
      static const std::vector<std::size_t> kChannels{16, 4, 8, 32, 3, 17};
      return {choices_.once_in(4) ? std::size_t{2} : 1, choices_.one_of(kChannels), choices_.between(1, 6),
              choices_.between(1, 6)};
    }
    case 3:
      return {extent(), extent(), extent()};
    default:
      return {extent() * extent() * 2};
  }
}

Item& Builder::any() {
  // The latest are more likely: depth before breadth.
  const std::size_t count = std::min<std::size_t>(items_.size(), 200);
  if (choices_.once_in(2)) return items_[items_.size() - 1 - choices_.below(std::min<std::size_t>(count, 3))];
  return items_[items_.size() - count + choices_.below(count)];
}

Item Builder::real() {
  for (int tries = 0; tries < 4; ++tries)
    if (Item& item = any(); item.is_real()) return read(item);
  for (Item& item : items_)
    if (item.is_real()) return read(item);
  throw Error(Code::kNotFound, "no real value");
}

Item Builder::read(Item& item) {
  ++item.readers;
  if (!item.is_real() || item.bound <= kHighest) return item;
  return {op1("Tanh", 1, {item.out}), 1};
}

std::size_t Builder::axis_of(const Shape& shape) {
  if (shape.empty()) throw Error(Code::kInvalidArgument, "a number has no axis");
  return choices_.below(shape.size());
}

std::size_t Builder::outer_axis(const Shape& shape) {
  std::size_t axis = 0;
  while (axis + 1 < shape.size() && shape[axis] == 1) ++axis;
  return axis;
}

Out Builder::weights(const Shape& shape, double scale) {
  std::mt19937 random(static_cast<unsigned>(choices_.below(8)) + 1);
  std::normal_distribution<double> normal(0, scale);
  std::vector<double> values(element_count(shape));
  for (double& value : values) value = normal(random);
  return Constant::create(element::f32, shape, values);
}

void Builder::step() {
  if (wishes_.quantized && choices_.once_in(3)) return choices_.once_in(2) ? between_roundings() : rounding();
  if (wishes_.bodies && depth_ < 2 && choices_.once_in(14)) return choices_.once_in(2) ? loop() : branch();
  if (wishes_.states && depth_ == 0 && choices_.once_in(5)) return state();
  switch (choices_.below(17)) {
    case 0:
    case 1:
      return unary();
    case 2:
    case 3:
      return parts_combined();
    case 4:
    case 5:
      return binary();
    case 6:
      return broadcast();
    case 7:
      return slice();
    case 8:
      return split();
    case 9:
      return concat();
    case 10:
      return reshape();
    case 11:
      return transpose();
    case 12:
      return choices_.once_in(4) ? products_of_norms() : product();
    case 13:
      return choices_.once_in(3) ? residual() : image();
    case 14:
      return rows();
    case 15:
      return tokens();
    default:
      return odds();
  }
}

void Builder::unary() {
  const Item x = real();
  switch (choices_.below(18)) {
    case 0:
    case 1:
      return add(op1("Relu", 1, {x.out}), x.bound);
    case 2:
      return add(op1("Abs", 1, {x.out}), x.bound);
    case 3:
      return add(op1("Negative", 1, {x.out}), x.bound);
    case 4:
      return add(op1("Sigmoid", 1, {x.out}), 1);
    case 5:
      return add(op1("Tanh", 1, {x.out}), 1);
    case 6:
      return add(op1("Clamp", 1, {x.out}, {{"min", -1.5}, {"max", 2.0}}), 2);
    case 7:
      return add(op1("Elu", 1, {x.out}, {{"alpha", 0.75}}), x.bound);
    case 8:
      return add(op1("HSwish", 4, {x.out}), x.bound);
    case 9:
      return add(op1("Gelu", 7, {x.out}, {{"approximation_mode", "ERF"}}), x.bound);
    case 10:
      return add(op1("Swish", 4, {x.out}), x.bound);
    case 11:
      return add(op1("Sin", 1, {x.out}), 1);
    case 12:
      return add(op1("Erf", 1, {x.out}), 1);
    case 13:
      return add(op1("SoftSign", 9, {x.out}), 1);
    case 14:
      return add(op1("HSigmoid", 5, {x.out}), 1);
    case 15:
      return add(op1("Log", 1, {op1("Add", 1, {op1("Abs", 1, {x.out}), number(1)})}), std::log(x.bound + 1));
    case 16:
      return add(op1("PRelu", 1, {x.out, number(0.25)}), x.bound);
    default:
      return add(op1("SoftPlus", 4, {x.out}), x.bound + 1);
  }
}

void Builder::combine(const Item& x, const Item& y) {
  switch (choices_.below(8)) {
    case 0:
      return add(op1("Subtract", 1, {x.out, y.out}), x.bound + y.bound);
    case 1:
      return add(op1("Add", 1, {x.out, y.out}), x.bound + y.bound);
    case 2:
      return add(op1("Multiply", 1, {x.out, y.out}), x.bound * y.bound);
    case 3:
      return add(op1("Maximum", 1, {x.out, y.out}), std::max(x.bound, y.bound));
    case 4:
      return add(op1("Minimum", 1, {x.out, y.out}), std::max(x.bound, y.bound));
    case 5:
      return add(op1("Divide", 1, {x.out, op1("Add", 1, {op1("Abs", 1, {y.out}), number(1)})}), x.bound);
    case 6:
      // The smaller one, so that a comparison of almost equal numbers may go either way.
      return add(op1("Select", 1, {op1(choices_.once_in(2) ? "Less" : "LessEqual", 1, {x.out, y.out}), x.out, y.out}),
                 std::max(x.bound, y.bound));
    default:
      return add(op1("Divide", 1, {op1("Add", 1, {x.out, y.out}), number(2)}), std::max(x.bound, y.bound));
  }
}

void Builder::parts_combined() {
  Item x = real();
  if (!choices_.once_in(4)) x.out = op1(choices_.once_in(2) ? "Relu" : "Tanh", 1, {x.out});
  const Shape shape = x.shape();
  std::size_t axis = axis_of(shape);
  if (!choices_.once_in(4)) axis = std::min<std::size_t>(outer_axis(shape), axis);
  const std::size_t extent = shape[axis];
  const std::size_t length = choices_.between((extent + 1) / 2, extent);
  const auto part = [&](std::size_t start) {
    return Item{
        op1("Slice", 8,
            {x.out, ints({signed_of(start)}), ints({signed_of(start + length)}), ints({1}), ints({signed_of(axis)})}),
        x.bound};
  };
  Item first = part(choices_.below(extent - length + 1)), second = part(choices_.below(extent - length + 1));
  // One of them may have been changed before.
  if (choices_.once_in(4)) first.out = op1("Relu", 1, {first.out});
  if (choices_.once_in(4)) second.out = op1("Negative", 1, {second.out});
  combine(first, second);
  if (choices_.once_in(3)) add(first.out, x.bound);
  if (choices_.once_in(4)) add(second.out, x.bound);
}

void Builder::binary() {
  const Item x = real();
  std::vector<std::size_t> alike;
  for (std::size_t i = 0; i < items_.size() && alike.size() < 200; ++i)
    if (items_[i].is_real() && items_[i].shape() == x.shape()) alike.push_back(i);
  combine(x, read(items_[alike[choices_.below(alike.size())]]));
}

void Builder::broadcast() {
  const Item x = real();
  const Shape shape = x.shape();
  Item other{number(0.5 + static_cast<double>(choices_.below(4))), 4};
  if (!shape.empty() && choices_.once_in(2)) {
    Shape narrow(shape.size(), 1);
    const std::size_t axis = axis_of(shape);
    narrow[axis] = shape[axis];
    if (axis + 1 == shape.size() && choices_.once_in(2)) narrow = {shape[axis]};
    other = {weights(narrow, 1), 4};
  } else if (choices_.once_in(2)) {
    other = real();
  }
  if (choices_.once_in(2)) return combine(other, x);
  combine(x, other);
}

}  // namespace tenon::graphs
