// SPDX-License-Identifier: Apache-2.0
// The NPU device on a driver: compiling, memory, states, batches, profiles, properties.
#include <algorithm>
#include <atomic>
#include <sstream>
#include <thread>

#include <tenon/devices/npu/testing/npu.hpp>
#include <tenon/graph/ops.hpp>

namespace tenon::npu_testing {
namespace npu_device_test {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(Npu, RefusesStrings) {
  const auto x = std::make_shared<op::v0::Parameter>(element::string, PartialShape{2});
  const auto y = make_node("StringConcat", 1, {x, x});
  const auto model = std::make_shared<Model>(OutputVector{y->output(0)}, ParameterVector{x}, "words");
  EXPECT_THAT(error_of([&] { core.compile_model(model, "NPU"); }).what(), HasSubstr("strings"));
}

TEST_F(Npu, IsFoundByNameAndByPlatform) {
  EXPECT_THAT(core.get_available_devices(), Contains("NPU"));
  EXPECT_THAT(core.get_property("NPU", available_devices), ElementsAre("4000"));
  EXPECT_EQ(core.get_property("NPU", device::architecture), "4000");
  EXPECT_EQ(core.get_property("NPU.4000", device::architecture), "4000");
  EXPECT_NO_THROW(core.compile_model(relu(), "NPU.4000"));
  EXPECT_NO_THROW(core.compile_model(relu(), "NPU", device::id("4000")));
  EXPECT_THAT(error_of([&] { core.compile_model(relu(), "NPU.3720"); }, Code::kUnavailable), HasSubstr("3720"));
  EXPECT_THAT(error_of([&] { core.compile_model(relu(), "NPU", device::id("1")); }, Code::kUnavailable),
              HasSubstr("present: 4000"));
}

TEST_F(Npu, ADeviceThatIsAbsentIsRefusedWhereItIsUsed) {
  Core own;
  own.set_property("NPU", device::id("3720"));
  EXPECT_EQ(own.get_property("NPU", device::id), "3720");
  EXPECT_EQ(own.get_property("NPU", hint::performance_mode), hint::PerformanceMode::LATENCY);
  EXPECT_THAT(own.get_property("NPU", available_devices), ElementsAre("4000"));
  EXPECT_FALSE(own.get_property("NPU", supported_properties).empty());
  EXPECT_THAT(error_of([&] { own.get_property("NPU", device::full_name); }, Code::kUnavailable),
              HasSubstr("present: 4000"));
  EXPECT_THAT(error_of([&] { own.compile_model(relu(), "NPU"); }, Code::kUnavailable), HasSubstr("present: 4000"));
  own.set_property("NPU", device::id("4000"));
  EXPECT_NO_THROW(own.compile_model(relu(), "NPU"));
}

TEST_F(Npu, InfersInTheDriversOwnMemoryWithoutCopies) {
  auto request = core.compile_model(relu(), "NPU", zero_copy(ZeroCopy::kRequire)).create_infer_request();
  Tensor x = request.get_tensor("x");
  const float values[] = {-1, 2, -3, 4};
  std::copy_n(values, 4, x.data<float>());
  request.infer();
  EXPECT_THAT(values_of(request.get_tensor("y")), ElementsAre(0, 2, 0, 4));
  request.start_async();
  request.wait();
  EXPECT_EQ(request.ledger().total().copied, 0u);
  EXPECT_EQ(x.data(), request.get_tensor("x").data());
}

TEST_F(Npu, TakesTensorsOfOtherRequestsAndItsOwnHostTensorsInPlace) {
  auto compiled = core.compile_model(relu(), "NPU", zero_copy(ZeroCopy::kRequire));
  auto first = compiled.create_infer_request(), second = compiled.create_infer_request();
  Tensor x = first.get_tensor("x");
  std::fill_n(x.data<float>(), 4, 3.f);
  second.set_tensor("x", x);
  Tensor y = core.get_default_context("NPU").create_host_tensor(element::f32, {1, 4});
  second.set_tensor("y", y);
  second.infer();
  EXPECT_THAT(values_of(y), Each(3));
  // A plain pointer into such memory is recognised by the driver's allocation id.
  second.set_tensor("x", Tensor(element::f32, {1, 4}, x.data()));
  x.data<float>()[0] = 8;
  second.infer();
  EXPECT_EQ(values_of(y)[0], 8);
  EXPECT_EQ(second.ledger().total().copied, 0u);
}

TEST_F(Npu, ImportsWholePagesOfTheSystemOnce) {
  TENON_NEEDS("sysmem");
  const std::size_t before = handles();
  {
    auto request = core.compile_model(relu({1, 1024}), "NPU", zero_copy(ZeroCopy::kRequire)).create_infer_request();
    const Pages in(4096), out(4096);
    const Tensor x(element::f32, {1, 1024}, in.data()), y(element::f32, {1, 1024}, out.data());
    for (int i = 0; i < 1024; ++i) in.floats()[i] = static_cast<float>(i - 512);
    request.set_tensor("x", x);
    request.set_tensor("y", y);
    request.infer();
    EXPECT_EQ(out.floats()[511], 0);
    EXPECT_EQ(out.floats()[513], 1);
    in.floats()[0] = 77;
    request.infer();
    EXPECT_EQ(out.floats()[0], 77) << "read where it lies";
    EXPECT_EQ(request.ledger().total().copied, 0u);
    const std::size_t imported = handles();
    // Another tensor over the same pages, then the first again: no further import.
    const Tensor again(element::f32, {1, 1024}, in.data());
    request.set_tensor("x", again);
    request.infer();
    request.set_tensor("x", x);
    request.infer();
    EXPECT_EQ(handles(), imported);
  }
  EXPECT_TRUE(handles_fall_to(before)) << handles() << " of " << before;
}

TEST_F(Npu, AlternatesAmongKnownBuffersWithoutImportingThemAnew) {
  TENON_NEEDS("sysmem");
  auto request = core.compile_model(relu({1, 1024}), "NPU", zero_copy(ZeroCopy::kRequire)).create_infer_request();
  const Pages pages(4 * 4096);
  std::vector<Tensor> buffers;
  for (int i = 0; i < 4; ++i) {
    buffers.emplace_back(element::f32, Shape{1, 1024}, pages.floats() + i * 1024);
    std::fill_n(buffers.back().data<float>(), 1024, static_cast<float>(i + 1));
  }
  std::size_t after_first_round = 0;
  for (int i = 0; i < 40; ++i) {
    request.set_tensor("x", buffers[static_cast<std::size_t>(i % 4)]);
    request.infer();
    ASSERT_EQ(request.get_tensor("y").data<float>()[9], static_cast<float>(i % 4 + 1));
    if (i == 3) after_first_round = handles();
  }
  EXPECT_EQ(handles(), after_first_round);
  EXPECT_EQ(request.ledger().total().copied, 0u);
}

TEST_F(Npu, TakesThePlainTensorsOfTenonInPlace) {
  TENON_NEEDS("sysmem");
  const Shape shape{1, 70001};  // More than 64 KiB, and no whole number of pages.
  auto request = core.compile_model(relu(shape), "NPU", zero_copy(ZeroCopy::kRequire)).create_infer_request();
  const Tensor x(element::f32, shape), y(element::f32, shape);
  std::fill_n(x.data<float>(), shape[1], -1.f);
  x.data<float>()[70000] = 5;
  request.set_tensor("x", x);
  request.set_tensor("y", y);
  request.infer();
  EXPECT_EQ(y.data<float>()[0], 0);
  EXPECT_EQ(y.data<float>()[70000], 5);
  EXPECT_EQ(request.ledger().total().copied, 0u);
}

TEST_F(Npu, ThreadsShareImportsThatComeAndGo) {
  TENON_NEEDS("sysmem");
  auto compiled = core.compile_model(relu({1, 1024}), "NPU", zero_copy(ZeroCopy::kRequire));
  const Pages pages(4096);
  std::fill_n(pages.floats(), 1024, 6.f);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&, own = compiled.create_infer_request()]() mutable {
      const Tensor idle = own.get_tensor("x");
      for (int k = 0; k < 300; ++k) try {
          own.set_tensor("x", Tensor(element::f32, {1, 1024}, pages.data()));
          own.infer();
          if (own.get_tensor("y").data<float>()[1000] != 6) ++wrong;
          own.set_tensor("x", idle);  // This thread holds no import now.
        } catch (const Error& error) {
          ADD_FAILURE() << error.what();
          return;
        }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(Npu, SaysWhyItCopies) {
  TENON_NEEDS("sysmem");
  auto required = core.compile_model(relu(), "NPU", zero_copy(ZeroCopy::kRequire)).create_infer_request();
  EXPECT_THAT(error_of([&] {
                required.set_tensor("x", floats({1, 4}, {1, 2, 3, 4}));
              }).what(),
              HasSubstr("whole pages"));
  auto request = core.compile_model(relu(), "NPU").create_infer_request();
  request.set_tensor("x", floats({1, 4}, {1, -2, 3, -4}));
  request.infer();
  EXPECT_THAT(values_of(request.get_tensor("y")), ElementsAre(1, 0, 3, 0));
  EXPECT_EQ(request.ledger().total().copied, 16u);
}

TEST_F(Npu, CompilerErrorsCarryTheDriversWords) {
  EXPECT_THAT(error_of([&] {
                core.compile_model(relu({Dimension::dynamic(), 2}), "NPU");
              }).what(),
              HasSubstr("Upper bounds are not specified"));
  EXPECT_THAT(error_of([&] {
                core.compile_model(relu(), "NPU", AnyMap{{"NPU_TILES", 50}});
              }).what(),
              HasSubstr("NPU_MAX_TILES 6"));
}

TEST_F(Npu, QueryNamesEveryOperationThatTheDriverTakes) {
  const auto model = relu();
  const auto supported = core.query_model(model, "NPU");
  for (const auto& node : model->get_ordered_ops()) EXPECT_EQ(supported.at(node->get_friendly_name()), "NPU");
  EXPECT_THAT(error_of([&] {
                core.query_model(model, "NPU", AnyMap{{"NPU_COMPILATION_MODE_PARAMS", "optimization-level=9"}});
              }).what(),
              HasSubstr("optimization-level=0|1|2"))
      << "the driver's own words";
}

TEST_F(Npu, OptimalRequestsFollowTheTable) {
  EXPECT_EQ(core.get_property("NPU", optimal_number_of_infer_requests), 1u);
  auto throughput = core.compile_model(relu(), "NPU", hint::performance_mode(hint::PerformanceMode::THROUGHPUT));
  EXPECT_EQ(throughput.get_property(optimal_number_of_infer_requests), 8u);
  auto latency = core.compile_model(relu(), "NPU", hint::performance_mode(hint::PerformanceMode::LATENCY));
  EXPECT_EQ(latency.get_property(optimal_number_of_infer_requests), 1u);
  auto old = core.compile_model(relu(), "NPU", hint::performance_mode(hint::PerformanceMode::THROUGHPUT),
                                intel_npu::platform("3720"));
  EXPECT_EQ(old.get_property(optimal_number_of_infer_requests), 4u);
  for (const auto& [said, optimal] : {std::pair{0u, 8u}, {3u, 3u}, {20u, 8u}}) {
    auto few = core.compile_model(relu(), "NPU", hint::performance_mode(hint::PerformanceMode::THROUGHPUT),
                                  hint::num_requests(said));
    EXPECT_EQ(few.get_property(optimal_number_of_infer_requests), optimal);
    EXPECT_EQ(few.get_property(hint::num_requests), said);
  }
}

TEST_F(Npu, StatesStayInOneBufferThatBothSidesSee) {
  const Attributes variable{
      {"variable_id", "sum"}, {"variable_shape", PartialShape{1, 2}}, {"variable_type", element::f32}};
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 2});
  x->output(0).set_names({"x"});
  auto initial = op::v0::Constant::create(element::f32, Shape{1, 2}, {10, 20});
  auto read = make_node("ReadValue", 6, {initial->output(0)}, variable);
  auto sum = std::make_shared<op::v1::Add>(x->output(0), read->output(0));
  auto assign = make_node("Assign", 6, {sum->output(0)}, Attributes{{"variable_id", "sum"}});
  auto y = std::make_shared<op::v0::Relu>(sum->output(0));
  y->output(0).set_names({"y"});
  const auto model = std::make_shared<Model>(OutputVector{y->output(0)}, SinkVector{assign}, ParameterVector{x}, "sum");
  auto compiled = core.compile_model(model, "NPU");
  std::stringstream blob;
  compiled.export_model(blob);
  for (CompiledModel each : {compiled, core.import_model(blob, "NPU")}) {
    auto request = each.create_infer_request();
    request.set_tensor("x", floats({1, 2}, {1, 1}));
    request.infer();
    EXPECT_THAT(values_of(request.get_tensor("y")), ElementsAre(11, 21));
    auto state = request.query_state().at(0);
    Tensor live = state.get_state();
    EXPECT_THAT(values_of(live), ElementsAre(11, 21));
    live.data<float>()[0] = 100;
    const std::uint64_t copied = request.ledger().total().copied;
    request.infer();
    EXPECT_THAT(values_of(request.get_tensor("y")), ElementsAre(101, 22))
        << "what is written is there at the next inference";
    EXPECT_EQ(request.ledger().total().copied - copied, 8u) << "the input alone";
    EXPECT_EQ(state.get_state().data(), live.data());
    state.reset();
    request.infer();
    EXPECT_THAT(values_of(request.get_tensor("y")), ElementsAre(11, 21));
    EXPECT_THROW(state.set_state(Tensor()), Error);
    EXPECT_THROW(state.set_state(floats({2, 1}, {1, 1})), Error);
  }
}

TEST_F(Npu, BatchesAreTakenApartWhenAsked) {
  for (const PartialShape& shape : {PartialShape{4, 3}, PartialShape{Dimension(1, 8), 3}, PartialShape{-1, 3}}) {
    auto compiled = core.compile_model(relu(shape), "NPU", AnyMap{{"NPU_BATCH_MODE", "PLUGIN"}});
    auto request = compiled.create_infer_request();
    for (const std::size_t batch : {4u, 4u}) {
      std::vector<float> values(batch * 3);
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) - 4;
      request.set_tensor("x", floats({batch, 3}, values));
      request.infer();
      const Tensor y = request.get_tensor("y");
      ASSERT_EQ(y.shape(), (Shape{batch, 3}));
      for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(y.data<float>()[i], std::max(0.f, values[i]));
    }
  }
  auto any = core.compile_model(relu({-1, 3}), "NPU", AnyMap{{"NPU_BATCH_MODE", "PLUGIN"}}).create_infer_request();
  for (const std::size_t batch : {1u, 5u, 2u, 9u}) {
    any.set_tensor("x", floats({batch, 3}, std::vector<float>(batch * 3, static_cast<float>(batch))));
    any.infer();
    EXPECT_EQ(any.get_tensor("y").shape(), (Shape{batch, 3}));
    EXPECT_THAT(values_of(any.get_tensor("y")), Each(static_cast<float>(batch)));
  }
  auto sum = core.compile_model(testing::add_model({4, 3}), "NPU", AnyMap{{"NPU_BATCH_MODE", "PLUGIN"}});
  EXPECT_NO_THROW(sum.create_infer_request().infer());
  EXPECT_THAT(error_of([&] {
                core.compile_model(relu(PartialShape{}), "NPU", AnyMap{{"NPU_BATCH_MODE", "PLUGIN"}});
              }).what(),
              HasSubstr("Cannot debatch a model"));
}

TEST_F(Npu, BatchesOfDifferentLengthsDoNotMix) {
  auto a = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{-1, 2});
  auto b = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{-1, 2});
  a->output(0).set_names({"a"});
  b->output(0).set_names({"b"});
  auto sum = std::make_shared<op::v1::Add>(a->output(0), b->output(0));
  const auto model = std::make_shared<Model>(OutputVector{sum->output(0)}, ParameterVector{a, b}, "sum");
  auto request = core.compile_model(model, "NPU", AnyMap{{"NPU_BATCH_MODE", "PLUGIN"}}).create_infer_request();
  request.set_tensor("a", floats({3, 2}, std::vector<float>(6, 1)));
  request.set_tensor("b", floats({2, 2}, std::vector<float>(4, 1)));
  EXPECT_THAT(error_of([&] { request.infer(); }).what(), HasSubstr("Batching size is not matching all the tensors."));
}

TEST_F(Npu, ShapesChangeWithinTheirBounds) {
  auto request = core.compile_model(relu({Dimension(1, 3), Dimension(2, 6)}), "NPU").create_infer_request();
  for (const Shape& shape : {Shape{1, 2}, Shape{3, 6}, Shape{2, 5}, Shape{1, 6}}) {
    std::vector<float> values(element_count(shape));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) - 3;
    request.set_tensor("x", floats(shape, values));
    request.infer();
    const Tensor y = request.get_tensor("y");
    ASSERT_EQ(y.shape(), shape);
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(y.data<float>()[i], std::max(0.f, values[i]));
  }
  EXPECT_THROW(request.set_tensor("x", Tensor(element::f32, {4, 2})), Error);
}

TEST_F(Npu, ProfilesLayersOrTheWholeInference) {
  TENON_NEEDS("profiling");
  auto layers = core.compile_model(relu(), "NPU", enable_profiling(true)).create_infer_request();
  EXPECT_THAT(error_of([&] { layers.get_profiling_info(); }).what(),
              HasSubstr("Profiling information isn't available before running an inference!"));
  layers.infer();
  bool found = false;
  for (const ProfilingInfo& info : layers.get_profiling_info())
    found |= info.node_type == "Relu" || info.node_type == "ReLU";
  EXPECT_TRUE(found);
  auto whole = core.compile_model(relu({64, 4096}), "NPU", enable_profiling(true),
                                  std::pair<std::string, Any>("NPU_PROFILING_TYPE", "INFER"))
                   .create_infer_request();
  whole.infer();
  const auto infos = whole.get_profiling_info();
  ASSERT_EQ(infos.size(), 1u);
  EXPECT_GT(infos[0].real_time.count(), 0);
  EXPECT_LT(infos[0].real_time.count(), 10'000'000);
}

TEST_F(Npu, WorkloadTypeChangesOnACompiledModel) {
  TENON_NEEDS("command_queue");
  auto compiled = core.compile_model(relu(), "NPU", workload_type(WorkloadType::EFFICIENT));
  EXPECT_EQ(compiled.get_property(workload_type), WorkloadType::EFFICIENT);
  compiled.set_property({workload_type(WorkloadType::DEFAULT)});
  EXPECT_EQ(compiled.get_property(workload_type), WorkloadType::DEFAULT);
  EXPECT_NO_THROW(compiled.create_infer_request().infer());
  // The driver makes the change; if that fails, nothing has changed.
  level_zero::client::Probe::countdown = 1;
  EXPECT_THROW(compiled.set_property({workload_type(WorkloadType::EFFICIENT)}), Error);
  level_zero::client::Probe::countdown = 0;
  EXPECT_EQ(compiled.get_property(workload_type), WorkloadType::DEFAULT);
  compiled.set_property({workload_type(WorkloadType::EFFICIENT)});
  EXPECT_EQ(compiled.get_property(workload_type), WorkloadType::EFFICIENT);
  EXPECT_THROW(compiled.set_property({enable_profiling(true)}), Error);
}

TEST_F(Npu, PriorityChangesOnACompiledModelAndReachesItsRequests) {
  auto compiled = core.compile_model(relu(), "NPU");
  auto request = compiled.create_infer_request();
  request.infer();
  for (const hint::Priority priority : {hint::Priority::HIGH, hint::Priority::LOW, hint::Priority::MEDIUM}) {
    compiled.set_property({hint::model_priority(priority)});
    EXPECT_EQ(compiled.get_property(hint::model_priority), priority);
    Tensor x = request.get_tensor("x");
    std::fill_n(x.data<float>(), 4, static_cast<float>(priority));
    request.infer();
    EXPECT_EQ(request.get_tensor("y").data<float>()[0], static_cast<float>(priority));
  }
}

/// The documented properties: key, access, default if documented.
TEST_F(Npu, PropertiesAreThoseOfTheDocument) {
  TENON_NEEDS("command_queue");
  const char* const kAny = nullptr;
  struct Row {
    const char* key;
    bool writable;
    const char* initial;
  };
  const Row rows[] = {{"SUPPORTED_PROPERTIES", false, kAny},
                      {"CACHING_PROPERTIES", false, kAny},
                      {"COMPILATION_NUM_THREADS", true, kAny},
                      {"NUM_STREAMS", false, "1"},
                      {"OPTIMAL_NUMBER_OF_INFER_REQUESTS", false, "1"},
                      {"RANGE_FOR_ASYNC_INFER_REQUESTS", false, kAny},
                      {"RANGE_FOR_STREAMS", false, kAny},
                      {"PERF_COUNT", true, "NO"},
                      {"PERFORMANCE_HINT", true, "LATENCY"},
                      {"PERFORMANCE_HINT_NUM_REQUESTS", true, "1"},
                      {"MODEL_PRIORITY", true, "MEDIUM"},
                      {"ENABLE_CPU_PINNING", true, "NO"},
                      {"LOG_LEVEL", true, "LOG_NONE"},
                      {"CACHE_DIR", true, ""},
                      {"AVAILABLE_DEVICES", false, "4000"},
                      {"DEVICE_ID", true, ""},
                      {"DEVICE_UUID", false, kAny},
                      {"DEVICE_ARCHITECTURE", false, "4000"},
                      {"FULL_DEVICE_NAME", false, kAny},
                      {"EXCLUSIVE_ASYNC_REQUESTS", true, "NO"},
                      {"DEVICE_TYPE", false, "integrated"},
                      {"DEVICE_GOPS", false, kAny},
                      {"DEVICE_PCI_INFO", false, kAny},
                      {"NPU_DEVICE_ALLOC_MEM_SIZE", false, kAny},
                      {"NPU_DEVICE_TOTAL_MEM_SIZE", false, kAny},
                      {"NPU_DRIVER_VERSION", false, kAny},
                      {"NPU_COMPILATION_MODE_PARAMS", true, ""},
                      {"NPU_TURBO", true, "NO"},
                      {"NPU_TILES", true, "-1"},
                      {"NPU_MAX_TILES", true, "6"},
                      {"NPU_BYPASS_UMD_CACHING", true, "NO"},
                      {"NPU_DEFER_WEIGHTS_LOAD", true, "NO"},
                      // Listed by OpenVINO 2026.4 only.
                      {"NPU_PLATFORM", true, "AUTO_DETECT"},
                      {"NPU_COMPILER_TYPE", true, kAny},
                      {"NPU_COMPILER_VERSION", false, kAny},
                      {"NPU_COMPILER_DYNAMIC_QUANTIZATION", true, "NO"},
                      {"NPU_QDQ_OPTIMIZATION", true, "NO"},
                      {"NPU_QDQ_OPTIMIZATION_AGGRESSIVE", true, "NO"},
                      {"NPU_RUN_INFERENCES_SEQUENTIALLY", true, "NO"},
                      {"NPU_DISABLE_IDLE_MEMORY_PRUNING", true, "NO"},
                      {"NPU_ENABLE_STRIDES_FOR", true, ""},
                      {"EXECUTION_MODE_HINT", true, "PERFORMANCE"},
                      {"INFERENCE_PRECISION_HINT", true, "f16"},
                      {"WORKLOAD_TYPE", true, "DEFAULT"},
                      {"WEIGHTS_PATH", true, ""},
                      {"EXECUTION_DEVICES", false, "NPU"},
                      {"OPTIMIZATION_CAPABILITIES", false, "FP16 INT8 EXPORT_IMPORT"}};
  Core fresh;
  const auto listed = fresh.get_property("NPU", supported_properties);
  for (const Row& row : rows) {
    const auto found = std::find(listed.begin(), listed.end(), row.key);
    ASSERT_NE(found, listed.end()) << row.key;
    EXPECT_EQ(found->is_mutable(), row.writable) << row.key;
    const std::string value = fresh.get_property("NPU", std::string(row.key)).to_text();
    if (row.initial) {
      EXPECT_EQ(value, row.initial) << row.key;
    }
    // NUM_STREAMS is listed as read-only, yet 0 has a meaning.
    if (row.writable) {
      EXPECT_NO_THROW(fresh.set_property("NPU", AnyMap{{row.key, value}})) << row.key;
    } else if (std::string(row.key) != "NUM_STREAMS") {
      EXPECT_THROW(fresh.set_property("NPU", AnyMap{{row.key, value}}), Error) << row.key;
    }
  }
  EXPECT_GT(fresh.get_property("NPU", device::gops).at(element::i8), 0.f);
  EXPECT_EQ(fresh.get_property("NPU", device::gops).at(element::f16) * 2,
            fresh.get_property("NPU", device::gops).at(element::i8));
  EXPECT_GT(fresh.get_property("NPU", intel_npu::device_total_mem_size), 0u);
  EXPECT_THAT(error_of([&] {
                fresh.set_property("NPU", AnyMap{{"NPU_NO_SUCH", 1}});
              }).what(),
              HasSubstr("NPU_NO_SUCH"));
  EXPECT_THROW(fresh.set_property("NPU", AnyMap{{"NPU_COMPILER_TYPE", "PLUGIN"}}), Error)
      << "there is no such compiler";
}

TEST_F(Npu, AllocatedMemoryIsCounted) {
  const auto allocated = [&] { return core.get_property("NPU", intel_npu::device_alloc_mem_size); };
  const auto before = allocated();
  auto context = core.get_default_context("NPU");
  auto tensor = context.create_tensor(element::f32, {1024, 1024});
  EXPECT_GE(allocated(), before + 4 * 1024 * 1024);
  tensor = {};
  EXPECT_EQ(allocated(), before);
}

TEST_F(Npu, WeightsMayComeWithTheFirstRequest) {
  TENON_NEEDS("command_queue");
  auto compiled = core.compile_model(relu(), "NPU", intel_npu::defer_weights_load(true));
  EXPECT_NO_THROW(compiled.create_infer_request().infer());
  auto eager = core.compile_model(relu(), "NPU", intel_npu::turbo(true), hint::model_priority(hint::Priority::HIGH));
  EXPECT_NO_THROW(eager.create_infer_request().infer());
}

}  // namespace npu_device_test
}  // namespace tenon::npu_testing
