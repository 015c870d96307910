// SPDX-License-Identifier: Apache-2.0
// Decoding of 8,400 boxes of 80 classes, 2 % of them objects; decoders/oracle.py --speed measures Ultralytics' own program on such outputs.
#include <algorithm>
#include <cstddef>
#include <random>
#include <string>
#include <utility>

#include <benchmark/benchmark.h>

#include <tenon/vision/decode.hpp>

namespace {

using namespace tenon;

constexpr std::size_t kBoxes = 8400, kClasses = 80;

/// @param is_transposed  [1,84,8400], as Ultralytics exports it; else [1,8400,84].
Tensor outputs(bool is_transposed) {
  std::mt19937 random(1);
  const auto within = [&](float low, float high) { return std::uniform_real_distribution<float>(low, high)(random); };
  const std::size_t width = 4 + kClasses;
  Tensor made(ElementType::kF32, is_transposed ? Shape{1, width, kBoxes} : Shape{1, kBoxes, width});
  for (std::size_t i = 0; i < kBoxes; ++i) {
    const std::size_t best = within(0, 1) < 0.02f ? 4 + static_cast<std::size_t>(within(0, kClasses - 1)) : 0;
    for (std::size_t n = 0; n < width; ++n)
      made.data<float>()[is_transposed ? n * kBoxes + i : i * width + n] = n < 2       ? within(0, 640)
                                                                           : n < 4     ? within(10, 200)
                                                                           : n == best ? within(0.3f, 0.99f)
                                                                                       : within(0, 0.1f);
  }
  return made;
}

void decode(benchmark::State& state) {
  const Tensor output = outputs(state.range(0) != 0);
  vision::DecodeOptions options;
  options.model_type = "YOLOv8";
  for (std::size_t c = 0; c < kClasses; ++c) options.labels.push_back(std::to_string(c));
  options.input_width = options.input_height = 640;
  options.confidence_threshold = 0.25f, options.iou_threshold = 0.7f;
  vision::Decoder decoder(std::move(options));
  std::size_t found = 0;
  for (auto _ : state) benchmark::DoNotOptimize(found = decoder.decode({&output, 1}).size());
  state.counters["objects"] = static_cast<double>(found);
}
BENCHMARK(decode)->ArgName("transposed")->Arg(1)->Arg(0)->Unit(benchmark::kMicrosecond);

}  // namespace
