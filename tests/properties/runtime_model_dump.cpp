// SPDX-License-Identifier: Apache-2.0
// Writes what the CPU executes of a model, measured once, as IR: runtime_model_dump MODEL.xml OUT.xml
#include <cstring>
#include <iostream>

#include <tenon/graph/writers/openvino_ir/ir_writer.hpp>
#include <tenon/runtime/runtime.hpp>

int main(int count, char** arguments) {
  if (count != 3) return 1;
  try {
    tenon::Core core;
    auto compiled = core.compile_model(core.read_model(arguments[1]), "CPU", {tenon::enable_profiling(true)});
    auto request = compiled.create_infer_request();
    for (std::size_t i = 0; i < compiled.inputs().size(); ++i) {
      const tenon::Tensor tensor(compiled.input(i).get_element_type(), compiled.input(i).get_shape());
      std::memset(tensor.data(), 0, tensor.size_bytes());
      request.set_input_tensor(i, tensor);
    }
    request.infer();
    tenon::serialize(*compiled.get_runtime_model(), arguments[2]);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
