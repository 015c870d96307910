// SPDX-License-Identifier: Apache-2.0
// Costs of maps between host memory and cl_mem beside the bare calls, in the same run.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <mutex>
#include <thread>
#include <unordered_map>

#include <tenon/core/router.hpp>
#include <tenon/frameworks/cpu/pool.hpp>
#include <tenon/frameworks/opencl/contexts.hpp>

namespace {

using namespace tenon;

// Reference counts cost more once a thread has run, as in real programs.
const bool threads_ran = [] { return std::thread([] {}).join(), true; }();

constexpr std::size_t kBytes = 1920 * 1080 * 3 / 2;

Context device_or_skip(benchmark::State& state) {
  try {
    static const Context* context = new Context(opencl::make_context());
    state.SetLabel(opencl::device(*context).platform_name);
    return *context;
  } catch (const Error& error) {
    state.SkipWithError(error.what());
    return {};
  }
}

std::byte* host_block() {
  static auto* block = static_cast<std::byte*>(std::aligned_alloc(4096, (kBytes + 4095) / 4096 * 4096));
  return block;
}

/// What a careful program does by hand: finds this memory's cl_mem in a table shared by threads, takes a reference, and
/// releases it after use.
void RepeatFloor(benchmark::State& state) {
  const Context context = device_or_skip(state);
  if (!context) return;
  cl_int status = CL_SUCCESS;
  cl_mem made =
      clCreateBuffer(opencl::handle(context), CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, kBytes, host_block(), &status);
  std::unordered_map<const void*, cl_mem> table{{host_block(), made}};
  std::mutex mutex;
  for (auto _ : state) {
    cl_mem found = nullptr;
    {
      std::lock_guard lock(mutex);
      found = table.find(host_block())->second;
      clRetainMemObject(found);
    }
    benchmark::DoNotOptimize(found);
    clReleaseMemObject(found);
  }
  clReleaseMemObject(made);
}
BENCHMARK(RepeatFloor)->Name("Map/floor/find_retain_release");

/// The same without the lock: the minimum for a look-up with a reference.
void RepeatBareFloor(benchmark::State& state) {
  const Context context = device_or_skip(state);
  if (!context) return;
  cl_int status = CL_SUCCESS;
  cl_mem made =
      clCreateBuffer(opencl::handle(context), CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, kBytes, host_block(), &status);
  std::unordered_map<const void*, cl_mem> table{{host_block(), made}};
  for (auto _ : state) {
    cl_mem found = table.find(host_block())->second;
    clRetainMemObject(found);
    benchmark::DoNotOptimize(found);
    clReleaseMemObject(found);
  }
  clReleaseMemObject(made);
}
BENCHMARK(RepeatBareFloor)->Name("Map/floor/find_retain_release_without_lock");

void Repeat(benchmark::State& state) {
  const Context context = device_or_skip(state);
  if (!context) return;
  Router router;
  router.add(context);
  const Tensor source(element::u8, {1620, 1920}, host_block());
  for (auto _ : state) {
    const Tensor mapped = router.map(source, context);
    benchmark::DoNotOptimize(opencl::buffer(mapped));
  }
}
BENCHMARK(Repeat)->Name("Map/cpu->opencl.buffer/1080p_nv12_repeat");

void FirstFloor(benchmark::State& state) {
  const Context context = device_or_skip(state);
  if (!context) return;
  for (auto _ : state) {
    cl_int status = CL_SUCCESS;
    cl_mem made =
        clCreateBuffer(opencl::handle(context), CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, kBytes, host_block(), &status);
    benchmark::DoNotOptimize(made);
    clReleaseMemObject(made);
  }
}
BENCHMARK(FirstFloor)->Name("Map/floor/create_release");

/// The same with the pointer wrapped as a tensor, which `First` always has to do.
void FirstFloorWithTensor(benchmark::State& state) {
  const Context context = device_or_skip(state);
  if (!context) return;
  for (auto _ : state) {
    const Tensor source(element::u8, {1620, 1920}, host_block());
    cl_int status = CL_SUCCESS;
    cl_mem made = clCreateBuffer(opencl::handle(context), CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, kBytes,
                                 source.data(), &status);
    benchmark::DoNotOptimize(made);
    clReleaseMemObject(made);
  }
}
BENCHMARK(FirstFloorWithTensor)->Name("Map/floor/wrap_create_release");

/// Includes wrapping the pointer: each iteration uses memory that no context has seen.
void First(benchmark::State& state) {
  const Context context = device_or_skip(state);
  if (!context) return;
  Router router;
  router.add(context);
  for (auto _ : state) {
    const Tensor source(element::u8, {1620, 1920}, host_block());
    const Tensor mapped = router.map(source, context);
    benchmark::DoNotOptimize(opencl::buffer(mapped));
  }
}
BENCHMARK(First)->Name("Map/cpu->opencl.buffer/1080p_nv12_first");

/// Out of a pool, mapped, back into the pool: a pipeline's steady state.
void Cycle(benchmark::State& state) {
  const Context context = device_or_skip(state);
  if (!context) return;
  Router router;
  router.add(context);
  cpu::Pool pool(kBytes, 1);
  const TensorInfo info{element::u8, {1620, 1920}, {}};
  for (auto _ : state) {
    const Tensor mapped = router.map(pool.acquire_tensor(info), context);
    benchmark::DoNotOptimize(opencl::buffer(mapped));
  }
}
BENCHMARK(Cycle)->Name("Map/pool->opencl.buffer->pool/1080p_nv12");

/// A buffer to the host and back, as users write it: map, finish, unmap, finish.
void MapUnmapFloor(benchmark::State& state) {
  const Context context = device_or_skip(state);
  if (!context) return;
  cl_int status = CL_SUCCESS;
  cl_mem made =
      clCreateBuffer(opencl::handle(context), CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, kBytes, host_block(), &status);
  for (auto _ : state) {
    void* mapped = clEnqueueMapBuffer(opencl::queue(context), made, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, kBytes, 0,
                                      nullptr, nullptr, &status);
    benchmark::DoNotOptimize(mapped);
    clEnqueueUnmapMemObject(opencl::queue(context), made, mapped, 0, nullptr, nullptr);
    clFinish(opencl::queue(context));
  }
  clReleaseMemObject(made);
}
BENCHMARK(MapUnmapFloor)->Name("Map/floor/map_unmap_finish");

void BufferToHost(benchmark::State& state) {
  const Context context = device_or_skip(state);
  if (!context) return;
  Router router;
  router.add(context);
  Requirements wanted;
  wanted.size_bytes = kBytes;
  const Tensor source({element::u8, {1620, 1920}, {}}, context->allocate(wanted));
  for (auto _ : state) {
    const Tensor mapped = router.map(source, host_context(), Access::kReadWrite);
    benchmark::DoNotOptimize(mapped.data());
  }
}
BENCHMARK(BufferToHost)->Name("Map/opencl.buffer->cpu/1080p_nv12_repeat");

}  // namespace
