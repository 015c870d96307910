// SPDX-License-Identifier: Apache-2.0
// CPU memory as ov::Tensor beside the bare constructor over the same pointer, in one binary. Target: at most 1.4 times
// the bare one.
#include <benchmark/benchmark.h>

#include <thread>

#include <tenon/core/router.hpp>
#include <tenon/frameworks/cpu/pool.hpp>
#include <tenon/frameworks/openvino/openvino.hpp>

namespace {

using namespace tenon;

// In libstdc++ reference counts are not atomic until a thread has run; programs that run inference have threads.
const bool threads_ran = [] { return std::thread([] {}).join(), true; }();

const TensorInfo kImage{element::u8, {1, 224, 224, 3}, {}};

void BareTensor(benchmark::State& state) {
  cpu::Pool pool(3 * 224 * 224, 1);
  const Tensor source = pool.acquire_tensor(kImage);
  for (auto _ : state) {
    ov::Tensor bare(ov::element::u8, ov::Shape{1, 224, 224, 3}, source.data());
    benchmark::DoNotOptimize(bare);
  }
}
BENCHMARK(BareTensor)->Name("Map/floor/bare_ov_tensor");

void BareTensorKnownShape(benchmark::State& state) {
  cpu::Pool pool(3 * 224 * 224, 1);
  const Tensor source = pool.acquire_tensor(kImage);
  const ov::Shape shape{1, 224, 224, 3};
  for (auto _ : state) {
    ov::Tensor bare(ov::element::u8, shape, source.data());
    benchmark::DoNotOptimize(bare);
  }
}
BENCHMARK(BareTensorKnownShape)->Name("Map/floor/bare_ov_tensor_known_shape");

void ToTensor(benchmark::State& state) {
  cpu::Pool pool(3 * 224 * 224, 1);
  const Tensor source = pool.acquire_tensor(kImage);
  for (auto _ : state) {
    ov::Tensor native = openvino::tensor(source);
    benchmark::DoNotOptimize(native);
  }
}
BENCHMARK(ToTensor)->Name("Map/cpu->ov::Tensor/224x224_rgb");

void MapToTensor(benchmark::State& state) {
  Router router;
  router.add(openvino::context());
  cpu::Pool pool(3 * 224 * 224, 1);
  const Tensor source = pool.acquire_tensor(kImage);
  for (auto _ : state) {
    ov::Tensor native = openvino::tensor(router.map(source, openvino::context()));
    benchmark::DoNotOptimize(native);
  }
}
BENCHMARK(MapToTensor)->Name("Map/cpu->openvino->ov::Tensor/224x224_rgb_repeat");

void BareStrided(benchmark::State& state) {
  cpu::Pool pool(3 * 224 * 256, 1);
  const Tensor source = pool.acquire_tensor({element::u8, {1, 224, 224, 3}, {224 * 768, 768, 3, 1}});
  for (auto _ : state) {
    ov::Tensor bare(ov::element::u8, ov::Shape{1, 224, 224, 3}, source.data(), ov::Strides{224 * 768, 768, 3, 1});
    benchmark::DoNotOptimize(bare);
  }
}
BENCHMARK(BareStrided)->Name("Map/floor/bare_ov_tensor_strided");

void StridedToTensor(benchmark::State& state) {
  cpu::Pool pool(3 * 224 * 256, 1);
  const Tensor source = pool.acquire_tensor({element::u8, {1, 224, 224, 3}, {224 * 768, 768, 3, 1}});
  for (auto _ : state) {
    ov::Tensor native = openvino::tensor(source);
    benchmark::DoNotOptimize(native);
  }
}
BENCHMARK(StridedToTensor)->Name("Map/cpu->ov::Tensor/224x224_rgb_strided");

void BareWrap(benchmark::State& state) {
  const ov::Tensor native(ov::element::u8, ov::Shape{1, 224, 224, 3});
  for (auto _ : state) {
    ov::Tensor copy = native;
    benchmark::DoNotOptimize(copy);
  }
}
BENCHMARK(BareWrap)->Name("Map/floor/copy_of_ov_tensor");

void Wrap(benchmark::State& state) {
  const ov::Tensor native(ov::element::u8, ov::Shape{1, 224, 224, 3});
  for (auto _ : state) {
    Tensor wrapped = openvino::wrap(native);
    benchmark::DoNotOptimize(wrapped);
  }
}
BENCHMARK(Wrap)->Name("Map/ov::Tensor->cpu/224x224_rgb");

}  // namespace
