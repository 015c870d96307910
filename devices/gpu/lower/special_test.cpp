// SPDX-License-Identifier: Apache-2.0
// NaN, infinities, zeros with a sign and the ends of types through element-wise functions, reductions and pools. What is expected
// is computed here: reals as IEEE 754 and C (annex F) say, where numpy and ONNX Runtime agree; integers wrap.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <tenon/devices/gpu/testing/judge.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/runtime/runtime.hpp>

namespace tenon {
namespace special_test {

using namespace gpu_device::testing;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity(),
                kMost = std::numeric_limits<float>::max();
/// As many as vectors of 8 take.
const std::vector<float> kReals{kNan, kInf, -kInf, 0,     -0.0f, 1,   -1,  0.5f, -0.5f, 1.5f,   -2.5f, 2,
                                3,    -3,   -7.5f, 1e-9f, 8.9f,  -12, 100, -100, 1e9f,  -1e30f, kMost, -kMost};

template <typename T>
Tensor tensor_of(const std::vector<T>& values, const Shape& shape) {
  Tensor tensor(element_type_of<T>(), shape);
  std::copy(values.begin(), values.end(), static_cast<T*>(tensor.data()));
  return tensor;
}

/// One output each, of one model: few programs to build.
std::vector<Tensor> run(const OutputVector& results, const ParameterVector& parameters,
                        const std::vector<Tensor>& inputs) {
  const auto model = std::make_shared<Model>(results, parameters, "special");
  InferRequest request =
      Core().compile_model(model, "GPU", {hint::inference_precision(element::f32)}).create_infer_request();
  for (std::size_t i = 0; i < inputs.size(); ++i) request.set_input_tensor(i, inputs[i]);
  request.infer();
  std::vector<Tensor> made;
  for (std::size_t i = 0; i < results.size(); ++i) made.push_back(request.get_output_tensor(i));
  return made;
}

/// @param sign  Whether the sign of a zero counts.
void expect_real(float wanted, float got, const std::string& what, bool sign = false) {
  if (std::isnan(wanted) || std::isnan(got)) {
    EXPECT_EQ(std::isnan(wanted), std::isnan(got)) << what << ": " << got << " instead of " << wanted;
    return;
  }
  if (wanted == got) {
    if (sign) {
      EXPECT_EQ(std::signbit(wanted), std::signbit(got)) << what << ": the sign of a zero";
    }
    return;
  }
  EXPECT_LE(std::abs(wanted - got), 1e-6f + 2e-5f * std::abs(wanted))
      << what << ": " << got << " instead of " << wanted;
}

struct Unary {
  const char* type;
  unsigned opset;
  std::function<float(float)> wanted;
  Attributes attributes{};
  std::vector<double> more{};  ///< Scalars beside x.
  bool sign = false;
  float most = kMost;  ///< The largest argument: beyond it the device's function need not be near.
};

float softplus(float x) { return std::max(x, 0.0f) + std::log1p(std::exp(-std::abs(x))); }
float kept(float x, float low, float high) { return x != x ? x : std::min(std::max(x, low), high); }

const std::vector<Unary>& unaries() {
  static const std::vector<Unary> all{
      {"Relu", 1, [](float x) { return x != x || x > 0 ? x : 0; }},
      {"Abs", 1, [](float x) { return std::abs(x); }, {}, {}, true},
      {"Negative", 1, [](float x) { return -x; }, {}, {}, true},
      {"Sign", 1, [](float x) { return x != x ? x : static_cast<float>((x > 0) - (x < 0)); }},
      {"Sigmoid", 1, [](float x) { return 1 / (1 + std::exp(-x)); }},
      {"Tanh", 1, [](float x) { return std::tanh(x); }},
      {"Erf", 1, [](float x) { return std::erf(x); }},
      {"Exp", 1, [](float x) { return std::exp(x); }},
      {"Log", 1, [](float x) { return std::log(x); }},
      {"Sqrt", 1, [](float x) { return std::sqrt(x); }, {}, {}, true},
      {"Sin", 1, [](float x) { return std::sin(x); }, {}, {}, true, 1e3f},
      {"Cos", 1, [](float x) { return std::cos(x); }, {}, {}, false, 1e3f},
      {"Tan", 1, [](float x) { return std::tan(x); }, {}, {}, true, 1e3f},
      {"Asin", 1, [](float x) { return std::asin(x); }, {}, {}, true},
      {"Acos", 1, [](float x) { return std::acos(x); }},
      {"Atan", 1, [](float x) { return std::atan(x); }, {}, {}, true},
      {"Sinh", 1, [](float x) { return std::sinh(x); }, {}, {}, true},
      {"Cosh", 1, [](float x) { return std::cosh(x); }},
      {"Asinh", 4, [](float x) { return std::asinh(x); }, {}, {}, true},
      {"Acosh", 4, [](float x) { return std::acosh(x); }},
      {"Atanh", 4, [](float x) { return std::atanh(x); }, {}, {}, true},
      {"Floor", 1, [](float x) { return std::floor(x); }, {}, {}, true},
      {"Ceiling", 1, [](float x) { return std::ceil(x); }, {}, {}, true},
      {"Round", 5, [](float x) { return std::nearbyint(x); }, {{"mode", "half_to_even"}}, {}, true},
      {"Round", 5, [](float x) { return std::round(x); }, {{"mode", "half_away_from_zero"}}, {}, true},
      {"HSwish", 4, [](float x) { return x * (kept(x + 3, 0, 6) / 6); }},
      {"HSigmoid", 5, [](float x) { return kept(x + 3, 0, 6) / 6; }},
      {"SoftPlus", 4, [](float x) { return x != x ? x : softplus(x); }},
      {"SoftSign", 9, [](float x) { return x / (1 + std::abs(x)); }},
      {"Mish", 4, [](float x) { return x != x ? x : x * std::tanh(softplus(x)); }},
      {"Gelu", 2, [](float x) { return 0.5f * x * (1 + std::erf(x * 0.70710678f)); }},
      {"Gelu", 7, [](float x) { return 0.5f * x * (1 + std::erf(x * 0.70710678f)); }},
      {"Gelu",
       7,
       [](float x) { return 0.5f * x * (1 + std::tanh(0.79788456f * (x + 0.044715f * x * x * x))); },
       {{"approximation_mode", "TANH"}}},
      {"Elu", 1, [](float x) { return x > 0 ? x : 0.5f * std::expm1(x); }, {{"alpha", 0.5}}},
      {"Clamp", 1, [](float x) { return kept(x, -2, 1.25f); }, {{"min", -2.0}, {"max", 1.25}}},
      {"Clamp", 1, [](float x) { return kept(x, -kInf, 3); }, {{"min", -1.0 / 0.0}, {"max", 3.0}}},
      {"Swish", 4, [](float x) { return x / (1 + std::exp(-x)); }},
      {"HardSigmoid", 1, [](float x) { return kept(0.25f * x + 0.5f, 0, 1); }, {}, {0.25, 0.5}},
      {"Selu", 1, [](float x) { return 1.5f * (x > 0 ? x : 2 * std::expm1(x)); }, {}, {2, 1.5}},
      {"PRelu", 1, [](float x) { return x < 0 ? 0.25f * x : x; }, {}, {0.25}},
  };
  return all;
}

TEST_F(GpuLowering, SpecialRealsOfOneTensor) {
  const auto x = parameter({kReals.size()});
  OutputVector results;
  for (const Unary& unary : unaries()) {
    OutputVector inputs{x};
    for (const double more : unary.more) inputs.push_back(reals({}, {more}));
    results.push_back(outputs(unary.type, unary.opset, inputs, unary.attributes)[0]);
  }
  for (const char* test : {"IsNaN", "IsFinite", "IsInf"}) results.push_back(outputs(test, 10, {x})[0]);
  const std::vector<Tensor> made = run(results, {x}, {tensor_of(kReals, {kReals.size()})});
  for (std::size_t i = 0; i < kReals.size(); ++i) {
    for (std::size_t k = 0; k < unaries().size(); ++k) {
      const Unary& unary = unaries()[k];
      if (std::isfinite(kReals[i]) && std::abs(kReals[i]) > unary.most) continue;
      expect_real(unary.wanted(kReals[i]), made[k].data<float>()[i],
                  std::string(unary.type) + " of " + std::to_string(kReals[i]), unary.sign);
    }
    const auto test = [&](std::size_t k) { return made[unaries().size() + k].data<bool>()[i]; };
    EXPECT_EQ(test(0), std::isnan(kReals[i])) << kReals[i];
    EXPECT_EQ(test(1), std::isfinite(kReals[i])) << kReals[i];
    EXPECT_EQ(test(2), std::isinf(kReals[i])) << kReals[i];
  }
}

float greater(float a, float b) { return a != a || b != b ? kNan : std::max(a, b); }
float lesser(float a, float b) { return a != a || b != b ? kNan : std::min(a, b); }
float floor_mod(float a, float b) {
  const float rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

/// Every pair; a constant on either side; three in a row.
TEST_F(GpuLowering, SpecialRealsOfTwoTensors) {
  const std::size_t n = kReals.size();
  const auto x = parameter({n, 1}), y = parameter({1, n});
  struct Binary {
    const char* type;
    std::function<float(float, float)> wanted;
  };
  const std::vector<Binary> binaries{
      {"Add", [](float a, float b) { return a + b; }},
      {"Subtract", [](float a, float b) { return a - b; }},
      {"Multiply", [](float a, float b) { return a * b; }},
      {"Divide", [](float a, float b) { return a / b; }},
      {"Maximum", greater},
      {"Minimum", lesser},
      {"Power", [](float a, float b) { return std::pow(a, b); }},
      {"SquaredDifference", [](float a, float b) { return (a - b) * (a - b); }},
      {"Mod", [](float a, float b) { return std::fmod(a, b); }},
      {"FloorMod", floor_mod},
      {"Equal", [](float a, float b) { return a == b; }},
      {"NotEqual", [](float a, float b) { return a != b; }},
      {"Less", [](float a, float b) { return a < b; }},
      {"GreaterEqual", [](float a, float b) { return a >= b; }},
  };
  OutputVector results;
  for (const Binary& binary : binaries) {
    const Out made = outputs(binary.type, 1, {x, y})[0];
    results.push_back(made.get_element_type() == element::f32
                          ? made
                          : outputs("Convert", 1, {made}, {{"destination_type", element::f32}})[0]);
  }
  const auto one = reals({}, {1}), nan = reals({}, {0.0 / 0.0});
  results.push_back(outputs("Maximum", 1, {one, x})[0]);
  results.push_back(outputs("Minimum", 1, {x, one})[0]);
  results.push_back(outputs("Maximum", 1, {x, nan})[0]);
  results.push_back(outputs("Maximum", 1, {outputs("Maximum", 1, {one, x})[0], y})[0]);
  results.push_back(outputs("Minimum", 1, {y, outputs("Minimum", 1, {x, one})[0]})[0]);
  const std::vector<Tensor> made = run(results, {x, y}, {tensor_of(kReals, {n, 1}), tensor_of(kReals, {1, n})});
  const auto value = [&](std::size_t k, std::size_t at) { return made[k].data<float>()[at]; };
  const std::size_t rest = binaries.size();
  for (std::size_t i = 0; i < n; ++i) {
    const float a = kReals[i];
    for (std::size_t j = 0; j < n; ++j) {
      const float b = kReals[j];
      const std::string pair = " of " + std::to_string(a) + " and " + std::to_string(b);
      for (std::size_t k = 0; k < rest; ++k)
        expect_real(binaries[k].wanted(a, b), value(k, i * n + j), binaries[k].type + pair);
      expect_real(greater(greater(1, a), b), value(rest + 3, i * n + j), "the greatest of 1" + pair);
      expect_real(lesser(lesser(1, a), b), value(rest + 4, i * n + j), "the least of 1" + pair);
    }
    expect_real(greater(1, a), value(rest, i), "the greater of 1 and " + std::to_string(a));
    expect_real(lesser(a, 1), value(rest + 1, i), "the lesser of 1 and " + std::to_string(a));
    expect_real(kNan, value(rest + 2, i), "the greater of NaN and " + std::to_string(a));
  }
}

/// A NaN at the begin, in the middle and at the end of a row; rows of infinities; long rows, which a group of work-items shares.
TEST_F(GpuLowering, SpecialRealsInReductionsAndPools) {
  for (const std::size_t width : {std::size_t{6}, std::size_t{600}}) {
    std::vector<float> rows;
    for (const std::vector<float>& begin : std::vector<std::vector<float>>{
             {kNan, 1, 2}, {1, kNan, 2}, {-kInf, -kInf, -kInf}, {kInf, -1, 2}, {-1, -kInf, kInf}, {kMost, kMost, 1}}) {
      std::vector<float> row(width, begin[2]);
      row.front() = begin[0];
      row[width / 2] = begin[1];
      rows.insert(rows.end(), row.begin(), row.end());
    }
    rows[width - 1] = kNan;
    rows[0] = 1;  // The first row's NaN is its last element.
    const std::size_t count = rows.size() / width;
    const auto x = parameter({count, width});
    OutputVector results;
    for (const char* type : {"ReduceMax", "ReduceMin", "ReduceSum", "ReduceMean", "ReduceProd", "ReduceL1", "ReduceL2"})
      results.push_back(outputs(type, 4, {x, ints({1})}, {{"keep_dims", false}})[0]);
    results.push_back(outputs("Softmax", 8, {x}, {{"axis", 1}})[0]);
    results.push_back(outputs("LogSoftmax", 5, {x}, {{"axis", 1}})[0]);
    const std::vector<Tensor> made = run(results, {x}, {tensor_of(rows, {count, width})});
    for (std::size_t r = 0; r < count; ++r) {
      const float* row = rows.data() + r * width;
      std::vector<float> wanted{-kInf, kInf, 0, 0, 1, 0, 0};
      for (std::size_t i = 0; i < width; ++i) {
        wanted[0] = greater(wanted[0], row[i]), wanted[1] = lesser(wanted[1], row[i]);
        wanted[2] += row[i], wanted[4] *= row[i], wanted[5] += std::abs(row[i]), wanted[6] += row[i] * row[i];
      }
      wanted[3] = wanted[2] / static_cast<float>(width), wanted[6] = std::sqrt(wanted[6]);
      for (std::size_t k = 0; k < wanted.size(); ++k)
        expect_real(wanted[k], made[k].data<float>()[r],
                    "reduction " + std::to_string(k) + " of row " + std::to_string(r));
      float sum = 0;
      for (std::size_t i = 0; i < width; ++i) sum += std::exp(row[i] - wanted[0]);
      for (std::size_t i = 0; i < width; ++i) {
        const std::string at = " of row " + std::to_string(r) + ", element " + std::to_string(i);
        expect_real(std::exp(row[i] - wanted[0]) / sum, made[7].data<float>()[r * width + i], "softmax" + at);
        expect_real(row[i] - wanted[0] - std::log(sum), made[8].data<float>()[r * width + i], "its logarithm" + at);
      }
    }
  }
}

/// Variances, sums of squares and sums of many numbers are beyond f16, though the results are not.
TEST_F(GpuLowering, StatisticsOfHalvesHaveMoreRoom) {
  const auto x = parameter({3, 64}), picture = parameter({2, 4, 5, 6}), many = parameter({1, 70000});
  const auto scales = [](const Out& data, double by) { return outputs("Multiply", 1, {data, reals({}, {by})})[0]; };
  const auto to = [](const Out& data, element::Type type) {
    return outputs("Convert", 1, {data}, {{"destination_type", type}})[0];
  };
  // What the GPU makes of halves, beside what the reference makes of the same numbers in f32.
  const auto results = [&](element::Type type) {
    const auto half = [&](const Out& data) { return to(to(data, element::f16), type); };
    const Out rows = half(scales(x, 3000)), maps = half(scales(picture, 3000)), ones = half(reals({4}, {1, 1, 1, 1}));
    OutputVector made;
    for (const char* mode : {"inside_sqrt", "outside_sqrt"})
      for (const auto& [data, axes] : {std::pair{rows, ints({1})}, std::pair{maps, ints({0, 2, 3})}})
        made.push_back(
            outputs("MVN", 6, {data, axes}, {{"normalize_variance", true}, {"eps", 1e-5}, {"eps_mode", mode}})[0]);
    made.push_back(outputs("GroupNormalization", 12, {maps, ones, ones}, {{"num_groups", 2}, {"epsilon", 1e-5}})[0]);
    made.push_back(outputs("NormalizeL2", 1, {rows, ints({1})}, {{"eps", 1e-5}, {"eps_mode", "add"}})[0]);
    made.push_back(outputs("LogSoftmax", 5, {half(many)}, {{"axis", 1}})[0]);
    for (Out& each : made) each = to(each, element::f32);
    return made;
  };
  const std::vector<Tensor> inputs{random_tensor(ElementType::kF32, {3, 64}, 1),
                                   random_tensor(ElementType::kF32, {2, 4, 5, 6}, 2),
                                   random_tensor(ElementType::kF32, {1, 70000}, 3)};
  const std::vector<Tensor> wanted = evaluate(Model(results(element::f32), ParameterVector{x, picture, many}), inputs);
  const std::vector<Tensor> got = run(results(element::f16), {x, picture, many}, inputs);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    SCOPED_TRACE("output " + std::to_string(i));
    expect_close(wanted[i], got[i], 4e-3);
  }
}

/// Numbers displace a NaN in a maximum of a window, as in the ONNX reference; a mean keeps it. Infinities are numbers.
TEST_F(GpuLowering, SpecialRealsInPools) {
  const auto x = parameter({1, 1, 1, 5});
  const std::vector<std::int64_t> none{0, 0}, one{1, 1}, pair{1, 2};
  Attributes window{{"kernel", pair},   {"strides", one},           {"pads_begin", none},
                    {"pads_end", none}, {"rounding_type", "floor"}, {"auto_pad", "explicit"}};
  OutputVector results{outputs("MaxPool", 1, {x}, window)[0]};
  window.set("exclude-pad", true);
  results.push_back(outputs("AvgPool", 1, {x}, window)[0]);
  const std::vector<Tensor> made = run(results, {x}, {tensor_of<float>({1, kNan, 2, -kInf, -kInf}, {1, 1, 1, 5})});
  const float greatest[] = {1, 2, 2, -kInf}, mean[] = {kNan, kNan, -kInf, -kInf};
  for (std::size_t i = 0; i < 4; ++i) {
    expect_real(greatest[i], made[0].data<float>()[i], "the maximum of window " + std::to_string(i));
    expect_real(mean[i], made[1].data<float>()[i], "the mean of window " + std::to_string(i));
  }
}

template <typename T>
std::vector<T> ends_and_between() {
  using Ends = std::numeric_limits<T>;
  constexpr auto kBits = static_cast<T>(sizeof(T) * 8);
  std::vector<T> values{Ends::min(),
                        static_cast<T>(Ends::min() + 1),
                        0,
                        1,
                        2,
                        7,
                        static_cast<T>(kBits - 1),
                        kBits,
                        static_cast<T>(kBits + 1),
                        static_cast<T>(Ends::max() - 1),
                        Ends::max()};
  if (std::is_signed_v<T>) values.insert(values.end(), {static_cast<T>(-1), static_cast<T>(-3)});
  return values;
}

/// What T's arithmetic gives where it wraps.
template <typename T, typename F>
T wrapped(T a, T b, const F& function) {
  return static_cast<T>(function(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
}
template <typename T>
T quotient(T a, T b, bool down) {
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return wrapped(T{0}, a, std::minus<>());
  const T cut = static_cast<T>(a / b);
  return static_cast<T>(cut - (down && a % b != 0 && (a < 0) != (b < 0)));
}
template <typename T>
T remainder(T a, T b) {
  return std::is_signed_v<T> && b == static_cast<T>(-1) ? T{0} : static_cast<T>(a % b);
}
template <typename T>
bool is_out(T shift) {
  return static_cast<std::uint64_t>(shift) >= sizeof(T) * 8;
}

template <typename T>
class GpuSpecialIntegers : public GpuLowering {};
using IntegerTypes = ::testing::Types<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t,
                                      std::uint32_t, std::int64_t, std::uint64_t>;
TYPED_TEST_SUITE(GpuSpecialIntegers, IntegerTypes);

TYPED_TEST(GpuSpecialIntegers, OfTwoTensors) {
  using T = TypeParam;
  const std::vector<T> values = ends_and_between<T>();
  const std::size_t n = values.size();
  struct Binary {
    const char* type;
    unsigned opset;
    std::function<T(T, T)> wanted;
    Attributes attributes{};
    bool divides = false;
  };
  const std::vector<Binary> binaries{
      {"Add", 1, [](T a, T b) { return wrapped(a, b, std::plus<>()); }},
      {"Subtract", 1, [](T a, T b) { return wrapped(a, b, std::minus<>()); }},
      {"Multiply", 1, [](T a, T b) { return wrapped(a, b, std::multiplies<>()); }},
      {"SquaredDifference", 1,
       [](T a, T b) { return wrapped(a, b, [](std::uint64_t x, std::uint64_t y) { return (x - y) * (x - y); }); }},
      {"Maximum", 1, [](T a, T b) { return std::max(a, b); }},
      {"Minimum", 1, [](T a, T b) { return std::min(a, b); }},
      {"Divide", 1, [](T a, T b) { return quotient(a, b, false); }, {{"m_pythondiv", false}}, true},
      {"Divide", 1, [](T a, T b) { return quotient(a, b, true); }, {{"m_pythondiv", true}}, true},
      {"Mod", 1, [](T a, T b) { return remainder(a, b); }, {}, true},
      {"FloorMod",
       1,
       [](T a, T b) {
         const T rest = remainder(a, b);
         return static_cast<T>(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
       },
       {},
       true},
      {"BitwiseAnd", 13, [](T a, T b) { return static_cast<T>(a & b); }},
      {"BitwiseXor", 13, [](T a, T b) { return static_cast<T>(a ^ b); }},
      {"BitwiseLeftShift", 15,
       [](T a, T b) {
         return is_out(b) ? T{0} : static_cast<T>(static_cast<std::uint64_t>(a) << static_cast<std::uint64_t>(b));
       }},
      {"BitwiseRightShift", 15,
       [](T a, T b) { return is_out(b) ? static_cast<T>(a < 0 ? -1 : 0) : static_cast<T>(a >> static_cast<int>(b)); }},
  };
  const auto x = parameter({n, 1}, element_type_of<T>()), y = parameter({1, n}, element_type_of<T>());
  OutputVector results;
  for (const Binary& binary : binaries)
    results.push_back(outputs(binary.type, binary.opset, {x, y}, binary.attributes)[0]);
  results.push_back(outputs("Less", 1, {x, outputs("Add", 1, {x, y})[0]})[0]);
  const std::vector<Tensor> made = run(results, {x, y}, {tensor_of(values, {n, 1}), tensor_of(values, {1, n})});
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      const T a = values[i], b = values[j];
      for (std::size_t k = 0; k < binaries.size(); ++k) {
        if (binaries[k].divides && b == 0) continue;
        EXPECT_EQ(binaries[k].wanted(a, b), static_cast<const T*>(made[k].data())[i * n + j])
            << binaries[k].type << " of " << +a << " and " << +b;
      }
      EXPECT_EQ(a < wrapped(a, b, std::plus<>()), made.back().data<bool>()[i * n + j]) << +a << " and " << +b;
    }
}

TYPED_TEST(GpuSpecialIntegers, OfOneTensor) {
  using T = TypeParam;
  const std::vector<T> values = ends_and_between<T>();
  struct Unary {
    const char* type;
    unsigned opset;
    std::function<T(T)> wanted;
    Attributes attributes{};
  };
  const std::vector<Unary> unaries{
      {"Negative", 1, [](T a) { return wrapped(T{0}, a, std::minus<>()); }},
      {"Abs", 1, [](T a) { return a < 0 ? wrapped(T{0}, a, std::minus<>()) : a; }},
      {"Sign", 1, [](T a) { return static_cast<T>((a > 0) - (a < 0)); }},
      {"Relu", 1, [](T a) { return std::max(a, T{0}); }},
      {"BitwiseNot", 13, [](T a) { return static_cast<T>(~a); }},
      {"Clamp", 1, [](T a) { return std::min(std::max(a, T{2}), T{7}); }, {{"min", 1.5}, {"max", 7.5}}},
      {"Clamp", 1, [](T a) { return std::min(a, T{5}); }, {{"min", -1e300}, {"max", 5.0}}},
      {"Clamp", 1, [](T a) { return std::max(a, T{5}); }, {{"min", 5.0}, {"max", 1.0 / 0.0}}},
  };
  const auto x = parameter({values.size()}, element_type_of<T>());
  OutputVector results;
  for (const Unary& unary : unaries) results.push_back(outputs(unary.type, unary.opset, {x}, unary.attributes)[0]);
  const std::vector<Tensor> made = run(results, {x}, {tensor_of(values, {values.size()})});
  for (std::size_t i = 0; i < values.size(); ++i)
    for (std::size_t k = 0; k < unaries.size(); ++k)
      EXPECT_EQ(unaries[k].wanted(values[i]), static_cast<const T*>(made[k].data())[i])
          << unaries[k].type << " of " << +values[i];
}

/// No elements give what leaves other values as they are. In one type also where shapes move: extents are arguments then.
TYPED_TEST(GpuSpecialIntegers, OfNothing) {
  using T = TypeParam;
  using Ends = std::numeric_limits<T>;
  for (const bool is_open : {false, true}) {
    if (is_open && !std::is_same_v<T, std::int32_t>) continue;
    const auto x = is_open ? open_parameter(2, element_type_of<T>()) : parameter({3, 0}, element_type_of<T>());
    OutputVector results;
    for (const char* type : {"ReduceSum", "ReduceMean", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2"})
      results.push_back(outputs(type, 4, {x, ints({1})}, {{"keep_dims", true}})[0]);
    const T wanted[] = {0, 0, 1, Ends::lowest(), Ends::max(), 0, 0};
    const std::vector<Tensor> made = run(results, {x}, {Tensor(element_type_of<T>(), Shape{3, 0})});
    for (std::size_t k = 0; k < results.size(); ++k) {
      ASSERT_EQ(made[k].shape(), Shape({3, 1}));
      for (std::size_t i = 0; i < 3; ++i)
        EXPECT_EQ(wanted[k], static_cast<const T*>(made[k].data())[i])
            << "reduction " << k << (is_open ? ", open" : "");
    }
  }
}

TEST_F(GpuLowering, ReductionsOfNoReals) {
  const auto x = parameter({2, 0});
  OutputVector results;
  for (const char* type : {"ReduceSum", "ReduceMean", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2"})
    results.push_back(outputs(type, 4, {x, ints({1})}, {{"keep_dims", false}})[0]);
  const float wanted[] = {0, kNan, 1, -kInf, kInf, 0, 0};
  const std::vector<Tensor> made = run(results, {x}, {Tensor(element::f32, Shape{2, 0})});
  for (std::size_t k = 0; k < results.size(); ++k)
    for (std::size_t i = 0; i < 2; ++i)
      expect_real(wanted[k], made[k].data<float>()[i], "reduction " + std::to_string(k));
}

/// A square root of integers is exact where a float's would not be.
TEST_F(GpuLowering, LengthsOfLargeIntegers) {
  const std::vector<std::int64_t> values{3000000001, 123456789, 2147483647, 0, 94906267, 1};
  const auto x = parameter({values.size(), 1}, element::i64);
  const auto made =
      run(outputs("ReduceL2", 4, {x, ints({1})}, {{"keep_dims", false}}), {x}, {tensor_of(values, {values.size(), 1})});
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], made[0].data<std::int64_t>()[i]);
}

}  // namespace special_test
}  // namespace tenon
