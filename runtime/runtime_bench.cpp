// SPDX-License-Identifier: Apache-2.0
// The runtime's overhead on one tiny inference; every result stands beside its lower bound.
#include <benchmark/benchmark.h>

#include <tenon/core/ledger.hpp>
#include <tenon/runtime/device/device_registry.hpp>
#include <tenon/runtime/runtime.hpp>
#include <tenon/runtime/testing/reference_device.hpp>

namespace {

using namespace tenon;

CompiledModel tiny() {
  static Core core;
  static const bool registered = (register_device(testing::reference_module()), true);
  static_cast<void>(registered);
  return core.compile_model(testing::relu_model(PartialShape{1, 16}), "REFERENCE", testing::tiny_relu(true));
}

void report(benchmark::State& state, InferRequest& request) {
  state.counters["bytes_copied"] = static_cast<double>(request.ledger().total().copied);
}

void Floor_relu16(benchmark::State& state) {
  Tensor x(element::f32, {1, 16}), y(element::f32, {1, 16});
  for (auto _ : state) {
    const float* from = x.data<float>();
    float* to = y.data<float>();
    for (int i = 0; i < 16; ++i) to[i] = from[i] > 0 ? from[i] : 0;
    benchmark::ClobberMemory();
  }
}
BENCHMARK(Floor_relu16);

void Infer_relu16(benchmark::State& state) {
  auto request = tiny().create_infer_request();
  request.infer();
  for (auto _ : state) request.infer();
  report(state, request);
}
BENCHMARK(Infer_relu16);

void SetTensorAndInfer_relu16(benchmark::State& state) {
  auto request = tiny().create_infer_request();
  Tensor x(element::f32, {1, 16});
  for (auto _ : state) {
    request.set_tensor("x", x);
    request.infer();
  }
  report(state, request);
}
BENCHMARK(SetTensorAndInfer_relu16);

void SetTensor_by_name(benchmark::State& state) {
  auto request = tiny().create_infer_request();
  Tensor x(element::f32, {1, 16});
  for (auto _ : state) request.set_tensor("x", x);
}
BENCHMARK(SetTensor_by_name);

void GetTensor_by_name(benchmark::State& state) {
  auto request = tiny().create_infer_request();
  for (auto _ : state) benchmark::DoNotOptimize(request.get_tensor("y"));
}
BENCHMARK(GetTensor_by_name);

void StartAsyncAndWait_relu16(benchmark::State& state) {
  auto request = tiny().create_infer_request();
  for (auto _ : state) {
    request.start_async();
    request.wait();
  }
}
BENCHMARK(StartAsyncAndWait_relu16)->UseRealTime();

}  // namespace
