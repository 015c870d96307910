// SPDX-License-Identifier: Apache-2.0
// Runs a model: cpp_infer model [device]. Inputs are filled with 1; prints ports, output values, time and the ledger.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>

#include <tenon/core/ledger.hpp>
#include <tenon/runtime/runtime.hpp>

namespace {

void fill_with_ones(const tenon::Tensor& tensor) {
  if (tensor.element_type() == tenon::element::f32)
    std::fill_n(tensor.data<float>(), tensor.element_count(), 1.f);
  else
    std::memset(tensor.data(), 1, tensor.size_bytes());
}

void run(const std::string& path, const std::string& device) {
  tenon::Core core;
  tenon::CompiledModel model = core.compile_model(path, device);
  tenon::InferRequest request = model.create_infer_request();
  for (const auto& port : model.inputs()) {
    std::printf("input  %s %s %s\n", port.get_node()->get_friendly_name().c_str(),
                port.get_element_type().to_string().c_str(), port.get_partial_shape().to_string().c_str());
    // A dynamic extent is 1 here; an application knows better.
    tenon::Shape shape;
    for (const auto& extent : port.get_partial_shape())
      shape.push_back(extent.is_static() ? static_cast<std::size_t>(extent.get_length()) : 1);
    tenon::Tensor tensor(port.get_element_type(), shape);
    fill_with_ones(tensor);
    request.set_tensor(port, tensor);
  }
  request.infer();  // The first run warms up.
  const auto begin = std::chrono::steady_clock::now();
  request.infer();
  const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  for (const auto& port : model.outputs()) {
    const tenon::Tensor tensor = request.get_tensor(port);
    std::printf("output %s %s:", port.get_node()->get_friendly_name().c_str(), to_string(tensor.shape()).c_str());
    if (tensor.element_type() == tenon::element::f32) {
      for (std::size_t i = 0; i < 4 && i < tensor.element_count(); ++i)
        std::printf(" %g", static_cast<double>(tensor.data<float>()[i]));
    }
    std::printf("\n");
  }
  std::printf("%.3f ms\n%s", ms, core.ledger().report().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: cpp_infer model [device]\n");
    return 2;
  }
  try {
    run(argv[1], argc > 2 ? argv[2] : "CPU");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cpp_infer: %s\n", tenon::describe(error).c_str());
    return 1;
  }
}
