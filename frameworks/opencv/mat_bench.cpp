// SPDX-License-Identifier: Apache-2.0
// Cost of a cv::Mat over a tensor beside a bare cv::Mat header over the same bytes; shows that it allocates nothing.
#include <benchmark/benchmark.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <thread>

#include <tenon/core/router.hpp>
#include <tenon/core/testing/counted_loop.hpp>
#include <tenon/frameworks/cpu/pool.hpp>
#include <tenon/frameworks/opencv/opencv.hpp>

namespace {

using namespace tenon;
using tenon_test::counted;

/// Real programs have threads, which makes counts atomic.
const bool threads_ran = [] { return std::thread([] {}).join(), true; }();
const TensorInfo kRgb{element::u8, {224, 224, 3}, {}};

void BareHeader(benchmark::State& state) {
  cpu::Pool pool(3 * 224 * 224, 1);
  const Tensor source = pool.acquire_tensor(kRgb);
  counted(state, [&] {
    cv::Mat header(224, 224, CV_8UC3, source.data(), 672);
    benchmark::DoNotOptimize(header);
  });
}
BENCHMARK(BareHeader)->Name("Map/floor/cv::Mat_header");

/// The minimum cost of keeping the bytes: a copy of OpenCV's own Mat.
void CountedHeader(benchmark::State& state) {
  const cv::Mat source(224, 224, CV_8UC3);
  counted(state, [&] {
    cv::Mat header(source);
    benchmark::DoNotOptimize(header);
  });
}
BENCHMARK(CountedHeader)->Name("Map/floor/cv::Mat_copy_of_a_counted_header");

void Borrowed(benchmark::State& state) {
  cpu::Pool pool(3 * 224 * 224, 1);
  const Tensor source = pool.acquire_tensor(kRgb);
  counted(state, [&] {
    cv::Mat header = opencv::borrowed_mat(source);
    benchmark::DoNotOptimize(header);
  });
}
BENCHMARK(Borrowed)->Name("Map/cpu->cv::Mat/borrowed");

void Kept(benchmark::State& state) {
  cpu::Pool pool(3 * 224 * 224, 1);
  const Tensor source = state.range(0) ? pool.acquire_tensor(kRgb) : Tensor(kRgb.type, kRgb.shape);
  counted(state, [&] {
    cv::Mat header = opencv::mat(source);
    benchmark::DoNotOptimize(header);
  });
}
BENCHMARK(Kept)->Name("Map/cpu->cv::Mat/kept")->Arg(0)->Arg(1)->ArgName("pooled");

void RouterOnly(benchmark::State& state) {
  Router router;
  router.add(opencv::context());
  const Tensor source(kRgb.type, kRgb.shape);
  counted(state, [&] {
    Tensor mapped = router.map(source, opencv::context());
    benchmark::DoNotOptimize(mapped);
  });
}
BENCHMARK(RouterOnly)->Name("Map/cpu->opencv.mat/router_repeat");

void RouterAndBorrowed(benchmark::State& state) {
  Router router;
  router.add(opencv::context());
  const Tensor source(kRgb.type, kRgb.shape);
  counted(state, [&] {
    const Tensor mapped = router.map(source, opencv::context());
    cv::Mat header = opencv::borrowed_mat(mapped);
    benchmark::DoNotOptimize(header);
  });
}
BENCHMARK(RouterAndBorrowed)->Name("Map/cpu->opencv.mat->cv::Mat/router_and_borrowed");

void RouterAndKept(benchmark::State& state) {
  Router router;
  router.add(opencv::context());
  const Tensor source(kRgb.type, kRgb.shape);
  counted(state, [&] {
    cv::Mat header = opencv::mat(router.map(source, opencv::context()));
    benchmark::DoNotOptimize(header);
  });
}
BENCHMARK(RouterAndKept)->Name("Map/cpu->opencv.mat->cv::Mat/router_and_kept");

void Wrap(benchmark::State& state) {
  const cv::Mat source(224, 224, CV_8UC3);
  for (auto _ : state) benchmark::DoNotOptimize(opencv::wrap(source));
}
BENCHMARK(Wrap)->Name("Wrap/cv::Mat->tensor/224x224_rgb");

}  // namespace
