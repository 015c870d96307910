// SPDX-License-Identifier: Apache-2.0
// Compares the NPU device with the CPU device: tiny inferences, changing tensors, and the time to the first inference
// cold (FEIL), with the driver's cache, and with CACHE_DIR (FIL). ZE_ENABLE_ALT_DRIVERS selects a driver,
// TENON_BENCH_MODEL a model (default: a small network).
#include <benchmark/benchmark.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include <tenon/core/ledger.hpp>
#include <tenon/devices/npu/public/properties.hpp>
#include <tenon/runtime/runtime.hpp>
#include <tenon/runtime/testing/reference_device.hpp>

namespace {

using namespace tenon;

Core& core() {
  static Core core;
  return core;
}

/// Returns false and skips the benchmark with the reason if the device is missing.
bool is_here(benchmark::State& state, const char* device) {
  try {
    core().get_property(device, device::full_name);
    return true;
  } catch (const Error& error) {
    state.SkipWithError(error.what());
    return false;
  }
}

void finish(benchmark::State& state, InferRequest& request) {
  state.counters["copied_bytes"] = static_cast<double>(request.ledger().total().copied);
}

void BM_TinyInference(benchmark::State& state, const char* device) {
  if (!is_here(state, device)) return;
  auto request = core().compile_model(testing::relu_model({1, 16}), device).create_infer_request();
  request.infer();
  for (auto _ : state) request.infer();
  finish(state, request);
}
BENCHMARK_CAPTURE(BM_TinyInference, cpu, "CPU");
BENCHMARK_CAPTURE(BM_TinyInference, npu, "NPU")->UseRealTime();

void BM_TinyAsyncInference(benchmark::State& state, const char* device) {
  if (!is_here(state, device)) return;
  auto request = core().compile_model(testing::relu_model({1, 16}), device).create_infer_request();
  request.infer();
  for (auto _ : state) {
    request.start_async();
    request.wait();
  }
  finish(state, request);
}
BENCHMARK_CAPTURE(BM_TinyAsyncInference, cpu, "CPU")->UseRealTime();
BENCHMARK_CAPTURE(BM_TinyAsyncInference, npu, "NPU")->UseRealTime();

/// Only set_tensor, alternating among four buffers known to the request.
void BM_SetTensor(benchmark::State& state, const char* device) {
  if (!is_here(state, device)) return;
  constexpr std::size_t kPage = 4096;
  void* pages = ::mmap(nullptr, 4 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  {
    auto request = core().compile_model(testing::relu_model({1, 1024}), device).create_infer_request();
    std::vector<Tensor> buffers;
    for (std::size_t i = 0; i < 4; ++i)
      buffers.emplace_back(element::f32, Shape{1, 1024}, static_cast<std::byte*>(pages) + i * kPage);
    for (const Tensor& buffer : buffers) {
      request.set_tensor("x", buffer);
      request.infer();
    }
    std::size_t next = 0;
    for (auto _ : state) request.set_tensor("x", buffers[next++ & 3]);
    finish(state, request);
  }
  ::munmap(pages, 4 * kPage);
}
BENCHMARK_CAPTURE(BM_SetTensor, cpu, "CPU");
BENCHMARK_CAPTURE(BM_SetTensor, npu, "NPU");

std::shared_ptr<Model> bench_model() {
  if (const char* path = std::getenv("TENON_BENCH_MODEL")) return core().read_model(path);
  return testing::relu_model({1, 3, 224, 224});
}

/// Compiling, loading and the first inference.
void BM_FirstInference(benchmark::State& state, const AnyMap& properties) {
  if (!is_here(state, "NPU")) return;
  const auto model = bench_model();
  const auto first = [&] { core().compile_model(model, "NPU", properties).create_infer_request().infer(); };
  if (!properties.count(intel_npu::bypass_umd_caching.name())) first();  // Fills the cache.
  for (auto _ : state) first();
}

AnyMap in_folder() {
  const auto folder = std::filesystem::temp_directory_path() / ("tenon_npu_bench_" + std::to_string(::getpid()));
  return {cache_dir(folder.string())};
}

BENCHMARK_CAPTURE(BM_FirstInference, cold, AnyMap{intel_npu::bypass_umd_caching(true)})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_FirstInference, driver_cache, AnyMap{})->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_FirstInference, cache_dir, in_folder())->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
