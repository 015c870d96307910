// SPDX-License-Identifier: Apache-2.0
// A program against DL Streamer's API and OpenVINO's.
#include <dlstreamer/cpu/tensor_alloc.h>
#include <dlstreamer/memory_mapper_factory.h>
#include <dlstreamer/openvino/mappers/cpu_to_openvino.h>

int main() {
  using namespace dlstreamer;
  auto openvino = std::make_shared<OpenVINOContext>();
  TensorPtr tensor = std::make_shared<CPUTensorAlloc>(TensorInfo({4, 8}, DataType::Float32));
  ov::Tensor mapped = *tensor.map<OpenVINOTensor>(openvino);
  return mapped.data() == tensor->data() && mapped.get_shape() == ov::Shape{4, 8} ? 0 : 1;
}
