// SPDX-License-Identifier: Apache-2.0
// Shapes that move from inference to inference, and tensors that follow.
#include <cstddef>

namespace ov {
class Core;  // Ahead of all headers.
class Tensor;
}  // namespace ov
std::size_t elements(const ov::Tensor& tensor);

#include <algorithm>

#include "programs.hpp"

std::size_t elements(const ov::Tensor& tensor) { return tensor.get_size(); }

void dynamic_shapes() {
  ov::Core core;
  const auto model = small_model(core, "-1,3,-1,4");
  line(model->input().get_partial_shape(), ' ', model->output().get_partial_shape());
  ov::CompiledModel compiled = core.compile_model(model, "CPU");
  line(compiled.input().get_partial_shape());
  ov::InferRequest request = compiled.create_infer_request();
  for (const std::size_t height : {2, 5, 1}) {
    ov::Tensor x(ov::element::f32, {1, 3, height, 4});
    std::fill_n(x.data<float>(), x.get_size(), static_cast<float>(height));
    request.set_tensor("x", x);
    request.infer();
    print_values("set", request.get_tensor("y"), 2);
  }
  // The request's own tensor, in place.
  ov::Tensor own = request.get_input_tensor();
  own.set_shape({2, 3, 3, 4});
  std::fill_n(own.data<float>(), own.get_size(), 9.0F);
  request.infer();
  ov::Tensor y = request.get_output_tensor();
  print_values("own", y, 2);
  // A tensor that was got before follows.
  own.set_shape({1, 3, 1, 4});
  std::fill_n(own.data<float>(), own.get_size(), 4.0F);
  request.infer();
  print_values("followed", y, 2);
  // A tensor that was set, and gets another shape.
  ov::Tensor mine(ov::element::f32, {1, 3, 4, 4});
  std::fill_n(mine.data<float>(), mine.get_size(), 6.0F);
  request.set_input_tensor(mine);
  request.infer();
  print_values("mine", request.get_output_tensor(), 2);
  mine.set_shape({1, 3, 2, 4});
  request.start_async();
  request.wait();
  print_values("mine, smaller", request.get_output_tensor(), 2);
  // An output of the program's.
  ov::Tensor out(ov::element::f32, {1, 3, 10, 4});
  request.set_output_tensor(out);
  request.infer();
  print_values("my output", out, 2);
  refused("a shape that does not fit", [&] { request.set_tensor("x", ov::Tensor(ov::element::f32, {1, 4, 2, 4})); });
  ov::Tensor from_port(compiled.input());
  line(from_port.get_element_type(), elements(mine));
  // The program's own tensor may become anything afterwards, as for another model.
  mine.set_shape({5, 2});
  line(mine.get_shape(), ov::Dimension(0, 7));
}
