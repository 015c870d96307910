// SPDX-License-Identifier: Apache-2.0
// Element-wise operations of two or three tensors, with broadcasting.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include <tenon/graph/ops/internal/kernel.hpp>
#include <tenon/graph/ops/internal/table_rows.hpp>

namespace tenon {
inline namespace v1 {

namespace {
/// Steps, in elements, of a packed tensor of `shape` broadcast to `target`: 0 along repeated axes.
std::vector<std::size_t> broadcast_steps(const Shape& shape, const Shape& target) {
  if (shape.size() > target.size()) fail("shape " + to_string(shape) + " does not broadcast to " + to_string(target));
  std::vector<std::size_t> steps(target.size(), 0);
  const auto own = element_strides(shape);
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const std::size_t at = axis + target.size() - shape.size();
    if (shape[axis] != 1 && shape[axis] != target[at])
      fail("shape " + to_string(shape) + " does not broadcast to " + to_string(target));
    steps[at] = shape[axis] == 1 ? 0 : own[axis];
  }
  return steps;
}

/// Calls row(offset a, step a, offset b, step b, offset out, count) for every innermost row. Axes that both sides
/// traverse in the same way are merged.
template <typename F>
void for_each_row(const Shape& a, const Shape& b, const Shape& out, F row) {
  if (element_count(out) == 0) return;
  const auto a_steps = broadcast_steps(a, out), b_steps = broadcast_steps(b, out);
  Shape merged;
  std::vector<std::size_t> as, bs;
  for (std::size_t axis = 0; axis < out.size(); ++axis) {
    if (out[axis] == 1) continue;
    const std::size_t extent = out[axis];
    if (!merged.empty() && as.back() == a_steps[axis] * extent && bs.back() == b_steps[axis] * extent) {
      merged.back() *= extent;
      as.back() = a_steps[axis];
      bs.back() = b_steps[axis];
    } else {
      merged.push_back(extent);
      as.push_back(a_steps[axis]);
      bs.push_back(b_steps[axis]);
    }
  }
  if (merged.empty())
    return row(std::size_t{0}, std::size_t{0}, std::size_t{0}, std::size_t{0}, std::size_t{0}, std::size_t{1});
  const std::size_t count = merged.back();
  Shape outer(merged.begin(), merged.end() - 1);
  std::vector<std::size_t> index(outer.size(), 0);
  std::size_t at = 0;
  do {
    std::size_t ai = 0, bi = 0;
    for (std::size_t axis = 0; axis < outer.size(); ++axis) {
      ai += index[axis] * as[axis];
      bi += index[axis] * bs[axis];
    }
    row(ai, as.back(), bi, bs.back(), at, count);
    at += count;
  } while (advance(index, outer));
}

template <typename F, typename Type>
void binary(const Node& node, std::span<const Tensor> inputs, Tensor& output, ElementType type) {
  dispatch_compute(type, [&](auto zero) {
    using T = decltype(zero);
    const F f(node, type);
    const Read<T> x(inputs[0]), y(inputs[1]);
    using R = std::conditional_t<std::is_same_v<Type, bool>, std::int64_t, T>;
    Write<R> z(output);
    const T* a = x.data();
    const T* b = y.data();
    R* c = z.data();
    for_each_row(
        inputs[0].shape(), inputs[1].shape(), output.shape(),
        [&](std::size_t ai, std::size_t as, std::size_t bi, std::size_t bs, std::size_t at, std::size_t count) {
          for (std::size_t i = 0; i < count; ++i) c[at + i] = static_cast<R>(f(a[ai + i * as], b[bi + i * bs]));
        });
    z.commit();
  });
}
template <typename F>
void evaluate_binary(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  binary<F, int>(node, inputs, outputs[0], inputs[0].element_type());
}
template <typename F>
void evaluate_comparison(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  binary<F, bool>(node, inputs, outputs[0], inputs[0].element_type());
}

struct PlainBinary {
  PlainBinary() = default;
  PlainBinary(const Node&, ElementType) {}
};
// Integers wrap, as in OpenVINO: computed unsigned, because signed overflow is undefined.
template <typename Operator>
struct Wrapping : PlainBinary {
  using PlainBinary::PlainBinary;
  template <typename T>
  T operator()(T x, T y) const {
    if constexpr (std::is_floating_point_v<T>)
      return Operator{}(x, y);
    else
      return static_cast<T>(Operator{}(static_cast<std::uint64_t>(x), static_cast<std::uint64_t>(y)));
  }
};
using Add = Wrapping<std::plus<>>;
using Subtract = Wrapping<std::minus<>>;
using Multiply = Wrapping<std::multiplies<>>;
#define TENON_BINARY_FUNCTION(Name, expression) \
  struct Name : PlainBinary {                   \
    using PlainBinary::PlainBinary;             \
    template <typename T>                       \
    T operator()(T x, T y) const {              \
      return expression;                        \
    }                                           \
  };
TENON_BINARY_FUNCTION(Maximum, x != x ? x : (x > y ? x : y))
TENON_BINARY_FUNCTION(Minimum, x != x ? x : (x < y ? x : y))
struct SquaredDifference : PlainBinary {
  using PlainBinary::PlainBinary;
  template <typename T>
  T operator()(T x, T y) const {
    const T d = Subtract{}(x, y);
    return Multiply{}(d, d);
  }
};
[[noreturn]] void division_by_zero() { fail("integer division by zero"); }
struct Divide {
  Divide(const Node& node, ElementType) : floor(node.get_attributes().get_bool("m_pythondiv")) {}
  template <typename T>
  T operator()(T x, T y) const {
    if constexpr (std::is_floating_point_v<T>) {
      return x / y;
    } else {
      if (y == 0) division_by_zero();
      if constexpr (std::is_signed_v<T>) {
        if (y == -1) return static_cast<T>(std::uint64_t{0} - static_cast<std::uint64_t>(x));
      }
      const T quotient = x / y;
      return floor && x % y != 0 && (x < 0) != (y < 0) ? quotient - 1 : quotient;
    }
  }
  bool floor;
};
struct Mod : PlainBinary {
  using PlainBinary::PlainBinary;
  template <typename T>
  T operator()(T x, T y) const {
    if constexpr (std::is_floating_point_v<T>)
      return std::fmod(x, y);
    else {
      if (y == 0) division_by_zero();
      if constexpr (std::is_signed_v<T>) {
        if (y == -1) return 0;
      }
      return x % y;
    }
  }
};
struct FloorMod : PlainBinary {
  using PlainBinary::PlainBinary;
  template <typename T>
  T operator()(T x, T y) const {
    const T rest = Mod{}(x, y);
    return rest != T{0} && (rest < T{0}) != (y < T{0}) ? rest + y : rest;
  }
};
struct Power : PlainBinary {
  using PlainBinary::PlainBinary;
  template <typename T>
  T operator()(T x, T y) const {
    if constexpr (std::is_floating_point_v<T>)
      return std::pow(x, y);
    else {
      if (y < T{0}) return x == T{1} ? T{1} : x + T{1} == T{0} ? (y % 2 == 0 ? T{1} : x) : T{0};
      std::uint64_t base = static_cast<std::uint64_t>(x), result = 1;
      for (std::uint64_t exponent = static_cast<std::uint64_t>(y); exponent; exponent >>= 1, base *= base) {
        if (exponent & 1) result *= base;
      }
      return static_cast<T>(result);
    }
  }
};
#define TENON_TEST(Name, expression)  \
  struct Name : PlainBinary {         \
    using PlainBinary::PlainBinary;   \
    template <typename T>             \
    bool operator()(T x, T y) const { \
      return expression;              \
    }                                 \
  };
TENON_TEST(Equal, x == y)
TENON_TEST(NotEqual, x != y)
TENON_TEST(Less, x < y)
TENON_TEST(LessEqual, x <= y)
TENON_TEST(Greater, x > y)
TENON_TEST(GreaterEqual, x >= y)
TENON_TEST(And, (x != T{0}) && (y != T{0}))
TENON_TEST(Or, (x != T{0}) || (y != T{0}))
TENON_TEST(Xor, (x != T{0}) != (y != T{0}))

// Numbers of fewer bits come with their sign or zeros in the others. T is unsigned for u64 alone.
struct BitAnd {
  template <typename T>
  static T of(T x, T y, unsigned) {
    return x & y;
  }
};
struct BitOr {
  template <typename T>
  static T of(T x, T y, unsigned) {
    return x | y;
  }
};
struct BitXor {
  template <typename T>
  static T of(T x, T y, unsigned) {
    return x ^ y;
  }
};
/// Shifts by the width and more shift everything out; a negative distance counts as such.
struct ShiftLeft {
  template <typename T>
  static T of(T x, T y, unsigned bits) {
    const auto distance = static_cast<std::uint64_t>(y);
    return distance >= bits ? T{0} : static_cast<T>(static_cast<std::uint64_t>(x) << distance);
  }
};
struct ShiftRight {
  template <typename T>
  static T of(T x, T y, unsigned bits) {
    const auto distance = static_cast<std::uint64_t>(y);
    if (distance >= bits) return x < T{0} ? static_cast<T>(~T{0}) : T{0};
    return static_cast<T>(x >> distance);
  }
};
template <typename F>
void evaluate_bitwise(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const auto bits = static_cast<unsigned>(bit_width(inputs[0].element_type()));
  const auto compute = [&](auto zero) {
    using T = decltype(zero);
    const Read<T> x(inputs[0]), y(inputs[1]);
    Write<T> z(outputs[0]);
    for_each_row(
        inputs[0].shape(), inputs[1].shape(), outputs[0].shape(),
        [&](std::size_t ai, std::size_t as, std::size_t bi, std::size_t bs, std::size_t at, std::size_t count) {
          for (std::size_t i = 0; i < count; ++i) z[at + i] = F::of(x[ai + i * as], y[bi + i * bs], bits);
        });
    z.commit();
  };
  inputs[0].element_type() == ElementType::kU64 ? compute(std::uint64_t{}) : compute(std::int64_t{});
}

void evaluate_select(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  // Moved as bytes: works for any type, exactly.
  const Shape& shape = outputs[0].shape();
  if (outputs[0].element_count() == 0) return;
  const std::size_t size = movable_size(outputs[0]);
  const Read<std::int64_t> condition(inputs[0]);
  const auto steps = broadcast_steps(inputs[0].shape(), shape);
  const char* sources[2];
  std::vector<std::ptrdiff_t> strides[2];
  for (std::size_t side = 0; side < 2; ++side) {
    const Tensor& tensor = inputs[1 + side];
    sources[side] = static_cast<const char*>(tensor.data());
    broadcast_steps(tensor.shape(), shape);
    strides[side].assign(shape.size(), 0);
    for (std::size_t axis = 0; axis < tensor.shape().size(); ++axis) {
      if (tensor.shape()[axis] != 1)
        strides[side][axis + shape.size() - tensor.shape().size()] = tensor.byte_strides()[axis];
    }
  }
  auto* to = static_cast<char*>(outputs[0].data());
  std::vector<std::size_t> index(shape.size(), 0);
  do {
    std::size_t at = 0;
    std::ptrdiff_t offsets[2] = {0, 0};
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const auto position = static_cast<std::ptrdiff_t>(index[axis]);
      at += index[axis] * steps[axis];
      offsets[0] += position * strides[0][axis];
      offsets[1] += position * strides[1][axis];
    }
    const std::size_t side = condition[at] ? 0 : 1;
    std::memcpy(to, sources[side] + offsets[side], size);
    to += size;
  } while (advance(index, shape));
}

PartialShape broadcast_inputs(const Node& node) {
  return broadcast_shapes(node.get_input_partial_shape(0), node.get_input_partial_shape(1),
                          node.get_attributes().get_string("auto_broadcast"));
}
void infer_binary(Node& node) {
  const element::Type type = common_type(node, 0, 2);
  if (type == element::boolean) fail("arithmetic is not defined on boolean inputs");
  node.set_output_type(0, type, broadcast_inputs(node));
}
void infer_comparison(Node& node) {
  common_type(node, 0, 2);
  node.set_output_type(0, element::boolean, broadcast_inputs(node));
}
void infer_logical(Node& node) {
  const element::Type type = common_type(node, 0, 2);
  if (!type.is_dynamic() && !(type == element::boolean)) fail("expected boolean inputs, found " + type.to_string());
  node.set_output_type(0, element::boolean, broadcast_inputs(node));
}
void infer_bitwise(Node& node) {
  const element::Type type = common_type(node, 0, 2);
  if (type.is_real() && !type.is_dynamic()) fail("expected integer inputs, found " + type.to_string());
  node.set_output_type(0, type, broadcast_inputs(node));
}
void infer_select(Node& node) {
  const element::Type condition = node.get_input_element_type(0);
  if (!condition.is_dynamic() && !(condition == element::boolean))
    fail("the condition must be boolean, found " + condition.to_string());
  const std::string& mode = node.get_attributes().get_string("auto_broadcast");
  const PartialShape values = broadcast_shapes(node.get_input_partial_shape(1), node.get_input_partial_shape(2), mode);
  node.set_output_type(0, common_type(node, 1, 3), broadcast_shapes(values, node.get_input_partial_shape(0), mode));
}
}  // namespace

void add_arithmetic_rows(OperationTable& table) {
  const auto two = [&](const char* type, unsigned opset, void (*infer)(Node&), Kernel kernel, const char* description,
                       const char* expression) {
    return table.add(type, opset, 2, 2, infer, kernel, description)
        .text("auto_broadcast", "numpy", {"numpy", "none"})
        .expression(expression);
  };
  two("Add", 1, infer_binary, evaluate_binary<Add>, "Sum.", "x + y");
  two("Subtract", 1, infer_binary, evaluate_binary<Subtract>, "Difference.", "x - y");
  two("Multiply", 1, infer_binary, evaluate_binary<Multiply>, "Product.", "x * y");
  two("Divide", 1, infer_binary, evaluate_binary<Divide>,
      "Quotient; of integers rounded down when m_pythondiv, else towards 0.", "x / y")
      .flag("m_pythondiv", true);
  two("Maximum", 1, infer_binary, evaluate_binary<Maximum>, "The greater.", "max(x, y)");
  two("Minimum", 1, infer_binary, evaluate_binary<Minimum>, "The lesser.", "min(x, y)");
  two("Power", 1, infer_binary, evaluate_binary<Power>, "x to the y.", "pow(x, y)");
  two("SquaredDifference", 1, infer_binary, evaluate_binary<SquaredDifference>, "(x - y) squared.",
      "(x - y) * (x - y)");
  two("Mod", 1, infer_binary, evaluate_binary<Mod>, "Remainder with the sign of x.", "fmod(x, y)");
  two("FloorMod", 1, infer_binary, evaluate_binary<FloorMod>, "Remainder with the sign of y.", "x - floor(x / y) * y");
  two("Equal", 1, infer_comparison, evaluate_comparison<Equal>, "x is y.", "x == y");
  two("NotEqual", 1, infer_comparison, evaluate_comparison<NotEqual>, "x is not y.", "x != y");
  two("Less", 1, infer_comparison, evaluate_comparison<Less>, "x < y.", "x < y");
  two("LessEqual", 1, infer_comparison, evaluate_comparison<LessEqual>, "x <= y.", "x <= y");
  two("Greater", 1, infer_comparison, evaluate_comparison<Greater>, "x > y.", "x > y");
  two("GreaterEqual", 1, infer_comparison, evaluate_comparison<GreaterEqual>, "x >= y.", "x >= y");
  two("LogicalAnd", 1, infer_logical, evaluate_comparison<And>, "Both.", "x && y");
  two("LogicalOr", 1, infer_logical, evaluate_comparison<Or>, "Either or both.", "x || y");
  two("LogicalXor", 1, infer_logical, evaluate_comparison<Xor>, "Either but not both.", "x != y");
  two("BitwiseAnd", 13, infer_bitwise, evaluate_bitwise<BitAnd>, "Bits set in both.", "x & y");
  two("BitwiseOr", 13, infer_bitwise, evaluate_bitwise<BitOr>, "Bits set in either.", "x | y");
  two("BitwiseXor", 13, infer_bitwise, evaluate_bitwise<BitXor>, "Bits set in one only.", "x ^ y");
  two("BitwiseLeftShift", 15, infer_bitwise, evaluate_bitwise<ShiftLeft>, "x shifted left by y bits.", "x << y");
  two("BitwiseRightShift", 15, infer_bitwise, evaluate_bitwise<ShiftRight>, "x shifted right by y bits.", "x >> y");
  table.add("Select", 1, 3, 3, infer_select, evaluate_select, "y where the condition holds, else z.")
      .text("auto_broadcast", "numpy", {"numpy", "none"})
      .expression("x ? y : z");
}

}  // namespace v1
}  // namespace tenon
