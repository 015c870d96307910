// SPDX-License-Identifier: Apache-2.0
// The kernels of small tensors, against the reference: all lengths around a vector's, numbers of all sizes, and NaN.
#include <cmath>
#include <limits>

#include <tenon/engine/kernels/simd/elementwise.hpp>
#include <tenon/engine/testing/judged_models.hpp>

namespace tenon::engine_test {
namespace elementwise_test {

std::vector<float> numbers() {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> all{0.f,   -0.f,  1.f,   -1.f,   3.f,    -3.f,   87.f,  88.8f,  -87.4f,    -103.f,     -104.5f,
                         104.f, 200.f, -200., 1e-30f, -1e-30, 1e-40f, 3e38f, -3e38f, kInfinity, -kInfinity, NAN};
  for (float x = -12; x < 12; x += 0.37f) all.push_back(x);
  return all;
}

void expect_as_reference(const char* type, unsigned version, std::size_t count, std::size_t shift, bool two,
                         const Attributes& attributes = {}) {
  const auto values = numbers();
  ParameterVector parameters;
  OutputVector arguments;
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < (two ? 2U : 1U); ++i) {
    parameters.push_back(parameter(Shape{count}));
    arguments.push_back(parameters.back());
    Tensor input(ElementType::kF32, Shape{count});
    for (std::size_t at = 0; at < count; ++at)
      input.data<float>()[at] = values[(at * (i ? 7 : 1) + shift + 3 * i) % values.size()];
    inputs.push_back(input);
  }
  const auto model = std::make_shared<Model>(OutputVector{op1(type, version, arguments, attributes)}, parameters);
  const auto plan = engine::Plan::compile(model);
  ASSERT_EQ(plan->steps().size(), 1U);
  ASSERT_EQ(plan->steps()[0].kernel, "small") << type;
  engine::Execution execution(plan);
  engine::Workers workers(1);
  for (std::size_t i = 0; i < inputs.size(); ++i) execution.bind_input(i, inputs[i]);
  ASSERT_TRUE(execution.run(workers));
  const Tensor wanted = evaluate(*model, inputs)[0], got = execution.output(0);
  for (std::size_t at = 0; at < count; ++at) {
    const float w = wanted.data<float>()[at], g = got.data<float>()[at];
    const std::string where = std::string(type) + " of " + std::to_string(inputs[0].data<float>()[at]);
    if (std::isnan(w)) {
      EXPECT_TRUE(std::isnan(g)) << where << ": " << g;
    } else if (std::isinf(w)) {
      EXPECT_EQ(w, g) << where;
    } else {
      EXPECT_NEAR(w, g, 1e-6 * std::abs(w) + 1e-30) << where;
    }
  }
}

TEST(SmallKernels, AreTheReferencesForAllNumbers) {
  for (std::size_t count = 1; count < 70; count += count < 20 ? 1 : 7) {
    for (std::size_t shift = 0; shift < numbers().size(); shift += count) {
      for (const char* type : {"Relu", "Sigmoid", "Tanh", "Abs", "Exp", "Negative"})
        expect_as_reference(type, 1, count, shift, false);
      expect_as_reference("Clamp", 1, count, shift, false, {{"min", -1.5}, {"max", 2.5}});
      for (const char* type : {"Add", "Subtract", "Multiply", "Divide", "Maximum", "Minimum"})
        expect_as_reference(type, 1, count, shift, true);
    }
  }
}

TEST(SmallKernels, CoverCurvesNearTheReference) {
  const auto x = parameter(Shape{3, 77});
  OutputVector outputs;
  for (const char* type : {"Sqrt", "HSwish", "HSigmoid", "Swish"})
    outputs.push_back(op1(type, std::string_view(type) == "HSigmoid" ? 5 : 4, {x}));
  outputs.push_back(op1("Elu", 1, {x}, {{"alpha", 0.7}}));
  outputs.push_back(op1("PRelu", 1, {x, scalar(0.2)}));
  const auto judged = judge(std::make_shared<Model>(outputs, ParameterVector{x}), 2e-6);
  for (const auto& info : judged.infos) EXPECT_EQ(info.kernel, "small") << info.node_type;
}

/// The greatest error of `what` over the floats from -20 to 20, a step of 1e-4 of each apart, and the error that is stated.
void expect_error(engine::kernels::Elementwise what, double (*wanted)(double), double relative, double absolute) {
  std::vector<float> x;
  for (float size = 1e-6f; size < 20; size *= 1.0001f) x.insert(x.end(), {size, -size});
  std::vector<float> got(x.size());
  engine::kernels::elementwise(what)(x.data(), x.data(), x.data(), got.data(), x.size(), 0, 0);
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double right = wanted(x[i]), error = std::abs(got[i] - right) / (relative * std::abs(right) + absolute);
    if (error > worst) worst = error;
    ASSERT_LE(error, 1) << "of " << x[i] << ": " << got[i] << " instead of " << right;
  }
  EXPECT_GT(worst, 0.1) << "a function this near needs no such bound";
}

TEST(SmallKernels, AreAsNearAsStated) {
  using E = engine::kernels::Elementwise;
  expect_error(
      E::kExp, [](double x) { return std::exp(x); }, 2e-7, 0);
  expect_error(
      E::kErf, [](double x) { return std::erf(x); }, 2e-7, 0);
  expect_error(
      E::kTanh, [](double x) { return std::tanh(x); }, 4e-7, 0);
  expect_error(
      E::kGelu, [](double x) { return 0.5 * x * (1 + std::erf(x * std::sqrt(0.5))); }, 3e-7, 1e-6);
  expect_error(
      E::kGeluTanh,
      [](double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / 3.14159265358979) * (x + 0.044715 * x * x * x))); },
      3e-7, 1e-6);
}

TEST(SmallKernels, LeaveLargeTensorsToOthers) {
  for (const std::size_t count : {engine::kernels::kSmallElements, engine::kernels::kSmallElements + 1}) {
    const auto x = parameter(Shape{count});
    const auto plan =
        engine::Plan::compile(std::make_shared<Model>(OutputVector{op1("Tanh", 1, {x})}, ParameterVector{x}));
    EXPECT_EQ(plan->steps()[0].kernel == "small", count == engine::kernels::kSmallElements);
  }
}

}  // namespace elementwise_test
}  // namespace tenon::engine_test
