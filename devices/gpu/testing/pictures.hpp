// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of pictures: a model of pictures and its preprocessing, where planes may lie, and the CPU device as the judge.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <tenon/devices/gpu/hardware.hpp>
#include <tenon/devices/gpu/public/properties.hpp>
#include <tenon/devices/gpu/testing/gpu.hpp>
#include <tenon/runtime/preprocess/pre_post_process.hpp>
#include <tenon/tests/support/error_of.hpp>
#include <tenon/tests/support/fail_each_call.hpp>

namespace tenon::gpu_testing {

using intel_gpu::ocl::ClContext;
using intel_gpu::ocl::ClImage2DTensor;
using preprocess::ColorFormat;
using preprocess::PrePostProcessor;
using preprocess::ResizeAlgorithm;

inline constexpr std::size_t kHeight = 20, kWidth = 24;

/// value + 0.5 of pictures; 3 channels, or 1.
inline std::shared_ptr<Model> picture_model(std::size_t channels, bool is_planar, std::size_t batch = 1) {
  const Shape shape = is_planar ? Shape{batch, channels, 12, 16} : Shape{batch, 12, 16, channels};
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape(shape));
  x->set_friendly_name("x");
  x->output(0).set_names({"x"});
  auto sum =
      make_node("Add", 1, {x, op::v0::Constant::create(element::f32, Shape{}, std::vector<double>{0.5})}, {}, "sum");
  sum->output(0).set_names({"y"});
  return std::make_shared<Model>(OutputVector{sum}, ParameterVector{x}, "picture");
}

struct Picture {
  ColorFormat from = ColorFormat::NV12_TWO_PLANES, to = ColorFormat::BGR;
  ResizeAlgorithm resize = ResizeAlgorithm::RESIZE_LINEAR;
  bool is_planar = true, is_cropped = false;
  std::size_t batch = 1;
  bool is_surface = false;
};

inline std::shared_ptr<Model> with_preprocessing(const Picture& picture) {
  const bool is_gray = picture.to == ColorFormat::GRAY;
  PrePostProcessor p(picture_model(is_gray ? 1 : 3, picture.is_planar, picture.batch));
  auto& tensor = p.input().tensor();
  tensor.set_element_type(element::u8).set_layout("NHWC").set_spatial_static_shape(kHeight, kWidth);
  if (picture.from == ColorFormat::NV12_TWO_PLANES)
    tensor.set_color_format(picture.from, {"y", "uv"});
  else if (picture.from == ColorFormat::I420_THREE_PLANES)
    tensor.set_color_format(picture.from, {"y", "u", "v"});
  else
    tensor.set_color_format(picture.from);
  if (picture.is_surface) tensor.set_memory_type(intel_gpu::memory_type::surface);
  auto& steps = p.input().preprocess();
  steps.convert_color(picture.to);
  if (picture.is_cropped) steps.crop({0, 2, 4, 0}, {static_cast<int>(picture.batch), 18, 22, is_gray ? 1 : 3});
  steps.convert_element_type(element::f32).resize(picture.resize);
  p.input().model().set_layout(picture.is_planar ? "NCHW" : "NHWC");
  return p.build();
}

/// Smooth, with all colours in it.
inline std::vector<Tensor> random_planes(const CompiledModel& compiled, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Tensor> planes;
  for (const auto& input : compiled.inputs()) {
    Tensor plane(element::u8, input.get_shape());
    for (std::size_t i = 0; i < plane.size_bytes(); ++i)
      plane.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(random());
    planes.push_back(plane);
  }
  return planes;
}

inline std::vector<float> values_of(const Tensor& tensor) {
  return {tensor.data<float>(), tensor.data<float>() + tensor.element_count()};
}

/// Infers into the device's memory, so that all that is copied or transferred is of inputs. @return the output.
inline std::vector<float> infer_in(ClContext& context, InferRequest& request) {
  RemoteTensor output = context.create_tensor(element::f32, request.get_output_tensor(0).get_shape());
  request.set_output_tensor(0, output);
  request.infer();
  Tensor values;
  output.copy_to(values);
  return values_of(values);
}

/// In 0..255.
inline float largest_step(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  float most = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

/// What the first kernel of an inference is: the only one that reads planes.
inline std::string first_kernel_of(const InferRequest& request) {
  for (const ProfilingInfo& info : request.get_profiling_info())
    if (info.status == ProfilingInfo::Status::EXECUTED) return info.exec_type;
  return {};
}

class Pictures : public Gpu {
 protected:
  void SetUp() override {
    Gpu::SetUp();
    if (IsSkipped()) return;
    try {
      core.get_property("CPU", supported_properties);
    } catch (const Error& error) {
      GTEST_SKIP() << "there is no CPU device to judge: " << error.what();
    }
  }
  std::vector<float> judged(const std::shared_ptr<Model>& model, const std::vector<std::vector<Tensor>>& planes) {
    auto request = core.compile_model(model, "CPU").create_infer_request();
    for (std::size_t i = 0; i < planes.size(); ++i) {
      if (planes[i].size() == 1)
        request.set_input_tensor(i, planes[i][0]);
      else
        request.set_input_tensors(i, planes[i]);
    }
    request.infer();
    return values_of(request.get_output_tensor(0));
  }

  /// Where a plane lies: each makes a tensor with the plane's bytes.
  using Placing = std::function<Tensor(ClContext&, const Tensor&)>;
  static Tensor on_host(ClContext&, const Tensor& plane) { return plane; }
  static Tensor in_buffer(ClContext& context, const Tensor& plane) {
    RemoteTensor tensor = context.create_tensor(element::u8, plane.shape());
    tensor.copy_from(plane);
    return tensor;
  }
  /// Rows further apart than they are long.
  static Tensor at_a_pitch(ClContext& context, const Tensor& plane) {
    Shape wide = plane.shape(), begin(4), end = plane.shape();
    wide[1] += 3;
    wide[2] += 5;
    begin[1] = 2, end[1] += 2;
    begin[2] = 1, end[2] += 1;
    const RemoteTensor all = context.create_tensor(element::u8, wide);
    RemoteTensor tensor(all, begin, end);
    tensor.copy_from(plane);
    return tensor;
  }
  static Tensor in_part_of_an_image(ClContext& context, const Tensor& plane) {
    Shape wide = plane.shape(), begin(4), end = plane.shape();
    wide[1] += 3;
    wide[2] += 5;
    begin[1] = 2, end[1] += 2;
    begin[2] = 1, end[2] += 1;
    RemoteTensor tensor(context.create_image_tensor(element::u8, wide), begin, end);
    tensor.copy_from(plane);
    return tensor;
  }
  static Tensor in_image(ClContext& context, const Tensor& plane) {
    ClImage2DTensor tensor = context.create_image_tensor(element::u8, plane.shape());
    tensor.copy_from(plane);
    return tensor;
  }
};

}  // namespace tenon::gpu_testing
