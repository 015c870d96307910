// SPDX-License-Identifier: Apache-2.0
// Runs the programs for remote tensors and compares what they print with a file: main gpu|npu|va [expected.txt]. Without a file, it is printed.
#include <cstring>

#include <openvino/op/util/variable.hpp>
#include <openvino/opsets/opset8.hpp>

#include "../programs/compare.hpp"
#include "remote.hpp"

std::shared_ptr<ov::Model> sum_model(const ov::PartialShape& shape) {
  using namespace ov::opset8;
  auto x = std::make_shared<Parameter>(ov::element::f32, shape);
  x->set_friendly_name("x");
  x->output(0).set_names({"x"});
  auto y = std::make_shared<Relu>(std::make_shared<Add>(x, Constant::create(ov::element::f32, {1}, {1.0F})));
  y->output(0).set_names({"y"});
  return std::make_shared<ov::Model>(ov::OutputVector{y}, ov::ParameterVector{x}, "sum");
}

std::shared_ptr<ov::Model> stateful_model() {
  using namespace ov::opset8;
  auto x = std::make_shared<Parameter>(ov::element::f32, ov::Shape{1, 2});
  x->set_friendly_name("x");
  x->output(0).set_names({"x"});
  auto variable = std::make_shared<ov::op::util::Variable>(
      ov::op::util::VariableInfo{ov::PartialShape{1, 2}, ov::element::f32, "sum"});
  auto before =
      std::make_shared<ReadValue>(Constant::create(ov::element::f32, {1, 2}, std::vector<float>{10, 20}), variable);
  auto y = std::make_shared<Add>(before, x);
  y->output(0).set_names({"y"});
  auto write = std::make_shared<Assign>(y, variable);
  return std::make_shared<ov::Model>(ov::OutputVector{y}, ov::SinkVector{write}, ov::ParameterVector{x}, "stateful");
}

void print_states(ov::CompiledModel compiled, const ov::Tensor& remote) {
  ov::InferRequest request = compiled.create_infer_request();
  const auto step = [&] {
    std::fill_n(request.get_tensor("x").data<float>(), 2, 1.0F);
    request.infer();
    return request.get_tensor("y").data<float>()[0];
  };
  line(step());
  line(step());
  auto state = request.query_state().at(0);
  line(state.get_name(), ' ', state.get_state().get_shape());
  ov::Tensor host(ov::element::f32, {1, 2});
  std::fill_n(host.data<float>(), 2, 40.0F);
  state.set_state(host);
  line(step());
  refused("a state of a remote tensor", [&] {
    state.set_state(remote);
    line(step());
  });
  request.reset_state();
  line(step());
}

std::string keys(const ov::AnyMap& map) {
  std::string text;
  for (const auto& [key, value] : map) text += (text.empty() ? "" : ",") + key + (value.empty() ? "(empty)" : "");
  return text;
}

int main(int argc, char** argv) {
  const std::string device = argc > 1 ? argv[1] : "";
  if (device != "gpu" && device != "npu" && device != "va") {
    std::cerr << "usage: " << argv[0] << " gpu|npu|va [expected.txt], not " << device << "\n";
    return 2;
  }
  std::ostringstream printed;
  std::streambuf* console = std::cout.rdbuf(printed.rdbuf());
  {
    ov::Core core;
    if (device == "gpu") {
      gpu_pictures(
          core);  // First: in Intel's runtime for CPUs, contexts that ended before take functions of images with them.
      gpu(core);
    }
    if (device == "npu") npu(core);
#ifdef WITH_VA
    if (device == "va") va(core);
#endif
  }
  std::cout.rdbuf(console);
  return compare(printed.str(), argc > 2 ? argv[2] : nullptr);
}
