// SPDX-License-Identifier: Apache-2.0
// Steps that move: parts, joins, shapes.
#include <algorithm>
#include <numeric>

#include <tenon/tests/graphs/builder.hpp>

namespace tenon::graphs {

void Builder::slice() {
  Item x = read(any());
  const Shape shape = x.shape();
  const std::size_t axis = choices_.once_in(2) ? axis_of(shape) : outer_axis(shape), extent = shape.at(axis);
  const std::size_t first = choices_.below(extent), last = choices_.between(first, extent - 1);
  const auto a = signed_of(first), b = signed_of(last), end = signed_of(extent);
  switch (choices_.below(5)) {
    case 0:
    case 1:
      return add_moved(op1("Slice", 8, {x.out, ints({a}), ints({b + 1}), ints({1}), ints({signed_of(axis)})}), x);
    case 2:
      return add_moved(
          op1("Slice", 8, {x.out, ints({b - end}), ints({a - end - 1}), ints({-1}), ints({signed_of(axis)})}), x);
    case 3:
      return add_moved(op1("Slice", 8, {x.out, ints({a}), ints({b + 1}), ints({2}), ints({signed_of(axis)})}), x);
    default: {
      Ints begin(shape.size(), 0), stop(shape.size(), 0), mask(shape.size(), 1), shrink(shape.size(), 0);
      begin[axis] = a;
      stop[axis] = b + 1;
      mask[axis] = 0;
      if (choices_.once_in(2)) {
        shrink[axis] = 1;
        stop[axis] = a + 1;
      }
      return add_moved(op1("StridedSlice", 1, {x.out, ints(begin), ints(stop), ints(Ints(shape.size(), 1))},
                           {{"begin_mask", mask}, {"end_mask", mask}, {"shrink_axis_mask", shrink}}),
                       x);
    }
  }
}

void Builder::split() {
  Item x = read(any());
  const Shape shape = x.shape();
  const std::size_t axis = choices_.once_in(2) ? axis_of(shape) : outer_axis(shape), extent = shape.at(axis);
  std::shared_ptr<Node> node;
  for (const std::size_t parts : {std::size_t{2}, std::size_t{3}, std::size_t{4}})
    if (extent % parts == 0 && extent >= parts && choices_.once_in(2)) {
      node = make_node("Split", 1, {x.out, scalar_int(signed_of(axis))}, {{"num_splits", signed_of(parts)}});
      break;
    }
  if (!node) {
    if (extent < 2) return;
    const auto first = signed_of(choices_.between(1, extent - 1));
    node = make_node("VariadicSplit", 1, {x.out, scalar_int(signed_of(axis)), ints({first, -1})});
  }
  for (std::size_t i = 0; i < node->get_output_size(); ++i) add_moved(node->output(i), x);
  if (!x.is_real() || !choices_.once_in(2)) return;
  // The parts meet again.
  if (node->get_output_shape(0) == node->get_output_shape(1))
    combine(read(items_[items_.size() - 1]), read(items_[items_.size() - node->get_output_size()]));
}

void Builder::concat() {
  Item x = read(any());
  const Shape shape = x.shape();
  if (shape.empty()) return;
  const std::size_t axis = choices_.once_in(2) ? axis_of(shape) : outer_axis(shape);
  OutputVector parts{x.out};
  double bound = x.bound;
  const std::size_t wanted = choices_.between(2, 3);
  while (parts.size() < wanted) {
    std::vector<std::size_t> fit;
    for (std::size_t i = 0; i < items_.size() && fit.size() < 200; ++i) {
      Shape other = items_[i].shape();
      if (other.size() != shape.size()) continue;
      other[axis] = shape[axis];
      if (other == shape && items_[i].out.get_element_type() == x.out.get_element_type() &&
          items_[i].scale == x.scale && items_[i].zero_point == x.zero_point)
        fit.push_back(i);
    }
    const Item other = read(items_[fit[choices_.below(fit.size())]]);
    bound = std::max(bound, other.bound);
    if (choices_.once_in(2))
      parts.push_back(other.out);
    else
      parts.insert(parts.begin(), other.out);
  }
  const Out joined = op1("Concat", 1, parts, {{"axis", signed_of(axis)}});
  items_.push_back({joined, bound, x.scale, x.zero_point});
}

void Builder::reshape() {
  Item x = read(any());
  Shape shape = x.shape();
  if (choices_.once_in(3)) {
    const std::size_t axis = choices_.below(shape.size() + 1);
    return add_moved(op1("Unsqueeze", 1, {x.out, ints({signed_of(axis)})}), x);
  }
  if (std::count(shape.begin(), shape.end(), std::size_t{1}) > 0 && choices_.once_in(2)) {
    const auto one = std::find(shape.begin(), shape.end(), std::size_t{1}) - shape.begin();
    return add_moved(op1("Squeeze", 1, {x.out, ints({one})}), x);
  }
  const std::size_t axis = axis_of(shape);
  if (axis + 1 < shape.size() && choices_.once_in(2)) {
    shape[axis] *= shape[axis + 1];
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1);
  } else {
    for (const std::size_t factor : {2, 4, 3, 17})
      if (shape[axis] % factor == 0) {
        shape[axis] /= factor;
        shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis + choices_.below(2)), factor);
        break;
      }
  }
  if (choices_.once_in(5)) std::reverse(shape.begin(), shape.end());
  add_moved(op1("Reshape", 1, {x.out, ints(signed_of(shape))}, {{"special_zero", false}}), x);
}

void Builder::transpose() {
  Item x = read(any());
  const std::size_t rank = x.shape().size();
  if (rank < 2) return;
  Ints order(rank);
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = 0; i + 1 < rank; ++i) std::swap(order[i], order[i + choices_.below(rank - i)]);
  const Out moved = op1("Transpose", 1, {x.out, ints(order)});
  add_moved(moved, x);
  if (!choices_.once_in(4)) return;
  Ints back(rank);
  for (std::size_t i = 0; i < rank; ++i) back[static_cast<std::size_t>(order[i])] = signed_of(i);
  const Item again = read(items_.back());
  add_moved(op1("Transpose", 1, {again.out, ints(back)}), again);
}

void Builder::odds() {
  Item x = read(any());
  const Shape shape = x.shape();
  switch (choices_.below(6)) {
    case 0:
      return add_moved(convert(x.out, x.out.get_element_type()), x);
    case 1: {
      const std::size_t axis = axis_of(shape);
      const Out index = choices_.once_in(2) ? scalar_int(signed_of(choices_.below(shape[axis])))
                                            : ints({signed_of(shape[axis]) - 1, 0});
      return add_moved(op1("Gather", 8, {x.out, index, scalar_int(signed_of(axis))}), x);
    }
    case 2: {
      Ints repeats(shape.size(), 1);
      repeats[axis_of(shape)] = 2;
      return add_moved(op1("Tile", 1, {x.out, ints(repeats)}), x);
    }
    case 3: {
      Ints target = signed_of(shape);
      target.insert(target.begin(), 2);
      return add_moved(op1("Broadcast", 3, {x.out, ints(target)}, {{"mode", "numpy"}}), x);
    }
    case 4: {
      if (!x.is_real()) return;
      Ints before(shape.size(), 0), after(shape.size(), 0);
      before[axis_of(shape)] = 1;
      after[axis_of(shape)] = signed_of(choices_.below(3));
      return add_moved(op1("Pad", 1, {x.out, ints(before), ints(after), number(0.5)}, {{"pad_mode", "constant"}}), x);
    }
    default: {
      // A constant of the graph, as it is or computed.
      const Out value = shape.empty() ? weights(shape, 1) : filter(shape, 0, 1);
      return add(choices_.once_in(2) ? value : op1("Relu", 1, {value}), 4);
    }
  }
}

}  // namespace tenon::graphs
