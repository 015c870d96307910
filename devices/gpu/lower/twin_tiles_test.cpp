// SPDX-License-Identifier: Apache-2.0
// Products that the device's twin computes by other kernels than OpenCL.
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tenon/devices/gpu/hardware.hpp>
#include <tenon/devices/gpu/lower/lower.hpp>
#include <tenon/devices/gpu/testing/judge.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/runtime/runtime.hpp>

namespace tenon {
namespace twin_tiles_test {

using namespace gpu_device::testing;

/// Random weights scaled by the number of inputs, so that sums stay near 1.
Out weights(const Shape& shape) {
  Tensor values = random_tensor(ElementType::kF32, shape, 77);
  for (std::size_t i = 0; i < values.element_count(); ++i)
    values.data<float>()[i] /= std::sqrt(static_cast<float>(shape[0]));
  return std::make_shared<op::v0::Constant>(values)->output(0);
}

/// A device like an H200.
gpu_device::Target hopper(std::size_t twin_local_bytes = 232448) {
  gpu_device::Target target;
  target.matrices = gpu_device::Target::Matrices::kNvidia;
  target.has_warpgroups = target.stores_f16 = true;
  target.max_group = 1024;
  target.local_bytes = 49152;
  target.twin_local_bytes = twin_local_bytes;
  target.compute_units = 132;
  return target;
}

/// The launches there of a kind.
gpu_device::Launches launches_of(const Model& model, const std::string& kind, const gpu_device::Target& target) {
  gpu_device::PackedWeights packed;
  gpu_device::Launches launches = gpu_device::lower_model(*gpu_device::run_passes(model, TimeLimit(0), true, target),
                                                          target, packed, true, {}, TimeLimit(0))
                                      .launches;
  std::erase_if(launches, [&](const auto& launch) { return launch->kernel->kind != kind; });
  return launches;
}

/// What its twin runs for a product of f16 with weights; null: what OpenCL does.
std::shared_ptr<const gpu_device::Launch> twins_launch(std::int64_t m, std::size_t n, std::size_t k,
                                                       std::size_t twin_local_bytes = 232448) {
  const gpu_device::Target target = hopper(twin_local_bytes);
  const auto x = parameter({static_cast<std::size_t>(m), k});
  const Model model(outputs("MatMul", 0, {x->output(0), weights({k, n})}), ParameterVector{x}, "product");
  for (const auto& launch : launches_of(model, "matmul", target)) {
    if (launch->for_twin) {
      EXPECT_EQ(launch->for_twin->arguments.size(), launch->arguments.size());
      EXPECT_NE(launch->for_twin->kernel->name, launch->kernel->name);
      EXPECT_GT(launch->for_twin->local_bytes, target.local_bytes);
      EXPECT_LE(launch->for_twin->local_bytes, twin_local_bytes);
    }
    return launch->for_twin;
  }
  return nullptr;
}

/// Layers of ViT-B/16. Where groups are many, tiles are as large as divide them evenly among the units; where they are few, more slots
/// are on their way.
TEST(GpuTilesOfTwins, UseTheLocalMemoryThatOpenClDoesNotLend) {
  const auto lanes = [](const auto& launch) { return launch ? launch->local[0] : 0; };
  EXPECT_EQ(lanes(twins_launch(6304, 768, 768)), 640u);
  EXPECT_EQ(lanes(twins_launch(6304, 3072, 768)), 384u);
  const auto few = twins_launch(197, 768, 3072);
  ASSERT_TRUE(few);
  EXPECT_EQ(few->local[0], 128u);
  EXPECT_GT(few->local_bytes, 65536u);
  EXPECT_FALSE(twins_launch(6304, 768, 768, 49152)) << "no more than OpenCL has";
}

/// Queries, keys and values of a text: a third of the groups has each set of arguments, by OpenCL and by the twin.
TEST(GpuTilesOfTwins, ProductsOfTheSameRowsAreOneLaunch) {
  for (const std::size_t rows : {64, 128, 4096}) {
    const auto x = parameter({rows, 768});
    OutputVector results;
    for (int i = 0; i < 3; ++i) results.push_back(outputs("MatMul", 0, {x->output(0), weights({768, 768})})[0]);
    const auto launches = launches_of(Model(results, ParameterVector{x}, "products"), "matmuls", hopper());
    ASSERT_EQ(launches.size(), 1u) << rows;
    const auto& launch = *launches[0];
    EXPECT_EQ(launch.global[2] % 3, 0u);
    ASSERT_TRUE(launch.for_twin) << rows;
    EXPECT_EQ(launch.for_twin->arguments.size(), launch.arguments.size());
    EXPECT_EQ(launch.for_twin->global[2] % 3, 0u);
    EXPECT_EQ(launch.fused.size(), 2u);
  }
}

/// A window of 64 taps that is moved by as many: each of its rows is one run of pixels.
TEST(GpuTilesOfHopper, WindowsOfManyTapsAreProducts) {
  for (const std::int64_t pad : {0, 3}) {
    const auto x = parameter({1, 16, 32, 24});
    const Attributes window{{"strides", std::vector<std::int64_t>{8, 8}},
                            {"pads_begin", std::vector<std::int64_t>{pad, pad}},
                            {"pads_end", std::vector<std::int64_t>{pad, pad}},
                            {"dilations", std::vector<std::int64_t>{1, 1}},
                            {"auto_pad", "explicit"}};
    const Model model(outputs("Convolution", 1, {x->output(0), weights({24, 16, 8, 8})}, window), ParameterVector{x},
                      "patches");
    const auto launches = launches_of(model, "convolution", hopper());
    ASSERT_EQ(launches.size(), 1u);
    EXPECT_NE(launches[0]->kernel->text.find("mma.sync"), std::string::npos) << "padded by " << pad;
  }
}

/// As exporters write them where nothing is masked.
TEST(GpuTilesOfHopper, AMaskOfZerosIsNotRead) {
  for (const double masked : {0.0, -1.0}) {
    const auto x = parameter({1, 2, 70, 64});
    const Out mask = reals({70, 70}, std::vector<double>(4900, masked));
    const Model model(outputs("ScaledDotProductAttention", 13, {x, x, x, mask}, {{"causal", false}}),
                      ParameterVector{x}, "masked");
    const auto launches = launches_of(model, "attention", hopper());
    ASSERT_EQ(launches.size(), 1u);
    EXPECT_EQ(launches[0]->kernel->text.find("MASK_p") == std::string::npos, masked == 0);
  }
}

/// Few rows by constants of f16 are multiplied by matrix hardware, as long as local memory holds them.
TEST(GpuTilesOfHopper, FewRowsAreMultipliedByMatrixHardware) {
  const auto takes_hardware = [](std::size_t m, std::size_t k) {
    const auto x = parameter({m, k});
    const Model model(outputs("MatMul", 0, {x->output(0), weights({k, 48})}), ParameterVector{x}, "rows");
    const auto launches = launches_of(model, "matmul", hopper());
    EXPECT_EQ(launches.size(), 1u);
    return launches.size() == 1 && launches[0]->kernel->text.find("mma.sync") != std::string::npos;
  };
  EXPECT_TRUE(takes_hardware(1, 2048));
  EXPECT_TRUE(takes_hardware(5, 256));
  EXPECT_FALSE(takes_hardware(8, 5632)) << "90 KB of rows";
  EXPECT_FALSE(takes_hardware(1, 2056)) << "no whole steps";
}

/// Products that only some devices' twins compute by other kernels, beside OpenCL's.
TEST(GpuTilesOfTwins, GiveTheSameAsOpenCls) {
  const auto gpu = gpu_device::find_gpu("");
  if (!gpu->target().has_warpgroups || !gpu->use_twin()) GTEST_SKIP() << "for compute capability 9.0, by CUDA";
  Core core;
  for (const Shape& shape : {Shape{6304, 768}, {6300, 1536}, {197, 3072}, {50, 768}, {1000, 768}}) {
    const auto x = parameter(shape);
    const auto model =
        std::make_shared<Model>(outputs("Relu", 1, {outputs("MatMul", 0, {x->output(0), weights({shape[1], 768})})[0]}),
                                ParameterVector{x}, "large");
    const Tensor input = random_tensor(ElementType::kF32, shape, 5);
    std::vector<Tensor> results;
    for (const char* way : {"SINGLY", "CUDA_GRAPH"}) {
      InferRequest request = core.compile_model(model, "GPU", hint::inference_precision(element::f16),
                                                AnyMap::value_type{"GPU_LAUNCHES", std::string(way)})
                                 .create_infer_request();
      request.set_input_tensor(input);
      request.infer();
      request.infer();
      request.get_output_tensor().copy_to(results.emplace_back());
    }
    for (std::size_t i = 0; i < results[0].element_count(); ++i)
      ASSERT_NEAR(results[0].data<float>()[i], results[1].data<float>()[i], 2e-3)
          << to_string(shape) << ", element " << i;
  }
}

}  // namespace twin_tiles_test
}  // namespace tenon
