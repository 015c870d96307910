// SPDX-License-Identifier: Apache-2.0
// A program against DL Streamer's API alone.
#include <dlstreamer/cpu/context.h>
#include <dlstreamer/cpu/tensor_alloc.h>
#include <dlstreamer/dma/context.h>
#include <dlstreamer/memory_mapper_factory.h>

int main() {
  using namespace dlstreamer;
  auto cpu = std::make_shared<CPUContext>();
  auto dma = DMAContext::create();
  auto mapper = create_mapper({cpu, dma, cpu});
  TensorPtr tensor = std::make_shared<CPUTensorAlloc>(TensorInfo({4096}));
  return tensor.map(cpu)->data() == tensor->data() && mapper->output_context() == cpu ? 0 : 1;
}
