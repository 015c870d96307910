// SPDX-License-Identifier: Apache-2.0
// Compiled and linked at configuration to check that this OpenVINO's headers and library match each other and this
// compiler.
#include <openvino/runtime/remote_tensor.hpp>
#include <openvino/runtime/tensor.hpp>

int main() {
  float data[4] = {};
  const ov::Tensor tensor(ov::element::f32, ov::Shape{4}, data, ov::Strides{4});
  return tensor.is<ov::RemoteTensor>() || tensor.get_byte_size() != sizeof(data) ? 1 : 0;
}
