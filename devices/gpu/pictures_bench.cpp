// SPDX-License-Identifier: Apache-2.0
// NV12 of 1920x1080 to f32 [1,3,224,224]: planes in buffers and in images, by each resize, beside the CPU device.
#include <benchmark/benchmark.h>

#include <string>

#include <tenon/core/ledger.hpp>
#include <tenon/devices/gpu/public/ocl.hpp>
#include <tenon/graph/ops.hpp>
#include <tenon/runtime/runtime.hpp>

namespace tenon {
namespace {

using preprocess::ColorFormat;
using preprocess::ResizeAlgorithm;

constexpr std::size_t kHeight = 1080, kWidth = 1920;

enum class Location { kHost, kBuffer, kImage };

std::shared_ptr<Model> picture_model(ResizeAlgorithm resize, std::size_t batch) {
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape(Shape{batch, 3, 224, 224}));
  x->output(0).set_names({"x"});
  auto half = make_node("Multiply", 1, {x, op::v0::Constant::create(element::f32, Shape{}, std::vector<double>{0.5})},
                        {}, "half");
  preprocess::PrePostProcessor p(std::make_shared<Model>(OutputVector{half}, ParameterVector{x}, "picture"));
  p.input()
      .tensor()
      .set_element_type(element::u8)
      .set_spatial_static_shape(kHeight, kWidth)
      .set_color_format(ColorFormat::NV12_TWO_PLANES, {"y", "uv"});
  p.input().preprocess().convert_color(ColorFormat::RGB).convert_element_type(element::f32).resize(resize);
  p.input().model().set_layout("NCHW");
  return p.build();
}

void Picture(benchmark::State& state, const char* device, Location place, ResizeAlgorithm resize, std::size_t batch) {
  Core core;
  CompiledModel compiled;
  try {
    compiled = core.compile_model(picture_model(resize, batch), device);
  } catch (const Error& error) {
    state.SkipWithError(error.what());
    return;
  }
  auto request = compiled.create_infer_request();
  for (std::size_t plane = 0; plane < 2; ++plane) {
    Shape shape = compiled.input(plane).get_shape();
    shape[0] = 1;
    std::vector<Tensor> items;
    for (std::size_t item = 0; item < batch; ++item) {
      if (place == Location::kHost) {
        items.emplace_back(element::u8, shape);
        continue;
      }
      auto context = compiled.get_context().as<intel_gpu::ocl::ClContext>();
      if (place == Location::kBuffer)
        items.push_back(context.create_tensor(element::u8, shape));
      else
        items.push_back(context.create_image_tensor(element::u8, shape));
    }
    request.set_input_tensors(plane, items);
  }
  request.infer();
  const auto copied = request.ledger().total().copied;
  for (auto _ : state) request.infer();
  const auto iterations = static_cast<double>(state.iterations());
  state.counters["copied"] = static_cast<double>(request.ledger().total().copied - copied) / iterations;
}

constexpr ResizeAlgorithm kLinear = ResizeAlgorithm::RESIZE_LINEAR, kCubic = ResizeAlgorithm::RESIZE_CUBIC,
                          kPillow = ResizeAlgorithm::RESIZE_BILINEAR_PILLOW;

#define TENON_PICTURE(name, ...) \
  BENCHMARK_CAPTURE(Picture, name, __VA_ARGS__)->Unit(benchmark::kMicrosecond)->UseRealTime()
TENON_PICTURE(gpu_linear_buffers, "GPU", Location::kBuffer, kLinear, 1);
TENON_PICTURE(gpu_linear_images, "GPU", Location::kImage, kLinear, 1);
TENON_PICTURE(gpu_linear_images_of_8, "GPU", Location::kImage, kLinear, 8);
TENON_PICTURE(gpu_linear_buffers_of_8, "GPU", Location::kBuffer, kLinear, 8);
TENON_PICTURE(gpu_cubic_buffers, "GPU", Location::kBuffer, kCubic, 1);
TENON_PICTURE(gpu_cubic_images, "GPU", Location::kImage, kCubic, 1);
TENON_PICTURE(gpu_pillow_buffers, "GPU", Location::kBuffer, kPillow, 1);
TENON_PICTURE(gpu_pillow_images, "GPU", Location::kImage, kPillow, 1);
TENON_PICTURE(cpu_linear, "CPU", Location::kHost, kLinear, 1);
TENON_PICTURE(cpu_linear_of_8, "CPU", Location::kHost, kLinear, 8);
TENON_PICTURE(cpu_cubic, "CPU", Location::kHost, kCubic, 1);
TENON_PICTURE(cpu_pillow, "CPU", Location::kHost, kPillow, 1);
#undef TENON_PICTURE

}  // namespace
}  // namespace tenon
