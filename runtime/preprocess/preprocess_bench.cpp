// SPDX-License-Identifier: Apache-2.0
// Pre-processing by PrePostProcessor on the CPU device, beside the same model on an installed OpenVINO: one run of each
// in turn, so that other load on the machine affects both. Counters: medians in microseconds of time passed and of
// the process's CPU time, and the ratio of theirs to ours. On a busy machine quote the CPU time: elapsed time
// includes waiting for others.
#include <algorithm>
#include <chrono>
#include <ctime>
#include <functional>
#include <vector>

#include <benchmark/benchmark.h>

#include <tenon/graph/layout.hpp>
#include <tenon/runtime/preprocess/pre_post_process.hpp>
#include <tenon/runtime/runtime.hpp>

namespace {
using namespace tenon;
using namespace tenon::preprocess;
using Clock = std::chrono::steady_clock;

/// The chain of steps for a picture, and one cheap node after it.
std::shared_ptr<Model> make_model(const PartialShape& shape, const std::function<void(InputInfo&)>& steps) {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, shape);
  x->set_friendly_name("image");
  x->output(0).set_names({"image"});
  const auto y = std::make_shared<op::v0::Relu>(x);
  y->output(0).set_names({"out"});
  PrePostProcessor p(std::make_shared<Model>(OutputVector{y->output(0)}, ParameterVector{x}, "m"));
  steps(p.input());
  return p.build();
}

void fill(InferRequest& request, std::size_t inputs) {
  std::uint32_t state = 7;
  for (std::size_t i = 0; i < inputs; ++i) {
    const Tensor tensor = request.get_input_tensor(i);
    auto* bytes = static_cast<std::uint8_t*>(tensor.data());
    for (std::size_t k = 0; k < tensor.size_bytes(); ++k) {
      state = state * 1664525u + 1013904223u;
      bytes[k] = static_cast<std::uint8_t>(80 + k % 64 + (state >> 28));
    }
  }
}

double cpu_us() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

double median(std::vector<double>& times) {
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

void paired(benchmark::State& state, const PartialShape& shape, const std::function<void(InputInfo&)>& steps) {
  try {
    Core core;
    const auto model = make_model(shape, steps);
    std::vector<InferRequest> requests;
    for (const char* device : {"CPU", "OPENVINO.CPU"}) {
      auto compiled = core.compile_model(model, device, inference_num_threads(static_cast<int>(state.range(0))),
                                         hint::inference_precision(element::f32));
      requests.push_back(compiled.create_infer_request());
      fill(requests.back(), model->inputs().size());
      for (int i = 0; i < 5; ++i) requests.back().infer();
    }
    std::vector<double> ours, theirs, our_cpu, their_cpu;
    for (auto _ : state) {
      double times[2], cpu[2];
      for (std::size_t i = 0; i < 2; ++i) {
        const auto start = Clock::now();
        const double cpu_start = cpu_us();
        requests[i].infer();
        cpu[i] = cpu_us() - cpu_start;
        times[i] = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
      }
      ours.push_back(times[0]);
      theirs.push_back(times[1]);
      our_cpu.push_back(cpu[0]);
      their_cpu.push_back(cpu[1]);
      state.SetIterationTime(times[0] * 1e-6);
    }
    const auto report = [&](const char* what, std::vector<double>& a, std::vector<double>& b) {
      state.counters[std::string("tenon_") + what] = median(a);
      state.counters[std::string("openvino_") + what] = median(b);
      state.counters[std::string("ratio_") + what] = median(b) / median(a);
    };
    report("us", ours, theirs);
    report("cpu_us", our_cpu, their_cpu);
  } catch (const Error& error) {
    state.SkipWithError(error.what());
  }
}

void nv12(InputInfo& input) {
  input.tensor()
      .set_element_type(element::u8)
      .set_color_format(ColorFormat::NV12_TWO_PLANES, {"y", "uv"})
      .set_spatial_static_shape(720, 1280);
  input.preprocess()
      .convert_color(ColorFormat::RGB)
      .convert_element_type(element::f32)
      .resize(ResizeAlgorithm::RESIZE_LINEAR)
      .mean({123.675f, 116.28f, 103.53f})
      .scale({58.395f, 57.12f, 57.375f});
  input.model().set_layout("NCHW");
}

void nv12_same_size(InputInfo& input) {
  input.tensor().set_element_type(element::u8).set_color_format(ColorFormat::NV12_TWO_PLANES, {"y", "uv"});
  input.preprocess().convert_color(ColorFormat::BGR).convert_element_type(element::f32).scale(255);
  input.model().set_layout("NCHW");
}

void rgb(InputInfo& input) {
  input.tensor().set_element_type(element::u8).set_layout("NHWC").set_spatial_static_shape(720, 1280);
  input.preprocess().convert_element_type(element::f32).resize(ResizeAlgorithm::RESIZE_LINEAR).scale(255);
  input.model().set_layout("NCHW");
}

void rgb_letterbox(InputInfo& input) {
  input.tensor().set_element_type(element::u8).set_layout("NHWC").set_shape({1, 1080, 1920, 3});
  input.preprocess()
      .convert_element_type(element::f32)
      .resize(ResizeAlgorithm::RESIZE_LINEAR, 360, 640)
      .pad({0, 140, 0, 0}, {0, 140, 0, 0}, 114, PaddingMode::CONSTANT)
      .scale(255)
      .reverse_channels();
  input.model().set_layout("NCHW");
}

void nv12_cubic(InputInfo& input) {
  input.tensor()
      .set_element_type(element::u8)
      .set_color_format(ColorFormat::NV12_TWO_PLANES, {"y", "uv"})
      .set_spatial_static_shape(720, 1280);
  input.preprocess()
      .convert_color(ColorFormat::RGB)
      .convert_element_type(element::f32)
      .resize(ResizeAlgorithm::RESIZE_CUBIC);
  input.model().set_layout("NCHW");
}

#define TENON_PAIRED(name, steps, ...)                                                                 \
  void name(benchmark::State& state) { paired(state, PartialShape(Shape{1, 3, __VA_ARGS__}), steps); } \
  BENCHMARK(name)->Arg(1)->Arg(2)->UseManualTime()->Unit(benchmark::kMicrosecond)->Iterations(100)
TENON_PAIRED(Nv12To512x288, nv12, 288, 512);
TENON_PAIRED(Nv12NoResize, nv12_same_size, 720, 1280);
TENON_PAIRED(RgbTo224x224, rgb, 224, 224);
TENON_PAIRED(RgbLetterbox640, rgb_letterbox, 640, 640);
TENON_PAIRED(Nv12CubicTo512x288, nv12_cubic, 288, 512);

}  // namespace
