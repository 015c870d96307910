// SPDX-License-Identifier: Apache-2.0
// Models in fewer bits than f32, judged by the reference's numbers within a tolerance.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <tenon/engine/testing/judged_models.hpp>

namespace tenon::engine_test {

/// How near two tensors are: the cosine of their angle, and the largest difference over the largest number.
struct Nearness {
  double cosine = 1, relative = 0;
};
inline Nearness nearness(const Tensor& a, const Tensor& b) {
  double ab = 0, aa = 0, bb = 0, worst = 0, largest = 0;
  for (std::size_t i = 0; i < a.element_count(); ++i) {
    const double x = a.data<float>()[i], y = b.data<float>()[i];
    ab += x * y;
    aa += x * x;
    bb += y * y;
    worst = std::max(worst, std::abs(x - y));
    largest = std::max(largest, std::abs(x));
  }
  return {aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 1, worst / std::max(largest, 1e-30)};
}

using Images = engine::Options::Images;

/// The model at a precision against the reference at f32. @return its steps.
inline std::vector<engine::StepInfo> near_reference(const Out& last, const ParameterVector& inputs,
                                                    ElementType precision, double cosine, double relative,
                                                    Images images = Images::kBlocks) {
  const auto model = std::make_shared<Model>(OutputVector{last}, inputs);
  engine::Options options;
  options.threads = 2;
  options.precision = precision;
  options.images = images;
  const auto plan = engine::Plan::compile(model, options);
  engine::Workers workers(2);
  engine::Execution execution(plan);
  const auto tensors = random_inputs(*model);
  for (std::size_t i = 0; i < tensors.size(); ++i) execution.bind_input(i, tensors[i]);
  const auto wanted = evaluate(*model, tensors);
  EXPECT_TRUE(execution.run(workers));
  EXPECT_EQ(plan->outputs()[0].type, ElementType::kF32);
  const Nearness found = nearness(wanted[0], execution.output(0));
  EXPECT_GE(found.cosine, cosine);
  EXPECT_LE(found.relative, relative);
  return plan->steps();
}
inline std::size_t count(const std::vector<engine::StepInfo>& steps, const std::string& text) {
  std::size_t found = 0;
  for (const auto& step : steps) found += (step.node_type + " " + step.kernel).find(text) != std::string::npos;
  return found;
}

constexpr ElementType kBf16 = ElementType::kBf16, kF32 = ElementType::kF32;

inline Out relu(const Out& x) { return op1("Relu", 1, {x}); }

}  // namespace tenon::engine_test
