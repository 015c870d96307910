// SPDX-License-Identifier: Apache-2.0
// What the GPU device costs the host, and what its products and convolutions reach.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tenon/frameworks/opencl/client.hpp>
#include <tenon/frameworks/opencl/testing/queue.hpp>
#include <tenon/graph/ops.hpp>
#include <tenon/runtime/runtime.hpp>

namespace tenon {
namespace {

std::shared_ptr<op::v0::Parameter> input(const Shape& shape) {
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape(shape));
  x->output(0).set_names({"x"});
  return x;
}

/// Any values will do.
Output<Node> weights(const Shape& shape) {
  std::vector<double> values(element_count(shape));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i % 17) / 100 - 0.08;
  return op::v0::Constant::create(element::f32, shape, values);
}

std::shared_ptr<Model> model_of(const std::shared_ptr<op::v0::Parameter>& x, const Output<Node>& y) {
  y.get_node()->output(y.get_index()).set_names({"y"});
  return std::make_shared<Model>(OutputVector{y}, ParameterVector{x}, "bench");
}

/// `count` kernels: the odd ones keep the even ones from becoming one.
std::shared_ptr<Model> chain(std::size_t count) {
  auto x = input({1, 64});
  Output<Node> y = x;
  for (std::size_t i = 0; i < count; ++i)
    y = make_node("ReduceMax", 1,
                  {make_node("Sigmoid", 1, {y}, {}, "")->output(0),
                   op::v0::Constant::create(element::i64, Shape{1}, {0})->output(0)},
                  {{"keep_dims", true}}, "");
  return model_of(x, y);
}

std::shared_ptr<Model> convolution(std::size_t batch, std::size_t channels, std::size_t size, std::size_t window) {
  auto x = input({batch, channels, size, size});
  const auto pad = static_cast<std::int64_t>(window / 2);
  auto y = make_node("Convolution", 1, {x, weights({channels, channels, window, window})},
                     {{"strides", std::vector<std::int64_t>{1, 1}},
                      {"dilations", std::vector<std::int64_t>{1, 1}},
                      {"pads_begin", std::vector<std::int64_t>{pad, pad}},
                      {"pads_end", std::vector<std::int64_t>{pad, pad}}},
                     "");
  return model_of(x, make_node("Relu", 1, {y}, {}, "")->output(0));
}

std::shared_ptr<Model> product(std::size_t m, std::size_t n, std::size_t k) {
  auto x = input({m, k});
  return model_of(
      x, make_node("MatMul", 1, {x, weights({k, n})}, {{"transpose_a", false}, {"transpose_b", false}}, "")->output(0));
}

bool has_device(benchmark::State& state, Core& core, const std::string& name) {
  for (const auto& device : core.get_available_devices())
    if (device.substr(0, name.size()) == name) return true;
  state.SkipWithError(("no device " + name).c_str());
  return false;
}

void run(benchmark::State& state, const std::shared_ptr<Model>& model, double operations, const char* device) {
  Core core;
  if (!has_device(state, core, device)) return;
  auto compiled = core.compile_model(model, device);
  auto request = compiled.create_infer_request();
  if (std::string(device) == "GPU") {  // In the device's memory: what moves there is not what is measured.
    auto context = compiled.get_context();
    for (const char* port : {"x", "y"}) {
      const Tensor host = request.get_tensor(port);
      request.set_tensor(port, context.create_tensor(host.element_type(), host.shape()));
    }
  }
  request.infer();
  for (auto _ : state) request.infer();
  state.counters["GFLOP/s"] = benchmark::Counter(operations * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

void Convolution(benchmark::State& state, const char* device) {
  const auto batch = static_cast<std::size_t>(state.range(0)), channels = static_cast<std::size_t>(state.range(1)),
             size = static_cast<std::size_t>(state.range(2)), window = static_cast<std::size_t>(state.range(3));
  const double operations = 2.0 * static_cast<double>(batch * channels * channels * size * size * window * window);
  run(state, convolution(batch, channels, size, window), operations, device);
}
void Shapes(benchmark::internal::Benchmark* bench) {
  bench->Args({1, 64, 56, 3})
      ->Args({1, 256, 14, 3})
      ->Args({1, 256, 56, 1})
      ->Unit(benchmark::kMicrosecond)
      ->UseRealTime();
}
BENCHMARK_CAPTURE(Convolution, GPU, "GPU")->Apply(Shapes);
BENCHMARK_CAPTURE(Convolution, CPU, "CPU")->Apply(Shapes);

void Product(benchmark::State& state, const char* device) {
  const auto size = static_cast<std::size_t>(state.range(0));
  const double operations = 2.0 * static_cast<double>(size) * static_cast<double>(size) * static_cast<double>(size);
  run(state, product(size, size, size), operations, device);
}
BENCHMARK_CAPTURE(Product, GPU, "GPU")->Arg(512)->Arg(2048)->Unit(benchmark::kMicrosecond)->UseRealTime();
BENCHMARK_CAPTURE(Product, CPU, "CPU")->Arg(512)->Arg(2048)->Unit(benchmark::kMicrosecond)->UseRealTime();

/// Host time of one start_async(); waiting is not counted. @param way  GPU_LAUNCHES.
void Start(benchmark::State& state, const char* way) {
  Core core;
  if (!has_device(state, core, "GPU")) return;
  CompiledModel compiled;
  try {
    compiled =
        core.compile_model(chain(static_cast<std::size_t>(state.range(0))), "GPU", AnyMap{{"GPU_LAUNCHES", way}});
  } catch (const Error& error) {
    return state.SkipWithError(error.what());
  }
  auto request = compiled.create_infer_request();
  for (int i = 0; i < 32; ++i) request.infer();  // AUTO has decided.
  for (auto _ : state) {
    request.start_async();
    state.PauseTiming();
    request.wait();
    state.ResumeTiming();
  }
}
BENCHMARK_CAPTURE(Start, singly, "SINGLY")->Arg(1)->Arg(60)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(Start, held, "HELD")->Arg(60)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(Start, command_buffer, "COMMAND_BUFFER")->Arg(60)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(Start, tried, "AUTO")->Arg(60)->Unit(benchmark::kMicrosecond);

/// What OpenCL alone takes for `count` launches of one group each, of kernels with the arguments of a map: the floor of Start.
void BareLaunches(benchmark::State& state) {
  const auto devices = opencl::client::all_devices();
  if (devices.empty()) return state.SkipWithError("no OpenCL device");
  const cl_device_id device = devices.front();
  const cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
  const cl_command_queue queue = opencl::new_queue(context, device);
  const char* text =
      "kernel void add_one(global const float* x, ulong x_at, global float* y, ulong y_at, int count) {"
      "  const int i = get_global_id(0);"
      "  if (i < count) y[y_at + i] = x[x_at + i] + 1;"
      "}";
  const cl_program program = clCreateProgramWithSource(context, 1, &text, nullptr, nullptr);
  clBuildProgram(program, 1, &device, "", nullptr, nullptr);
  constexpr std::size_t kItems = 64;
  const cl_mem x = clCreateBuffer(context, CL_MEM_READ_WRITE, kItems * sizeof(float), nullptr, nullptr);
  const cl_ulong begin = 0;
  const cl_int items = kItems;
  std::vector<cl_kernel> kernels(static_cast<std::size_t>(state.range(0)));
  for (cl_kernel& kernel : kernels) {
    kernel = clCreateKernel(program, "add_one", nullptr);
    for (const cl_uint at : {0, 2}) {
      clSetKernelArg(kernel, at, sizeof x, &x);
      clSetKernelArg(kernel, at + 1, sizeof begin, &begin);
    }
    clSetKernelArg(kernel, 4, sizeof items, &items);
  }
  for (auto _ : state) {
    for (const cl_kernel kernel : kernels)
      if (clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &kItems, &kItems, 0, nullptr, nullptr) != CL_SUCCESS)
        state.SkipWithError("clEnqueueNDRangeKernel failed");
    clFlush(queue);
    state.PauseTiming();
    clFinish(queue);
    state.ResumeTiming();
  }
  for (const cl_kernel kernel : kernels) clReleaseKernel(kernel);
  clReleaseMemObject(x);
  clReleaseProgram(program);
  clReleaseCommandQueue(queue);
  clReleaseContext(context);
}
BENCHMARK(BareLaunches)->Arg(60)->Unit(benchmark::kMicrosecond);

/// A whole inference of many small kernels, until its last one has ended.
void Infer(benchmark::State& state, const char* way) {
  Core core;
  if (!has_device(state, core, "GPU")) return;
  CompiledModel compiled;
  try {
    compiled = core.compile_model(chain(60), "GPU", AnyMap{{"GPU_LAUNCHES", way}});
  } catch (const Error& error) {
    return state.SkipWithError(error.what());
  }
  auto request = compiled.create_infer_request();
  request.infer();
  for (auto _ : state) request.infer();
}
BENCHMARK_CAPTURE(Infer, singly, "SINGLY")->Unit(benchmark::kMicrosecond)->UseRealTime();
BENCHMARK_CAPTURE(Infer, held, "HELD")->Unit(benchmark::kMicrosecond)->UseRealTime();
BENCHMARK_CAPTURE(Infer, command_buffer, "COMMAND_BUFFER")->Unit(benchmark::kMicrosecond)->UseRealTime();

/// An inference of 60 kernels over rows of which other numbers come each time: lengths that never come again, or two that take turns.
void Moving(benchmark::State& state, bool is_known) {
  Core core;
  if (!has_device(state, core, "GPU")) return;
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{-1, 64});
  x->output(0).set_names({"x"});
  Output<Node> y = x;
  for (std::size_t i = 0; i < 30; ++i) {
    const auto product =
        make_node("MatMul", 1, {y, weights({64, 64})}, {{"transpose_a", false}, {"transpose_b", false}}, "");
    y = make_node("MVN", 6, {product, op::v0::Constant::create(element::i64, Shape{1}, {1})->output(0)},
                  {{"normalize_variance", true}, {"eps", 1e-5}, {"eps_mode", std::string("INSIDE_SQRT")}}, "");
  }
  auto request = core.compile_model(model_of(x, y), "GPU").create_infer_request();
  std::size_t rows = 1;
  const auto infer = [&] {
    request.set_tensor("x", Tensor(element::f32, {rows, 64}));
    request.infer();
  };
  for (rows = 1; rows < 8; ++rows) infer();
  for (auto _ : state) {
    rows = is_known ? (rows == 2 ? 3 : 2) : 1 + rows % 4096;
    infer();
  }
}
BENCHMARK_CAPTURE(Moving, new, false)->Unit(benchmark::kMicrosecond)->Iterations(256);
BENCHMARK_CAPTURE(Moving, known, true)->Unit(benchmark::kMicrosecond)->Iterations(256);

/// Two known tensors, set in turn.
void SetTensor(benchmark::State& state) {
  Core core;
  if (!has_device(state, core, "GPU")) return;
  auto compiled = core.compile_model(chain(1), "GPU");
  auto request = compiled.create_infer_request();
  auto context = compiled.get_context();
  const Tensor tensors[2] = {context.create_tensor(element::f32, {1, 64}),
                             context.create_tensor(element::f32, {1, 64})};
  std::size_t turn = 0;
  for (auto _ : state) request.set_tensor("x", tensors[turn++ % 2]);
}
BENCHMARK(SetTensor);

}  // namespace
}  // namespace tenon
