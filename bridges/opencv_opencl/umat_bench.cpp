// SPDX-License-Identifier: Apache-2.0
// Cost of a cv::UMat over a buffer, first and repeated, beside OpenCV's own header over the same cl_mem.
#include <benchmark/benchmark.h>

#include <optional>
#include <thread>

#include <tenon/bridges/opencv_opencl/contexts.hpp>
#include <tenon/bridges/opencv_opencl/opencv_opencl.hpp>
#include <tenon/core/router.hpp>

namespace {

using namespace tenon;

// Reference counts cost more once a thread has run, as in real programs.
const bool threads_ran = [] { return std::thread([] {}).join(), true; }();

constexpr std::size_t kRows = 1620, kColumns = 1920;

class Setup {
 public:
  explicit Setup(benchmark::State& state) {
    try {
      buffers = opencl::make_context();
      umats = opencv_opencl::make_context(buffers);
    } catch (const Error& error) {
      state.SkipWithError(error.what());
      return;
    }
    router.add(buffers);
    router.add(umats);
    scope.emplace(opencv_opencl::execution(umats));
    cl_int status = CL_SUCCESS;
    buffer = clCreateBuffer(opencl::handle(buffers), CL_MEM_READ_WRITE, kRows * kColumns, nullptr, &status);
    state.SetLabel(opencl::device(buffers).platform_name);
  }
  ~Setup() {
    if (buffer) clReleaseMemObject(buffer);
  }
  Setup(const Setup&) = delete;
  Setup& operator=(const Setup&) = delete;
  /// The buffer as memory that no context has seen yet.
  Tensor fresh() const { return opencl::wrap(buffers, buffer, {element::u8, {kRows, kColumns}, {}}); }
  explicit operator bool() const { return buffer != nullptr; }

  Context buffers, umats;
  Router router;
  cl_mem buffer = nullptr;
  std::optional<cv::ocl::OpenCLExecutionContextScope> scope;
};

/// What `First` always has to do.
void Wrap(benchmark::State& state) {
  const Setup setup(state);
  for (auto _ : state) benchmark::DoNotOptimize(setup.fresh());
}
BENCHMARK(Wrap)->Name("Map/floor/wrap_cl_mem");

void ConvertFromBuffer(benchmark::State& state) {
  const Setup setup(state);
  if (!setup) return;
  for (auto _ : state) {
    cv::UMat umat;
    cv::ocl::convertFromBuffer(setup.buffer, kColumns, kRows, kColumns, CV_8U, umat);
    benchmark::DoNotOptimize(umat);
  }
}
BENCHMARK(ConvertFromBuffer)->Name("Map/floor/cv::ocl::convertFromBuffer");

void First(benchmark::State& state) {
  const Setup setup(state);
  for (auto _ : state) benchmark::DoNotOptimize(setup.router.map(setup.fresh(), setup.umats));
}
BENCHMARK(First)->Name("Map/opencl.buffer->opencv.umat/1080p_nv12_first");

void FirstUmat(benchmark::State& state) {
  const Setup setup(state);
  for (auto _ : state) {
    const cv::UMat umat = opencv_opencl::umat(setup.router.map(setup.fresh(), setup.umats), Access::kRead);
    benchmark::DoNotOptimize(umat);
  }
}
BENCHMARK(FirstUmat)->Name("Map/opencl.buffer->opencv.umat->cv::UMat/1080p_nv12_first");

void Repeat(benchmark::State& state) {
  const Setup setup(state);
  if (!setup) return;
  const Tensor source = setup.fresh();
  for (auto _ : state) benchmark::DoNotOptimize(setup.router.map(source, setup.umats));
}
BENCHMARK(Repeat)->Name("Map/opencl.buffer->opencv.umat/1080p_nv12_repeat");

}  // namespace
