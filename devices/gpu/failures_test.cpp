// SPDX-License-Identifier: Apache-2.0
// What drivers report late: commands that failed in the queue, kernels that do not compile, memory that is not there.
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include <tenon/devices/gpu/hardware.hpp>
#include <tenon/devices/gpu/testing/gpu.hpp>
#include <tenon/graph/limits.hpp>
#include <tenon/tests/support/error_of.hpp>
#include <tenon/tests/support/fail_each_call.hpp>

namespace tenon::gpu_testing {
namespace failures_test {

using intel_gpu::ocl::ClContext;
using opencl::client::Probe;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// y = value, which is x more each time.
std::shared_ptr<Model> sum_model() {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{kCount});
  x->output(0).set_names({"x"});
  const PartialShape shape{kCount};
  const auto read = make_node("ReadValue", 6, {},
                              {{"variable_id", "sum"}, {"variable_shape", shape}, {"variable_type", element::f32}});
  const auto sum = make_node("Add", 1, {read, x});
  const auto assign = make_node("Assign", 6, {sum}, Attributes{{"variable_id", "sum"}});
  const auto y = make_node("Relu", 0, {sum});
  y->output(0).set_names({"y"});
  return std::make_shared<Model>(OutputVector{y}, SinkVector{assign}, ParameterVector{x}, "sum");
}

float first_of(const Tensor& tensor) { return tensor.data<float>()[0]; }

/// The variable by which the test layer of frameworks/opencl makes commands fail: PoCL ends the process where a command that is not watched
/// depends on a failed one. Null without the layer.
std::atomic<cl_int>* event_status() {
  const char* const layer = std::getenv("OPENCL_LAYERS");
  void* const library = layer ? ::dlopen(layer, RTLD_NOW | RTLD_NOLOAD) : nullptr;
  return library ? static_cast<std::atomic<cl_int>*>(::dlsym(library, "tenon_layer_event_status")) : nullptr;
}

TEST_F(Gpu, AnInferenceWhoseCommandsFailSaysSoAndTheNextOneRuns) {
  std::atomic<cl_int>* const status = event_status();
  if (!status) GTEST_SKIP() << "the layer is not there";
  for (const bool is_async : {false, true}) {
    for (const cl_int code : {cl_int{CL_OUT_OF_RESOURCES}, cl_int{CL_DEVICE_NOT_AVAILABLE}, opencl::kKernelFault}) {
      ClContext context(core, app.queue);
      auto request = core.compile_model(sum_model(), context).create_infer_request();
      std::fill_n(request.get_tensor("x").data<float>(), kCount, 2.0f);
      const auto run = [&] {
        if (!is_async) return request.infer();
        request.start_async();
        request.wait();
      };
      run();
      ASSERT_EQ(first_of(request.get_tensor("y")), 2);
      drain_deferred(default_deadline());
      const std::size_t handles = Probe::handles;
      *status = code;
      const Error error = error_of(run);
      *status = 0;
      EXPECT_THAT(error.what(),
                  AllOf(HasSubstr("GPU: an inference on "), HasSubstr("failed"), HasSubstr(opencl::status_name(code))));
      EXPECT_EQ(error.native_code(), code);
      EXPECT_TRUE(testing::handles_fall_to<Probe>(handles)) << Probe::handles << " of " << handles;
      // Nothing was assigned, and the request is as it was.
      EXPECT_EQ(first_of(request.query_state().at(0).get_state()), 2);
      run();
      EXPECT_EQ(first_of(request.get_tensor("y")), 4);
    }
  }
}

TEST_F(Gpu, AKernelThatDoesNotCompileIsToldInTheCompilersWords) {
  const gpu_device::KernelLibrary::Texts texts{std::make_shared<const gpu_device::KernelText>(gpu_device::KernelText{
      "broken", "broken_1", "__kernel void broken_1(__global float* x) { x[0] = no_such_name; }"})};
  gpu_device::find_gpu("");  // Makes what exists once per process.
  const std::size_t handles = Probe::handles;
  const Error error = error_of([&] { gpu_device::find_gpu("")->library().build(texts, {}, TimeLimit(0)); });
  EXPECT_THAT(error.what(), AllOf(HasSubstr("building kernels (broken)"), HasSubstr("the driver's log: "),
                                  HasSubstr("no_such_name")));
  EXPECT_EQ(error.native_api(), "clBuildProgram");
  EXPECT_EQ(error.native_code(), CL_BUILD_PROGRAM_FAILURE);
  EXPECT_TRUE(testing::handles_fall_to<Probe>(handles));
}

/// Values between kernels that no device has memory for.
TEST_F(Gpu, MemoryThatIsNotThereIsSaidWithBothSizes) {
  const ModelLimits before = model_limits();
  core.set_property(limit::bytes(std::uint64_t{1} << 50));
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1});
  const auto axis = op::v0::Constant::create(element::i64, Shape{}, {0});
  const auto most =
      op::v0::Constant::create(element::i64, Shape{1}, std::vector<std::int64_t>{std::int64_t{2147483647}});
  OutputVector sums;
  for (int i = 0; i < 8; ++i) {
    const auto number = op::v0::Constant::create(element::f32, Shape{}, {1.0 + i});
    const auto wide = make_node("Tile", 0, {make_node("Add", 1, {x, number}), most});
    sums.push_back(make_node("CumSum", 0, {wide, axis}));
  }
  // There and back: all of them live until the last is computed.
  Output<Node> all = sums[0];
  const auto use = [&](const Output<Node>& sum) {
    all = make_node("CumSum", 0, {make_node("Multiply", 1, {all, sum}), axis})->output(0);
  };
  std::for_each(sums.begin(), sums.end(), use);
  std::for_each(sums.rbegin(), sums.rend(), use);
  const auto first = make_node(
      "Slice", 8,
      {all, op::v0::Constant::create(element::i64, Shape{1}, {0}),
       op::v0::Constant::create(element::i64, Shape{1}, {1}), op::v0::Constant::create(element::i64, Shape{1}, {1})});
  const auto model = std::make_shared<Model>(OutputVector{first}, ParameterVector{x}, "vast");
  auto compiled = core.compile_model(model, "GPU");
  const std::size_t handles = Probe::handles;
  const Error error = error_of([&] { compiled.create_infer_request(); });
  EXPECT_EQ(error.code(), Code::kResourceExhausted) << error.what();
  EXPECT_THAT(error.what(),
              AllOf(HasSubstr("bytes for the values between its kernels"), HasSubstr("allocates at most")));
  EXPECT_TRUE(testing::handles_fall_to<Probe>(handles));
  set_model_limits(before);
}

}  // namespace failures_test
}  // namespace tenon::gpu_testing
