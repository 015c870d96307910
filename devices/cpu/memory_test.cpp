// SPDX-License-Identifier: Apache-2.0
// Weights lie in memory once, as the kernels read them: pages of the file that they were packed from are given back.
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tenon/graph/model.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/writers/openvino_ir/ir_writer.hpp>
#include <tenon/runtime/runtime.hpp>
#include <tenon/tests/support/resident.hpp>
#include <tenon/tests/support/temporary_folder.hpp>

namespace tenon {
namespace memory_test {

constexpr std::size_t kWidth = 2048, kLayers = 8, kWeightBytes = kLayers * kWidth * kWidth * sizeof(float);

/// Layers of products, of a row or of any number of rows.
std::shared_ptr<Model> layers(const PartialShape& shape) {
  const auto input = std::make_shared<op::v0::Parameter>(element::f32, shape);
  Output<Node> x = input;
  for (std::size_t layer = 0; layer < kLayers; ++layer) {
    Tensor weights(element::f32, Shape{kWidth, kWidth});
    for (std::size_t i = 0; i < weights.element_count(); ++i)
      weights.data<float>()[i] = static_cast<float>(i * (layer + 3) % 17) / 40000.f;
    const auto constant = std::make_shared<op::v0::Constant>(weights);
    x = make_node("MatMul", 0, {x, constant}, {{"transpose_a", false}, {"transpose_b", false}})->output(0);
  }
  return std::make_shared<Model>(OutputVector{x}, ParameterVector{input}, "layers");
}

TEST(CpuMemory, WeightsOfAFileLieInMemoryOnce) {
  for (const PartialShape& shape : {PartialShape{64, kWidth}, PartialShape{-1, kWidth}}) {
    const TemporaryFolder folder;
    serialize(*layers(shape), folder.path() / "m.xml");
    Core core;
    const auto model = core.read_model(folder.path() / "m.xml");
    const std::size_t before = resident_bytes();
    CompiledModel compiled =
        core.compile_model(model, "CPU", hint::inference_precision(element::f32), inference_num_threads(1));
    InferRequest request = compiled.create_infer_request();
    std::vector<float> first;
    for (const std::size_t rows : {64, 64}) {
      Tensor input(element::f32, {rows, kWidth});
      for (std::size_t i = 0; i < rows * kWidth; ++i) input.data<float>()[i] = static_cast<float>(i % 7);
      request.set_input_tensor(input);
      request.infer();
      const auto* values = request.get_output_tensor().data<float>();
      if (first.empty()) first.assign(values, values + 100);
      EXPECT_EQ(std::memcmp(values, first.data(), 100 * sizeof(float)), 0);
    }
    EXPECT_LT(resident_bytes() - before, kWeightBytes * 13 / 10) << shape;
    // The model itself is as it was.
    EXPECT_EQ(core.compile_model(model, "CPU").create_infer_request().get_input_tensor().get_element_type(),
              element::f32);
  }
}

}  // namespace memory_test
}  // namespace tenon
