// SPDX-License-Identifier: Apache-2.0
// One suite over every device that the registry finds, the reference interpreter included: requirements common to all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <future>
#include <sstream>
#include <thread>

#include <tenon/core/host.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/platform/files.hpp>
#include <tenon/graph/exec_model_info.hpp>
#include <tenon/runtime/runtime.hpp>
#include <tenon/tests/device_conformance/allocation_count.hpp>
#include <tenon/tests/device_conformance/suite.hpp>
#include <tenon/tests/support/in_threads.hpp>
#include <tenon/tests/support/named_driver.hpp>

namespace tenon::testing {
namespace device_conformance_test {

using ::testing::Contains;
using ::testing::HasSubstr;

bool is_composite(const std::string& name) { return name.find(':') != std::string::npos; }

std::shared_ptr<op::v0::Constant> constant(const Shape& shape, unsigned seed) {
  return std::make_shared<op::v0::Constant>(noise(shape, seed));
}

/// Convolution, bias, Relu, pooling, MatMul, Softmax: the operations of every classifier.
std::shared_ptr<Model> small_network() {
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 3, 16, 16});
  x->set_friendly_name("image");
  x->output(0).set_names({"image"});
  auto conv = std::make_shared<op::v1::Convolution>(x->output(0), constant({8, 3, 3, 3}, 1)->output(0),
                                                    std::vector<std::int64_t>{2, 2}, std::vector<std::int64_t>{1, 1},
                                                    std::vector<std::int64_t>{1, 1}, std::vector<std::int64_t>{1, 1});
  auto biased = std::make_shared<op::v1::Add>(conv->output(0), constant({1, 8, 1, 1}, 2)->output(0));
  auto relu = std::make_shared<op::v0::Relu>(biased->output(0));
  auto residual = std::make_shared<op::v1::Add>(relu->output(0), biased->output(0));
  auto pattern = op::v0::Constant::create(element::i64, Shape{2}, {1, 512});
  auto flat = std::make_shared<op::v1::Reshape>(residual->output(0), pattern->output(0), false);
  auto dense = std::make_shared<op::v0::MatMul>(flat->output(0), constant({512, 10}, 3)->output(0));
  auto soft = std::make_shared<op::v8::Softmax>(dense->output(0), 1);
  soft->output(0).set_names({"scores"});
  residual->output(0).set_names({"features"});
  return std::make_shared<Model>(OutputVector{soft->output(0), residual->output(0)}, ParameterVector{x},
                                 "small_network");
}

void expect_close(const Tensor& actual, const Tensor& expected, const std::string& what) {
  ASSERT_EQ(actual.shape(), expected.shape()) << what;
  Tensor packed;
  actual.copy_to(packed);
  for (std::size_t i = 0; i < packed.element_count(); ++i) {
    const float a = packed.data<float>()[i], e = expected.data<float>()[i];
    ASSERT_LE(std::abs(a - e), 1e-4f + 1e-3f * std::abs(e)) << what << " differs at " << i;
  }
}

class DeviceConformance : public OnDevice {};
TENON_ON_EVERY_DEVICE(DeviceConformance);

/// A device that is not found has no tests, which would go unnoticed.
TEST(DevicesOfTheBuild, TheNamedDriversNpuIsAmongThem) {
  if (driver_is_named()) {
    EXPECT_THAT(devices(), Contains(::testing::StartsWith("NPU")));
  }
}

TEST_P(DeviceConformance, AnswersEveryPropertyItLists) {
  const auto names = core.get_property(name, supported_properties);
  for (const char* needed :
       {"SUPPORTED_PROPERTIES", "AVAILABLE_DEVICES", "FULL_DEVICE_NAME", "OPTIMIZATION_CAPABILITIES"}) {
    EXPECT_THAT(names, Contains(std::string(needed)));
  }
  for (const PropertyName& property : names) {
    if (property.get_mutability() == PropertyMutability::WO) continue;
    EXPECT_NO_THROW(core.get_property(name, property)) << property;
  }
  EXPECT_FALSE(core.get_property(name, device::full_name).empty());
  EXPECT_THROW(core.get_property(name, std::string("NO_SUCH_PROPERTY")), Error);
  EXPECT_THROW(core.set_property(name, AnyMap{{"NO_SUCH_PROPERTY", 1}}), Error);
  EXPECT_THROW(core.set_property(name, AnyMap{{"FULL_DEVICE_NAME", "mine"}}), Error);
  EXPECT_THROW(core.compile_model(relu_model(), name, AnyMap{{"NO_SUCH_PROPERTY", 1}}), Error);
  auto model = core.compile_model(relu_model(), name);
  for (const PropertyName& property : model.get_property(supported_properties)) {
    EXPECT_NO_THROW(model.get_property(property)) << property;
  }
  EXPECT_EQ(model.get_property(model_name), "relu_model");
  EXPECT_GE(model.get_property(optimal_number_of_infer_requests), 1u);
  EXPECT_FALSE(model.get_property(execution_devices).empty());
}

TEST_P(DeviceConformance, AgreesWithTheReference) {
  const auto model = small_network();
  auto request = core.compile_model(model, name).create_infer_request();
  for (unsigned seed = 1; seed < 4; ++seed) {
    const Tensor image = noise({1, 3, 16, 16}, seed);
    const auto expected = evaluate(*model, {image});
    request.set_tensor("image", image);
    request.infer();
    expect_close(request.get_tensor("scores"), expected[0], "scores");
    expect_close(request.get_tensor("features"), expected[1], "features");
  }
}

TEST_P(DeviceConformance, CompilationLeavesTheModelAsItWas) {
  const auto model = small_network();
  const std::size_t before = model->get_ordered_ops().size();
  core.compile_model(model, name);
  EXPECT_EQ(model->get_ordered_ops().size(), before);
  EXPECT_NO_THROW(evaluate(*model, {noise({1, 3, 16, 16}, 1)}));
}

TEST_P(DeviceConformance, ListsWhatItCannotRun) {
  const auto model = small_network();
  const auto supported = core.query_model(model, name);
  for (const auto& node : model->get_ordered_ops()) {
    ASSERT_EQ(supported.count(node->get_friendly_name()), 1u) << node->describe();
    const std::string& device = supported.at(node->get_friendly_name());
    if (!is_composite(name))
      EXPECT_EQ(device, name.substr(0, name.find('.')));
    else
      EXPECT_THAT(name, HasSubstr(device));
  }
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 4});
  auto tanh = std::make_shared<op::v0::Tanh>(x->output(0));
  tanh->set_friendly_name("squash");
  const auto other = std::make_shared<Model>(OutputVector{tanh->output(0)}, ParameterVector{x});
  // compile_model does what query_model says.
  if (core.query_model(other, name).count("squash")) {
    EXPECT_NO_THROW(core.compile_model(other, name));
  } else {
    try {
      core.compile_model(other, name);
      ADD_FAILURE() << "compiled what query_model leaves out";
    } catch (const Error& error) {
      if (!is_composite(name)) {
        EXPECT_EQ(error.code(), Code::kUnimplemented);
      }
      EXPECT_THAT(error.what(), HasSubstr("squash"));
    }
  }
}

TEST_P(DeviceConformance, RunsWhereTheMemoryLies) {
  auto request = core.compile_model(relu_model(), name, zero_copy(ZeroCopy::kRequire)).create_infer_request();
  const Tensor x = host_tensor({1, 4}, {-1, 2, -3, 4}), y = host_tensor({1, 4}, {9, 9, 9, 9});
  float *in = x.data<float>(), *out = y.data<float>();
  request.set_input_tensor(x);
  request.set_output_tensor(y);
  request.infer();
  EXPECT_THAT(values_of(y), ::testing::ElementsAre(0, 2, 0, 4));
  in[0] = 7;
  request.infer();
  EXPECT_EQ(out[0], 7) << "the memory is read at each inference";
  EXPECT_EQ(request.ledger().total().copied, 0u);
  EXPECT_EQ(in[2], -3) << "inputs stay as they are";
}

TEST_P(DeviceConformance, TakesUnalignedAndStridedTensors) {
  auto model = add_model({2, 3});
  auto request = core.compile_model(model, name).create_infer_request();
  std::vector<float> memory(64);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<float>(i);
  // One float away from any alignment; and a region of a wider matrix.
  const Tensor a(element::f32, {2, 3}, memory.data() + 1);
  const Tensor b = Tensor(element::f32, {4, 8}, memory.data() + 16).slice({1, 2}, {3, 5});
  Tensor wide(element::f32, {4, 8});
  std::fill_n(wide.data<float>(), 32, -1.f);
  const Tensor sum = wide.slice({1, 2}, {3, 5});
  request.set_tensor("a", a);
  request.set_tensor("b", b);
  request.set_tensor("sum", sum);
  request.infer();
  Tensor packed_a, packed_b, expected(element::f32, {2, 3});
  a.copy_to(packed_a);
  b.copy_to(packed_b);
  for (int i = 0; i < 6; ++i) expected.data<float>()[i] = packed_a.data<float>()[i] + packed_b.data<float>()[i];
  expect_close(sum, expected, "sum");
  int touched = 0;
  for (int i = 0; i < 32; ++i) touched += wide.data<float>()[i] != -1.f;
  EXPECT_EQ(touched, 6) << "beside the region nothing may change";
}

TEST_P(DeviceConformance, ChecksTypesAndShapes) {
  auto request = core.compile_model(relu_model(), name).create_infer_request();
  EXPECT_THROW(request.set_input_tensor(Tensor(element::f32, {1, 5})), Error);
  EXPECT_THROW(request.set_input_tensor(Tensor(element::i32, {1, 4})), Error);
  EXPECT_THROW(request.set_input_tensor(Tensor()), Error);
  EXPECT_NO_THROW(request.infer());
}

TEST_P(DeviceConformance, DynamicShapesFollowTheInput) {
  auto model = core.compile_model(relu_model(PartialShape{any_extent(), 3}), name);
  auto request = model.create_infer_request();
  for (const std::size_t rows : {2u, 7u, 1u, 7u}) {
    const Tensor x = noise({rows, 3}, static_cast<unsigned>(rows));
    request.set_input_tensor(x);
    request.infer();
    ASSERT_EQ(request.get_output_tensor().shape(), (Shape{rows, 3}));
    for (std::size_t i = 0; i < x.element_count(); ++i) {
      ASSERT_EQ(request.get_output_tensor().data<float>()[i], std::max(0.f, x.data<float>()[i]));
    }
  }
}

TEST_P(DeviceConformance, SyncAsyncAndCallbackGiveTheSame) {
  const auto model = small_network();
  auto compiled = core.compile_model(model, name);
  auto request = compiled.create_infer_request();
  const Tensor image = noise({1, 3, 16, 16}, 5);
  const auto expected = evaluate(*model, {image});
  request.set_tensor("image", image);
  request.infer();
  expect_close(request.get_tensor("scores"), expected[0], "sync");
  request.start_async();
  request.wait();
  expect_close(request.get_tensor("scores"), expected[0], "async");
  std::promise<bool> done;
  request.set_callback([&](std::exception_ptr error) { done.set_value(error == nullptr); });
  request.start_async();
  EXPECT_TRUE(done.get_future().get());
  request.wait();
  expect_close(request.get_tensor("scores"), expected[0], "callback");
}

TEST_P(DeviceConformance, ManyRequestsOnManyThreads) {
  const auto model = small_network();
  auto compiled = core.compile_model(model, name, streams(2));
  testing::in_threads(4, [&](int t) {
    auto request = compiled.create_infer_request();
    const Tensor image = noise({1, 3, 16, 16}, 100 + static_cast<unsigned>(t));
    const auto expected = evaluate(*model, {image});
    request.set_tensor("image", image);
    for (int i = 0; i < 20; ++i) {
      if (i % 2)
        request.infer();
      else
        request.start_async(), request.wait();
      expect_close(request.get_tensor("scores"), expected[0], "thread " + std::to_string(t));
    }
  });
}

TEST_P(DeviceConformance, CompilesOnManyThreads) {
  testing::in_threads(4, [&](int) {
    auto request = core.compile_model(relu_model(), name).create_infer_request();
    request.get_input_tensor().data<float>()[2] = 3;
    request.infer();
    EXPECT_EQ(request.get_output_tensor().data<float>()[2], 3);
  });
}

TEST_P(DeviceConformance, ARunningRequestIsBusyAndCanBeCancelled) {
  auto request = core.compile_model(small_network(), name).create_infer_request();
  std::promise<void> entered, leave;
  request.set_callback([&](std::exception_ptr) {});
  for (int i = 0; i < 20; ++i) {
    request.start_async();
    request.cancel();
    try {
      request.wait();
    } catch (const Cancelled&) {
    }
  }
  EXPECT_NO_THROW(request.infer());
}

TEST_P(DeviceConformance, LifetimesEndInAnyOrder) {
  Tensor result;
  {
    InferRequest request;
    {
      Core temporary;
      request = temporary.compile_model(small_network(), name).create_infer_request();
    }
    request.start_async();
    request.wait();
    result = request.get_tensor("scores");
  }
  float sum = 0;
  for (int i = 0; i < 10; ++i) sum += result.data<float>()[i];
  EXPECT_NEAR(sum, 1, 1e-3);
  // A request that is dropped while it runs.
  auto compiled = core.compile_model(small_network(), name);
  for (int i = 0; i < 20; ++i) compiled.create_infer_request().start_async();
}

TEST_P(DeviceConformance, NothingPilesUp) {
  const auto cycle = [&] {
    auto request = core.compile_model(small_network(), name).create_infer_request();
    request.infer();
    request.start_async();
    request.wait();
  };
  cycle();
  const std::size_t before = platform::open_descriptor_count();
  const std::int64_t live = live_allocations();
  for (int i = 0; i < 10; ++i) cycle();
  // Objects whose last reference a worker held are freed a moment later.
  for (int i = 0; i < 6000 && (platform::open_descriptor_count() != before || live_allocations() - live >= 100); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(platform::open_descriptor_count(), before);
  // Ending workers and filling caches change the number a little; a leaked model would change it by hundreds.
  EXPECT_LT(live_allocations() - live, 100);
}

TEST_P(DeviceConformance, SteadyStateAllocatesNothingOfOurs) {
  AnyMap properties;
  // The interpreter allocates every tensor anew by design; with its built-in Relu only the runtime remains.
  if (name == "REFERENCE") properties.insert(tiny_relu(true));
  auto compiled = core.compile_model(relu_model(PartialShape{1, 64}), name, properties);
  auto request = compiled.create_infer_request();
  Tensor x = noise({1, 64}, 1), y(element::f32, {1, 64});
  const auto once = [&] {
    request.set_tensor("x", x);
    request.set_tensor("y", y);
    request.infer();
    request.get_tensor("x");
    request.get_tensor("y");
  };
  const auto once_async = [&] {
    request.start_async();
    request.wait();
  };
  // AUTO begins on the CPU, listed in parentheses, while another thread compiles for the device to which it moves.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  const auto still_moves = [&] {
    const auto running_on = compiled.get_property(execution_devices);
    return std::any_of(running_on.begin(), running_on.end(), [](const auto& each) { return each.front() == '('; });
  };
  while (still_moves() && std::chrono::steady_clock::now() < deadline) once(), once_async();
  for (int i = 0; i < 20; ++i) once(), once_async();
  // The least of three, since a thread that ends after an earlier test may still allocate.
  const auto allocations_of = [](const auto& call) {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (int attempt = 0; attempt < 3; ++attempt) {
      const std::int64_t before = own_allocations();
      for (int i = 0; i < 100; ++i) call();
      least = std::min(least, own_allocations() - before);
    }
    return least;
  };
  EXPECT_EQ(allocations_of(once), 0) << "set_tensor and infer";
  EXPECT_EQ(allocations_of(once_async), 0) << "start_async and wait";
}

TEST_P(DeviceConformance, ProfilingNamesNodesOrSaysHowToTurnItOn) {
  auto off = core.compile_model(small_network(), name).create_infer_request();
  off.infer();
  EXPECT_THROW(off.get_profiling_info(), Error);
  auto on = core.compile_model(small_network(), name, enable_profiling(true)).create_infer_request();
  on.infer();
  bool found = false;
  for (const ProfilingInfo& info : on.get_profiling_info()) found |= info.node_type == "MatMul";
  EXPECT_TRUE(found);
}

TEST_P(DeviceConformance, ShowsTheStepsThatItTimedOrSaysThatItCannot) {
  auto compiled = core.compile_model(small_network(), name, enable_profiling(true));
  auto request = compiled.create_infer_request();
  request.infer();
  std::shared_ptr<const Model> steps;
  try {
    steps = compiled.get_runtime_model();
  } catch (const NotImplemented&) {
    EXPECT_TRUE(name != "CPU" && name.compare(0, 3, "GPU") != 0) << "these devices know their steps";
    return;
  }
  EXPECT_EQ(steps->get_parameters().size(), 1u);
  EXPECT_EQ(steps->get_results().size(), 2u);
  for (const auto& node : steps->get_ordered_ops()) {
    if (!is_op(node, "ExecutionNode")) continue;
    const auto note = [&](const char* key) { return node->get_rt_info().at(key).to_text(); };
    EXPECT_NE(note(exec_model_info::PERF_COUNTER), exec_model_info::kNotExecuted) << node->get_friendly_name();
    EXPECT_NE(note(exec_model_info::BYTES_WRITTEN), "0") << node->get_friendly_name();
  }
}

TEST_P(DeviceConformance, ExportsOrSaysThatItCannot) {
  auto compiled = core.compile_model(small_network(), name);
  const auto able = core.get_property(name, device::capabilities);
  const bool exports = std::find(able.begin(), able.end(), device::capability::EXPORT_IMPORT) != able.end();
  std::stringstream blob;
  if (!exports) {
    EXPECT_THROW(compiled.export_model(blob), NotImplemented);
    return;
  }
  compiled.export_model(blob);
  const std::string bytes = blob.str();
  auto imported = core.import_model(blob, name).create_infer_request();
  auto original = compiled.create_infer_request();
  const Tensor image = noise({1, 3, 16, 16}, 8);
  for (InferRequest* request : {&imported, &original}) {
    request->set_tensor("image", image);
    request->infer();
  }
  for (const char* port : {"scores", "features"})
    expect_close(imported.get_tensor(port), original.get_tensor(port), port);
  // OpenVINO's blobs have no checksum: it accepts truncated ones.
  if (name.compare(0, 8, "OPENVINO") == 0) return;
  for (const std::size_t size : {std::size_t{0}, std::size_t{10}, bytes.size() / 2, bytes.size() - 1}) {
    std::istringstream cut(bytes.substr(0, size));
    EXPECT_THROW(core.import_model(cut, name), Error) << size << " bytes of " << bytes.size();
  }
}

TEST_P(DeviceConformance, StatesGoFromInferenceToInference) {
  // state = state + x, from 1 on; y = relu(state).
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{4});
  x->output(0).set_names({"x"});
  auto one = op::v0::Constant::create(element::f32, Shape{4}, {1, 1, 1, 1});
  auto read =
      make_node("ReadValue", 6, {one->output(0)},
                {{"variable_id", "sum"}, {"variable_type", element::f32}, {"variable_shape", PartialShape{4}}}, "read");
  auto sum = std::make_shared<op::v1::Add>(read->output(0), x->output(0));
  auto assign = make_node("Assign", 6, {sum->output(0)}, {{"variable_id", "sum"}}, "assign");
  auto y = std::make_shared<op::v0::Relu>(sum->output(0));
  y->output(0).set_names({"y"});
  auto model = std::make_shared<Model>(OutputVector{y->output(0)}, SinkVector{assign}, ParameterVector{x}, "stateful");
  auto compiled = core.compile_model(model, name);
  auto request = compiled.create_infer_request();
  Tensor step(element::f32, {4});
  std::fill_n(step.data<float>(), 4, 2.f);
  request.set_tensor("x", step);
  for (int i = 1; i <= 3; ++i) {
    request.infer();
    ASSERT_EQ(request.get_tensor("y").data<float>()[3], static_cast<float>(1 + 2 * i));
  }
  auto states = request.query_state();
  ASSERT_EQ(states.size(), 1u);
  EXPECT_EQ(states[0].get_name(), "sum");
  EXPECT_EQ(states[0].get_state().data<float>()[0], 7);
  auto other = compiled.create_infer_request();
  other.set_tensor("x", step);
  other.infer();
  EXPECT_EQ(other.get_tensor("y").data<float>()[0], 3) << "a request has states of its own";
  states[0].reset();
  request.infer();
  EXPECT_EQ(request.get_tensor("y").data<float>()[0], 3);
  Tensor given(element::f32, {4});
  std::fill_n(given.data<float>(), 4, 50.f);
  states[0].set_state(given);
  request.infer();
  EXPECT_EQ(request.get_tensor("y").data<float>()[0], 52);
  EXPECT_EQ(given.data<float>()[0], 50);
  EXPECT_THROW(states[0].set_state(Tensor()), Error);
}

TEST_P(DeviceConformance, RemoteTensorsAreUsedInPlaceOrThereIsNoContext) {
  RemoteContext context;
  try {
    context = core.get_default_context(name);
  } catch (const NotImplemented&) {
    EXPECT_THROW(core.create_context(name, {}), NotImplemented);
    EXPECT_THROW(core.compile_model(relu_model(), name).get_context(), NotImplemented);
    return;
  } catch (const Error&) {
    return;  // The messages are another library's.
  }
  auto compiled = core.compile_model(relu_model(), context, zero_copy(ZeroCopy::kRequire));
  RemoteTensor x = context.create_tensor(element::f32, {1, 4}), y = context.create_tensor(element::f32, {1, 4});
  EXPECT_EQ(x.get_device_name(), context.get_device_name());
  Tensor host(element::f32, {1, 4});
  const float values[4] = {-1, 2, -3, 4};
  std::copy_n(values, 4, host.data<float>());
  x.copy_from(host);
  auto request = compiled.create_infer_request();
  request.set_tensor("x", x);
  request.set_tensor("y", y);
  request.infer();
  EXPECT_EQ(request.ledger().total().copied, 0u);
  Tensor result;
  y.copy_to(result);
  EXPECT_THAT(std::vector<float>(result.data<float>(), result.data<float>() + 4), ::testing::ElementsAre(0, 2, 0, 4));
  EXPECT_TRUE(compiled.get_context());
}

TEST_P(DeviceConformance, FramesAreReadInPlace) {
  auto model = relu_model(PartialShape{1, 3, 8, 16});
  AnyMap properties{zero_copy(ZeroCopy::kRequire)};
  if (name == "REFERENCE") properties.insert(takes_strides(true));
  auto request = core.compile_model(model, name, properties).create_infer_request();
  for (const PixelFormat format : {kNv12, kI420, kRgb24, kBgr24}) {
    const Frame frame = host_frame(FrameInfo{format, 32, 16, ColourSpace::kUnknown, ColourRange::kFull});
    for (std::size_t i = 0; i < frame.plane_count(); ++i) {
      const Tensor& plane = frame.plane(i);
      const bool is_luma = i == 0;
      for (std::size_t row = 0; row < plane.shape()[0]; ++row) {
        auto* at =
            static_cast<std::uint8_t*>(plane.data()) + static_cast<std::ptrdiff_t>(row) * plane.byte_strides()[0];
        std::fill_n(at, plane.size_bytes() / plane.shape()[0], static_cast<std::uint8_t>(is_luma ? 90 : 128));
      }
    }
    request.set_frame(frame);
    request.infer();
    for (std::size_t i = 0; i < request.get_output_tensor().element_count(); ++i) {
      ASSERT_NEAR(request.get_output_tensor().data<float>()[i], 90, 1);
    }
  }
  EXPECT_EQ(request.ledger().total().copied, 0u);
}

}  // namespace device_conformance_test
}  // namespace tenon::testing
