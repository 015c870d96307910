// SPDX-License-Identifier: Apache-2.0
// Element-wise operations of one tensor.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include <tenon/graph/ops/internal/kernel.hpp>
#include <tenon/graph/ops/internal/table_rows.hpp>

namespace tenon {
inline namespace v1 {

namespace {
/// Applies F to every element, in the element type's compute type.
template <typename F>
void each(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  dispatch_compute(inputs[0].element_type(), [&](auto zero) {
    using T = decltype(zero);
    const F f(node, inputs);
    const Read<T> x(inputs[0]);
    Write<T> y(outputs[0]);
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = f(x[i]);
    y.commit();
  });
}
/// Like each, but computes integers as float, for functions without an integer form.
template <typename F>
void each_real(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  dispatch_real(inputs[0].element_type(), [&](auto zero) {
    using T = decltype(zero);
    const F f(node, inputs);
    const Read<T> x(inputs[0]);
    Write<T> y(outputs[0]);
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = f(x[i]);
    y.commit();
  });
}
/// Real in, boolean out.
template <typename F>
void each_test(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const F f(node, inputs);
  const Read<double> x(inputs[0]);
  Write<std::int64_t> y(outputs[0]);
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = f(x[i]);
  y.commit();
}

struct Plain {
  Plain(const Node&, std::span<const Tensor>) {}
};
#define TENON_FUNCTION(Name, expression) \
  struct Name : Plain {                  \
    using Plain::Plain;                  \
    template <typename T>                \
    T operator()(T x) const {            \
      return static_cast<T>(expression); \
    }                                    \
  };
TENON_FUNCTION(Relu, x > T{0} ? x : (x != x ? x : T{0}))
// 0 - x in unsigned arithmetic: the smallest integer has no negative, and overflow would be undefined.
struct Negative : Plain {
  using Plain::Plain;
  template <typename T>
  T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>)
      return -x;
    else
      return static_cast<T>(std::uint64_t{0} - static_cast<std::uint64_t>(x));
  }
};
struct Abs : Plain {
  using Plain::Plain;
  template <typename T>
  T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>)
      return std::abs(x);
    else
      return x < T{0} ? static_cast<T>(std::uint64_t{0} - static_cast<std::uint64_t>(x)) : x;
  }
};
TENON_FUNCTION(Sign, x != x ? x : T((x > T{0}) - (x < T{0})))
TENON_FUNCTION(Sigmoid, T{1} / (T{1} + std::exp(-x)))
TENON_FUNCTION(Tanh, std::tanh(x))
TENON_FUNCTION(Erf, std::erf(x))
TENON_FUNCTION(Exp, std::exp(x))
TENON_FUNCTION(Log, std::log(x))
TENON_FUNCTION(Sqrt, std::sqrt(x))
TENON_FUNCTION(Sin, std::sin(x))
TENON_FUNCTION(Cos, std::cos(x))
TENON_FUNCTION(Tan, std::tan(x))
TENON_FUNCTION(Asin, std::asin(x))
TENON_FUNCTION(Acos, std::acos(x))
TENON_FUNCTION(Atan, std::atan(x))
TENON_FUNCTION(Sinh, std::sinh(x))
TENON_FUNCTION(Cosh, std::cosh(x))
TENON_FUNCTION(Asinh, std::asinh(x))
TENON_FUNCTION(Acosh, std::acosh(x))
TENON_FUNCTION(Atanh, std::atanh(x))
TENON_FUNCTION(HSwish, x*(std::clamp(x + T{3}, T{0}, T{6}) / T{6}))
TENON_FUNCTION(HSigmoid, std::clamp(x + T{3}, T{0}, T{6}) / T{6})
TENON_FUNCTION(SoftPlus, std::max(x, T{0}) + std::log1p(std::exp(-std::abs(x))))
TENON_FUNCTION(SoftSign, x / (T{1} + std::abs(x)))
TENON_FUNCTION(Mish, x* std::tanh(std::max(x, T{0}) + std::log1p(std::exp(-std::abs(x)))))
/// M. Giles, "Approximating the erfinv function", GPU Computing Gems, 2011: his polynomials for single precision, of
/// w - 2.5 and sqrt(w) - 3 with w = -log(1 - x * x), below and from w = 5 on.
constexpr double kNearErfInv[] = {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
                                  -0.00125372503, -0.00417768164, 0.246640727,    1.50140941};
constexpr double kFarErfInv[] = {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
                                 -0.0076224613,   0.00943887047,  1.00167406,    2.83297682};

double inverse_erf(double x) {
  if (!(std::abs(x) < 1)) return x / std::sqrt(1 - std::abs(x));  // An infinity at the ends, NaN beyond them.
  const double w = -std::log1p(-x * x), at = w < 5 ? w - 2.5 : std::sqrt(w) - 3;
  double sum = 0;
  for (const double factor : w < 5 ? kNearErfInv : kFarErfInv) sum = sum * at + factor;
  double y = sum * x;
  // Beside the ends 1 - |x| has the digits that erf(y) - x would lose.
  for (int step = 0; step < 2; ++step) {
    const double miss = (1 - std::abs(x)) - std::erfc(std::abs(y));
    y -= (x < 0 ? -miss : miss) / (1.1283791670955126 * std::exp(-y * y));
  }
  return y;
}
std::string inverse_erf_text() {
  const auto polynomial = [](const auto& factors, const std::string& at) {
    std::string text;
    for (const double factor : factors) {
      char number[32];
      std::snprintf(number, sizeof number, "%.9ef", factor);
      text = text.empty() ? number : "(" + text + " * " + at + " + " + number + ")";
    }
    return text;
  };
  const std::string w = "(-log1p(-x * x))";
  return "abs(x) < 1 ? (" + w + " < 5 ? " + polynomial(kNearErfInv, "(" + w + " - 2.5f)") + " : " +
         polynomial(kFarErfInv, "(sqrt(" + w + ") - 3)") + ") * x : x / sqrt(1 - abs(x))";
}
TENON_FUNCTION(ErfInv, inverse_erf(static_cast<double>(x)))
TENON_FUNCTION(GeluErf, T(0.5) * x * (T{1} + std::erf(x * T(0.70710678118654752440))))
TENON_FUNCTION(LogicalNot, x == T{0})
struct Floor : Plain {
  using Plain::Plain;
  template <typename T>
  T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>)
      return std::floor(x);
    else
      return x;
  }
};
struct Ceiling : Plain {
  using Plain::Plain;
  template <typename T>
  T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>)
      return std::ceil(x);
    else
      return x;
  }
};
struct Round {
  Round(const Node& node, std::span<const Tensor>) : even(node.get_attributes().get_string("mode") == "half_to_even") {}
  template <typename T>
  T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>)
      return even ? std::nearbyint(x) : std::round(x);
    else
      return x;
  }
  bool even;
};
struct Elu {
  Elu(const Node& node, std::span<const Tensor>) : alpha(node.get_attributes().get_double("alpha")) {}
  template <typename T>
  T operator()(T x) const {
    return x > T{0} ? x : static_cast<T>(alpha) * std::expm1(x);
  }
  double alpha;
};
struct Clamp {
  Clamp(const Node& node, std::span<const Tensor>)
      : low(node.get_attributes().get_double("min")), high(node.get_attributes().get_double("max")) {}
  template <typename T>
  T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>)
      return x != x ? x : std::min(std::max(x, static_cast<T>(low)), static_cast<T>(high));
    else  // Fractional bounds are rounded inwards; an f64 does not hold every x.
      return std::min(std::max(x, bounded<T>(std::ceil(low))), bounded<T>(std::floor(high)));
  }
  template <typename T>
  static T bounded(double value) {
    T result{};
    load_elements(ElementType::kF64, &value, sizeof value, 1, &result);
    return result;
  }
  double low, high;
};
struct Gelu7 {
  Gelu7(const Node& node, std::span<const Tensor>)
      : tanh(node.get_attributes().get_string("approximation_mode") == "TANH") {}
  template <typename T>
  T operator()(T x) const {
    if (tanh) return T(0.5) * x * (T{1} + std::tanh(T(0.79788456080286535588) * (x + T(0.044715) * x * x * x)));
    return T(0.5) * x * (T{1} + std::erf(x * T(0.70710678118654752440)));
  }
  bool tanh;
};
double scalar_input(std::span<const Tensor> inputs, std::size_t index, double fallback) {
  if (index >= inputs.size()) return fallback;
  const auto values = to_vector<double>(inputs[index]);
  if (values.size() != 1)
    fail("input " + std::to_string(index) + ": expected one value, found " + std::to_string(values.size()));
  return values[0];
}
struct Swish {
  Swish(const Node&, std::span<const Tensor> inputs) : beta(scalar_input(inputs, 1, 1)) {}
  template <typename T>
  T operator()(T x) const {
    return x / (T{1} + std::exp(static_cast<T>(-beta) * x));
  }
  double beta;
};
struct HardSigmoid {
  HardSigmoid(const Node&, std::span<const Tensor> inputs)
      : alpha(scalar_input(inputs, 1, 0)), beta(scalar_input(inputs, 2, 0)) {}
  template <typename T>
  T operator()(T x) const {
    const T y = static_cast<T>(alpha) * x + static_cast<T>(beta);
    return y != y ? y : std::clamp(y, T{0}, T{1});
  }
  double alpha, beta;
};
struct Selu {
  Selu(const Node&, std::span<const Tensor> inputs)
      : alpha(scalar_input(inputs, 1, 0)), lambda(scalar_input(inputs, 2, 0)) {}
  template <typename T>
  T operator()(T x) const {
    return static_cast<T>(lambda) * (x > T{0} ? x : static_cast<T>(alpha) * std::expm1(x));
  }
  double alpha, lambda;
};
struct IsNan : Plain {
  using Plain::Plain;
  bool operator()(double x) const { return std::isnan(x); }
};
struct IsFinite : Plain {
  using Plain::Plain;
  bool operator()(double x) const { return std::isfinite(x); }
};
struct IsInf {
  IsInf(const Node& node, std::span<const Tensor>)
      : negative(node.get_attributes().get_bool("detect_negative")),
        positive(node.get_attributes().get_bool("detect_positive")) {}
  bool operator()(double x) const { return std::isinf(x) && (x < 0 ? negative : positive); }
  bool negative, positive;
};

void evaluate_prelu(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  // A one-dimensional slope applies to channels (axis 1) if it has as many values; otherwise it broadcasts as in numpy.
  const Shape& shape = inputs[0].shape();
  Shape slope = inputs[1].shape();
  if (slope.size() == 1 && slope[0] != 1 && shape.size() > 1 && slope[0] == shape[1]) {
    Shape expanded(shape.size() - 1, 1);
    expanded[0] = slope[0];
    slope = expanded;
  }
  if (shape.empty() && slope == Shape{1}) slope = {};
  if (slope.size() > shape.size())
    fail("slope of shape " + to_string(slope) + " does not fit data of shape " + to_string(shape));
  std::vector<std::size_t> steps(shape.size(), 0);
  const auto own = element_strides(slope);
  for (std::size_t axis = 0; axis < slope.size(); ++axis) {
    const std::size_t at = axis + shape.size() - slope.size();
    if (slope[axis] != 1 && slope[axis] != shape[at])
      fail("slope of shape " + to_string(slope) + " does not fit data of shape " + to_string(shape));
    steps[at] = slope[axis] == 1 ? 0 : own[axis];
  }
  dispatch_compute(inputs[0].element_type(), [&](auto zero) {
    using T = decltype(zero);
    const Read<T> x(inputs[0]), a(inputs[1]);
    Write<T> y(outputs[0]);
    std::vector<std::size_t> index(shape.size(), 0);
    for (std::size_t i = 0; i < x.size(); ++i) {
      std::size_t at = 0;
      for (std::size_t axis = 0; axis < shape.size(); ++axis) at += index[axis] * steps[axis];
      y[i] = x[i] < T{0} ? x[i] * a[at] : x[i];
      advance(index, shape);
    }
    y.commit();
  });
}

void infer_real(Node& node) {
  require_real(node, 0);
  infer_same(node);
}
void infer_test(Node& node) { node.set_output_type(0, element::boolean, node.get_input_partial_shape(0)); }
void infer_clamp(Node& node) {
  const double low = node.get_attributes().get_double("min"), high = node.get_attributes().get_double("max");
  if (!(low <= high)) fail("min " + std::to_string(low) + " is greater than max " + std::to_string(high));
  infer_same(node);
}
void infer_not(Node& node) {
  const element::Type type = node.get_input_element_type(0);
  if (!type.is_dynamic() && !(type == element::boolean)) fail("expected boolean, found " + type.to_string());
  infer_same(node);
}
void infer_bitwise_not(Node& node) {
  if (node.get_input_element_type(0).is_real()) require_integral(node, 0);
  infer_same(node);
}
void evaluate_bitwise_not(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const bool logical = inputs[0].element_type() == ElementType::kBool;
  const Read<std::int64_t> x(inputs[0]);
  Write<std::int64_t> y(outputs[0]);
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = logical ? !x[i] : ~x[i];
  y.commit();
}
}  // namespace

void add_activation_rows(OperationTable& table) {
  const auto one = [&](const char* type, unsigned opset, Kernel kernel, const char* description, const char* expression,
                       void (*infer)(Node&) = infer_same) {
    return table.add(type, opset, 1, 1, infer, kernel, description).expression(expression);
  };
  one("Relu", 1, each<Relu>, "max(x, 0).", "max(x, 0)");
  one("Abs", 1, each<Abs>, "Magnitude.", "abs(x)");
  one("Negative", 1, each<Negative>, "-x.", "-x");
  one("Sign", 1, each<Sign>, "-1, 0 or 1.", "sign(x)");
  one("Sigmoid", 1, each_real<Sigmoid>, "1 / (1 + exp(-x)).", "1 / (1 + exp(-x))");
  one("Tanh", 1, each_real<Tanh>, "Hyperbolic tangent.", "tanh(x)");
  one("Erf", 1, each_real<Erf>, "Error function.", "erf(x)");
  one("ErfInv", 17, each_real<ErfInv>, "Inverse error function.", inverse_erf_text().c_str(), infer_real);
  one("Exp", 1, each_real<Exp>, "e to the x.", "exp(x)");
  one("Log", 1, each_real<Log>, "Natural logarithm.", "log(x)");
  one("Sqrt", 1, each_real<Sqrt>, "Square root.", "sqrt(x)");
  one("Sin", 1, each_real<Sin>, "Sine.", "sin(x)");
  one("Cos", 1, each_real<Cos>, "Cosine.", "cos(x)");
  one("Tan", 1, each_real<Tan>, "Tangent.", "tan(x)");
  one("Asin", 1, each_real<Asin>, "Inverse sine.", "asin(x)");
  one("Acos", 1, each_real<Acos>, "Inverse cosine.", "acos(x)");
  one("Atan", 1, each_real<Atan>, "Inverse tangent.", "atan(x)");
  one("Sinh", 1, each_real<Sinh>, "Hyperbolic sine.", "sinh(x)");
  one("Cosh", 1, each_real<Cosh>, "Hyperbolic cosine.", "cosh(x)");
  one("Asinh", 4, each_real<Asinh>, "Inverse hyperbolic sine.", "asinh(x)");
  one("Acosh", 4, each_real<Acosh>, "Inverse hyperbolic cosine.", "acosh(x)");
  one("Atanh", 4, each_real<Atanh>, "Inverse hyperbolic tangent.", "atanh(x)");
  one("Floor", 1, each<Floor>, "Rounds down.", "floor(x)");
  one("Ceiling", 1, each<Ceiling>, "Rounds up.", "ceil(x)");
  table
      .add("Round", 5, 1, 1, infer_same, each<Round>,
           "Rounds to the nearest integer; mode decides the rounding of halves.")
      .text("mode", "half_to_even", {"half_to_even", "half_away_from_zero"});
  one("HSwish", 4, each_real<HSwish>, "x * min(max(x + 3, 0), 6) / 6.", "x * min(max(x + 3, 0), 6) / 6", infer_real);
  one("HSigmoid", 5, each_real<HSigmoid>, "min(max(x + 3, 0), 6) / 6.", "min(max(x + 3, 0), 6) / 6", infer_real);
  one("SoftPlus", 4, each_real<SoftPlus>, "log(1 + exp(x)).", "max(x, 0) + log1p(exp(-abs(x)))", infer_real);
  one("SoftSign", 9, each_real<SoftSign>, "x / (1 + |x|).", "x / (1 + abs(x))", infer_real);
  one("Mish", 4, each_real<Mish>, "x * tanh(softplus(x)).", "x * tanh(max(x, 0) + log1p(exp(-abs(x))))", infer_real);
  one("Gelu", 2, each_real<GeluErf>, "Gaussian error linear unit by erf.",
      "0.5 * x * (1 + erf(x * 0.70710678118654752f))", infer_real);
  table
      .add("Gelu", 7, 1, 1, infer_real, each_real<Gelu7>,
           "Gaussian error linear unit; by erf or its tanh approximation.")
      .text("approximation_mode", "ERF", {"ERF", "TANH"});
  table.add("Elu", 1, 1, 1, infer_same, each_real<Elu>, "x, or alpha * (exp(x) - 1) below 0.")
      .real("alpha")
      .expression("x > 0 ? x : a * expm1(x)");
  table.add("Clamp", 1, 1, 1, infer_clamp, each<Clamp>, "Limits x to min..max.")
      .real("min")
      .real("max")
      .expression("min(max(x, a), b)");
  table.add("Swish", 4, 1, 2, infer_real, each_real<Swish>, "x * sigmoid(beta * x); beta is an optional second input.");
  table.add("HardSigmoid", 1, 3, 3, infer_real, each_real<HardSigmoid>, "max(0, min(1, alpha * x + beta)).");
  table.add("Selu", 1, 3, 3, infer_real, each_real<Selu>, "lambda * (x, or alpha * (exp(x) - 1) below 0).");
  table.add("PRelu", 1, 2, 2, infer_same, evaluate_prelu,
            "x, or slope * x below 0; one slope per channel or broadcast.");
  table.add("IsNaN", 10, 1, 1, infer_test, each_test<IsNan>, "True where x is not a number.");
  table.add("IsFinite", 10, 1, 1, infer_test, each_test<IsFinite>, "True where x is neither infinite nor NaN.");
  table.add("IsInf", 10, 1, 1, infer_test, each_test<IsInf>, "True where x is infinite.")
      .flag("detect_negative", true)
      .flag("detect_positive", true);
  table.add("LogicalNot", 1, 1, 1, infer_not, each<LogicalNot>, "Not x.").expression("!x");
  table.add("BitwiseNot", 13, 1, 1, infer_bitwise_not, evaluate_bitwise_not, "Every bit inverted; of booleans, not x.");
}

}  // namespace v1
}  // namespace tenon
