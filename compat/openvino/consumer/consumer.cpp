// SPDX-License-Identifier: Apache-2.0
// A model that is built, compiled for the CPU and run.
#include <iostream>
#include <memory>

#include <openvino/op/parameter.hpp>
#include <openvino/op/result.hpp>
#include <openvino/openvino.hpp>

float twice(const std::shared_ptr<ov::Model>& model);

int main() {
  auto parameter = std::make_shared<ov::op::v0::Parameter>(ov::element::f32, ov::Shape{1, 4});
  parameter->output(0).set_names({"x"});
  auto model = std::make_shared<ov::Model>(ov::OutputVector{parameter->output(0)}, ov::ParameterVector{parameter});
  ov::preprocess::PrePostProcessor p(model);
  p.input().preprocess().scale(2.0F);
  ov::Core core;
  ov::InferRequest request = core.compile_model(p.build(), "CPU").create_infer_request();
  ov::Tensor tensor = request.get_tensor("x");
  for (int i = 0; i < 4; ++i) tensor.data<float>()[i] = static_cast<float>(i);
  request.infer();
  const float* y = request.get_output_tensor().data<float>();
  std::cout << y[0] << ' ' << y[3] << '\n';
  return y[3] == 1.5F && twice(model) == 2.0F ? 0 : 1;
}
