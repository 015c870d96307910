// SPDX-License-Identifier: Apache-2.0
// Models of a few nodes on the GPU, beside the reference kernels.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <tenon/engine/testing/sound_steps.hpp>
#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/runtime/runtime.hpp>

namespace tenon {
inline namespace v1 {
namespace gpu_device::testing {

using Out = Output<Node>;

inline std::shared_ptr<op::v0::Parameter> parameter(const Shape& shape, element::Type type = element::f32) {
  return std::make_shared<op::v0::Parameter>(type, PartialShape(shape));
}
inline Out ints(const std::vector<std::int64_t>& values, element::Type type = element::i64) {
  return op::v0::Constant::create(type, Shape{values.size()}, values);
}
inline Out scalar(std::int64_t value) {
  return op::v0::Constant::create(element::i64, Shape{}, std::vector<std::int64_t>{value});
}
inline Out reals(const Shape& shape, const std::vector<double>& values) {
  return op::v0::Constant::create(element::f32, shape, values);
}
inline OutputVector outputs(const char* type, unsigned version, const OutputVector& inputs,
                            const Attributes& attributes = {}) {
  return make_node(type, version, inputs, attributes)->outputs();
}

inline Tensor random_tensor(ElementType type, const Shape& shape, unsigned seed) {
  Tensor tensor(type, shape);
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (std::size_t i = 0; i < tensor.element_count(); ++i) {
    if (type == ElementType::kF32)
      tensor.data<float>()[i] = normal(random);
    else if (type == ElementType::kF16)
      tensor.data<std::uint16_t>()[i] = static_cast<std::uint16_t>(0x3800 + random() % 1024);  // 0.5 to 1.
    else if (type == ElementType::kI64)
      tensor.data<std::int64_t>()[i] = static_cast<std::int64_t>(random() % 3);
    else if (type == ElementType::kI32)
      tensor.data<std::int32_t>()[i] = static_cast<std::int32_t>(random() % 3);
    else if (type == ElementType::kBool)
      static_cast<std::uint8_t*>(tensor.data())[i] = random() % 2;
    else if (i < tensor.size_bytes())
      static_cast<std::uint8_t*>(tensor.data())[i] = static_cast<std::uint8_t>(random());
  }
  return tensor;
}

inline void expect_close(const Tensor& wanted, const Tensor& got, double tolerance) {
  ASSERT_EQ(wanted.shape(), got.shape());
  ASSERT_EQ(wanted.element_type(), got.element_type());
  if (info(wanted.element_type()).is_real && info(wanted.element_type()).bits < 16) tolerance = 0;
  if (!info(wanted.element_type()).is_real) {
    // Not by bytes: where elements share bytes, the unused bits of the last one have no meaning.
    EXPECT_EQ(op::v0::Constant(wanted).to_integers(), op::v0::Constant(got).to_integers());
    return;
  }
  const auto w = op::v0::Constant(wanted).to_doubles(), g = op::v0::Constant(got).to_doubles();
  for (std::size_t i = 0; i < w.size(); ++i) {
    if (w[i] == g[i] || (std::isnan(w[i]) && std::isnan(g[i]))) continue;
    ASSERT_NEAR(w[i], g[i], tolerance * (1 + std::abs(w[i]))) << "element " << i;
  }
}

/// Every output of the model on the GPU, twice, beside the reference's.
inline void judge(const OutputVector& results, const ParameterVector& parameters, std::vector<Tensor> inputs = {},
                  double tolerance = 2e-4, const AnyMap& properties = {hint::inference_precision(element::f32)}) {
  const auto model = std::make_shared<Model>(results, parameters, "judged");
  for (std::size_t i = inputs.size(); i < parameters.size(); ++i)
    inputs.push_back(
        random_tensor(parameters[i]->get_element_type(), parameters[i]->get_shape(), static_cast<unsigned>(i + 1)));
  const std::vector<Tensor> wanted = evaluate(*model, inputs);
  Core core;
  CompiledModel compiled = core.compile_model(model, "GPU", properties);
  InferRequest request = compiled.create_infer_request();
  for (std::size_t i = 0; i < inputs.size(); ++i) request.set_input_tensor(i, inputs[i]);
  for (int round = 0; round < 2; ++round) {
    request.infer();
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      SCOPED_TRACE("output " + std::to_string(i));
      expect_close(wanted[i], request.get_output_tensor(i), tolerance);
    }
  }
  // What has no elements is neither read nor made.
  const auto has_elements = [](const Tensor& tensor) { return tensor.element_count() > 0; };
  if (std::ranges::all_of(inputs, has_elements) && std::ranges::all_of(wanted, has_elements)) {
    EXPECT_EQ(engine_test::fault_of(*model, *compiled.get_runtime_model()), "");
  }
}

inline std::shared_ptr<op::v0::Parameter> open_parameter(std::size_t rank, element::Type type = element::f32) {
  return std::make_shared<op::v0::Parameter>(type, PartialShape::dynamic(static_cast<std::int64_t>(rank)));
}

/// The same of a model whose inputs have other shapes each time.
inline void judge_moving(const OutputVector& results, const ParameterVector& parameters,
                         const std::vector<std::vector<Shape>>& rounds, double tolerance = 2e-4,
                         const AnyMap& properties = {hint::inference_precision(element::f32)}) {
  const auto model = std::make_shared<Model>(results, parameters, "moving");
  Core core;
  InferRequest request = core.compile_model(model, "GPU", properties).create_infer_request();
  for (const std::vector<Shape>& shapes : rounds) {
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < shapes.size(); ++i)
      inputs.push_back(random_tensor(parameters[i]->get_element_type(), shapes[i], static_cast<unsigned>(i + 1)));
    const std::vector<Tensor> wanted = evaluate(*model, inputs);
    for (std::size_t i = 0; i < inputs.size(); ++i) request.set_input_tensor(i, inputs[i]);
    request.infer();
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      SCOPED_TRACE("shape " + to_string(shapes[0]) + ", output " + std::to_string(i));
      expect_close(wanted[i], request.get_output_tensor(i), tolerance);
    }
  }
}

class GpuLowering : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const std::string& device : Core().get_available_devices())
      if (device.substr(0, 3) == "GPU") return;
    GTEST_SKIP() << "there is no OpenCL device";
  }
};

}  // namespace gpu_device::testing
}  // namespace v1
}  // namespace tenon
