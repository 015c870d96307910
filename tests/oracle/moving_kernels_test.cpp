// SPDX-License-Identifier: Apache-2.0
// Models of the zoo with open extents run the kernels on the GPU that they run with fixed ones, in f16, as GPUs run them.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tenon/runtime/runtime.hpp>

namespace tenon {
namespace moving_kernels_test {

using Kinds = std::map<std::string, int>;

/// A model, and the axes of all inputs that are opened: pictures' lines and columns, or the batch.
struct Case {
  const char* model;
  std::vector<std::size_t> axes;
};

std::filesystem::path path_of(const std::string& model) {
  const char* const zoo = std::getenv("TENON_ZOO");
  return std::filesystem::path(zoo ? zoo : "") / (model + ".xml");
}

std::vector<Tensor> inputs_of(const Model& model) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> reals(-1, 1);
  std::vector<Tensor> inputs;
  for (const auto& port : model.inputs()) {
    Tensor& tensor = inputs.emplace_back(port.get_element_type(), port.get_shape());
    for (std::size_t i = 0; i < tensor.element_count(); ++i) {
      if (port.get_element_type() == element::f32)
        tensor.data<float>()[i] = reals(random);
      else if (port.get_element_type() == element::i64)
        tensor.data<std::int64_t>()[i] = 1;
      else if (port.get_element_type() == element::i32)
        tensor.data<std::int32_t>()[i] = 1;
    }
  }
  return inputs;
}

struct Ran {
  Kinds kinds;
  std::vector<float> y;
};
Ran run(Core& core, const std::shared_ptr<Model>& model, const std::vector<Tensor>& inputs) {
  InferRequest request =
      core.compile_model(model, "GPU", {hint::inference_precision(element::f16), enable_profiling(true)})
          .create_infer_request();
  for (std::size_t i = 0; i < inputs.size(); ++i) request.set_input_tensor(i, inputs[i]);
  request.infer();
  Ran ran;
  for (const ProfilingInfo& info : request.get_profiling_info())
    if (info.status == ProfilingInfo::Status::EXECUTED) ++ran.kinds[info.exec_type];
  const Tensor y = request.get_output_tensor(0);
  ran.y.assign(y.data<float>(), y.data<float>() + y.element_count());
  return ran;
}

class MovingKernels : public ::testing::TestWithParam<Case> {};

TEST_P(MovingKernels, AreThoseOfFixedShapes) {
  Core core;
  const auto fixed = core.read_model(path_of(GetParam().model));
  const std::vector<Tensor> inputs = inputs_of(*fixed);
  const auto open = fixed->clone();
  std::map<std::size_t, PartialShape> shapes;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    PartialShape shape = open->inputs()[i].get_partial_shape();
    for (const std::size_t axis : GetParam().axes) shape[axis] = Dimension::dynamic();
    shapes[i] = shape;
  }
  open->reshape(shapes);
  ASSERT_TRUE(open->is_dynamic());
  const Ran with_fixed = run(core, fixed, inputs), with_open = run(core, open, inputs);
  EXPECT_EQ(with_open.kinds, with_fixed.kinds);
  ASSERT_EQ(with_open.y.size(), with_fixed.y.size());
  for (std::size_t i = 0; i < with_fixed.y.size(); ++i)
    ASSERT_NEAR(with_open.y[i], with_fixed.y[i], 1e-2 * (1 + std::abs(with_fixed.y[i]))) << i;
}

INSTANTIATE_TEST_SUITE_P(Zoo, MovingKernels,
                         ::testing::Values(Case{"resnet50_tiny", {2, 3}}, Case{"mobilenetv2_tiny", {2, 3}},
                                           Case{"unet_tiny", {2, 3}}, Case{"vit_tiny", {0}}, Case{"bert_tiny", {0}},
                                           Case{"segformer_tiny", {0}}),
                         [](const auto& info) {
                           std::string name = info.param.model;
                           for (const std::size_t axis : info.param.axes) name += "_" + std::to_string(axis);
                           return name;
                         });

}  // namespace moving_kernels_test
}  // namespace tenon
