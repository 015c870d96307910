// SPDX-License-Identifier: Apache-2.0
// From a decoder's VASurfaceID to inference: gpu_va [node]. The surface's planes become tensors, which the first kernel
// reads in place. Exits with 77 if there is no VA-API, or no OpenCL device that can use its surfaces.
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <memory>

#include <tenon/core/ledger.hpp>
#include <tenon/devices/gpu/public/properties.hpp>
#include <tenon/devices/gpu/public/va.hpp>
#include <tenon/graph/ops.hpp>
#include <tenon/runtime/preprocess/pre_post_process.hpp>
#include <tenon/runtime/runtime.hpp>
#include "../support/decoder_va.h"

namespace {

using namespace tenon;
using intel_gpu::ocl::VAContext;

constexpr int kNotHere = 77;
constexpr std::size_t kWidth = 320, kHeight = 240;
using Bgr = std::array<float, 3>;

/// The mean colour of a picture: [1, 3] of BGR, from two planes of NV12.
std::shared_ptr<Model> mean_colour() {
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 3, kHeight, kWidth});
  x->set_friendly_name("picture");
  const auto axes = op::v0::Constant::create(element::i64, Shape{2}, std::vector<std::int64_t>{2, 3});
  auto mean = make_node("ReduceMean", 1, {x->output(0), axes->output(0)}, {{"keep_dims", false}}, "mean");
  using namespace preprocess;
  PrePostProcessor p(std::make_shared<Model>(mean->outputs(), ParameterVector{x}, "mean_colour"));
  p.input()
      .tensor()
      .set_element_type(element::u8)
      .set_color_format(ColorFormat::NV12_TWO_PLANES, {"y", "uv"})
      .set_memory_type(intel_gpu::memory_type::surface);
  p.input().preprocess().convert_color(ColorFormat::BGR);
  p.input().model().set_layout("NCHW");
  return p.build();
}

bool is_near(const float* found, const Bgr& wanted) {
  std::printf("  blue %.0f, green %.0f, red %.0f\n", found[0], found[1], found[2]);
  bool is_right = true;
  for (std::size_t c = 0; c < 3; ++c) is_right &= std::abs(found[c] - wanted[c]) < 2;
  return is_right;
}

int run(VADisplay display) {
  Core core;
  VAContext shared_va_context(core, display);  // On the device that can use the display's surfaces best.
  const auto model = mean_colour();
  auto infer_request = core.compile_model(model, shared_va_context).create_infer_request();
  const auto input_y = model->get_parameters().at(0), input_uv = model->get_parameters().at(1);

  constexpr struct {
    unsigned char y, u, v;
    Bgr bgr;
  } kPictures[] = {{81, 90, 240, {0, 0, 255}}, {41, 240, 110, {255, 0, 0}}};  // Red and blue in BT.601.
  bool is_right = true;
  for (const auto& picture : kPictures) {
    VASurfaceID surface = decode(display, kWidth, kHeight, picture.y, picture.u, picture.v);
    {  // Making the tensors waits until the surface is decoded.
      auto nv12 = shared_va_context.create_tensor_nv12(kHeight, kWidth, surface);
      infer_request.set_tensor(input_y->get_friendly_name(), nv12.first);
      infer_request.set_tensor(input_uv->get_friendly_name(), nv12.second);
      infer_request.start_async();
      infer_request.wait();
    }
    is_right &= is_near(infer_request.get_output_tensor().data<float>(), picture.bgr);
    vaDestroySurfaces(display, &surface, 1);
  }
  const LedgerEntry moved = infer_request.ledger().total();
  std::printf("%s: %llu bytes copied\n", shared_va_context.get_device_name().c_str(),
              static_cast<unsigned long long>(moved.copied));
  return is_right && moved.copied == 0 ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  const decoder source = open_decoder(count > 1 ? arguments[1] : "/dev/dri/renderD128");
  int code = 1;
  try {
    code = run(source.display);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    if (error.code() == Code::kUnavailable || error.code() == Code::kUnimplemented) code = kNotHere;
  }
  close_decoder(source);
  return code;
}
