// SPDX-License-Identifier: Apache-2.0
// Visible effects of settings: on the driver's cache, on the created objects, and on the thread that waits.
#include <dlfcn.h>

#include <sstream>

#include <tenon/core/version.hpp>
#include <tenon/devices/npu/testing/npu.hpp>
#include <tenon/store/testing/reseal.hpp>

namespace tenon::npu_testing {
namespace {

int queues_made = 0, lists_made = 0;
std::uint32_t queue_options = 0;  ///< Options of the last queue created, beyond the core's.

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

}  // namespace
}  // namespace tenon::npu_testing

// The device is linked into this program, so its calls reach these functions first.
ze_result_t zeCommandQueueCreate(ze_context_handle_t context, ze_device_handle_t device,
                                 const ze_command_queue_desc_t* descriptor, ze_command_queue_handle_t* queue) {
  namespace abi = tenon::level_zero::abi;
  ++tenon::npu_testing::queues_made;
  tenon::npu_testing::queue_options = 0;
  for (auto* link = static_cast<const abi::ChainLink*>(descriptor->pNext); link;
       link = static_cast<const abi::ChainLink*>(link->next))
    if (link->stype == static_cast<std::uint32_t>(abi::CommandQueueNpuStructure::kDescriptor2))
      tenon::npu_testing::queue_options = reinterpret_cast<const abi::CommandQueueNpuDescriptor2*>(link)->options;
  return tenon::npu_testing::next<decltype(&zeCommandQueueCreate)>("zeCommandQueueCreate")(context, device, descriptor,
                                                                                           queue);
}
ze_result_t zeCommandListCreate(ze_context_handle_t context, ze_device_handle_t device,
                                const ze_command_list_desc_t* descriptor, ze_command_list_handle_t* list) {
  ++tenon::npu_testing::lists_made;
  return tenon::npu_testing::next<decltype(&zeCommandListCreate)>("zeCommandListCreate")(context, device, descriptor,
                                                                                         list);
}

namespace tenon::npu_testing {
namespace settings_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class NpuSettings : public Npu {
 protected:
  /// Number of calls that `work` makes.
  template <typename Work>
  static long calls_of(const Work& work) {
    constexpr long kMany = 1'000'000;
    level_zero::client::Probe::countdown = kMany;
    work();
    return kMany - level_zero::client::Probe::countdown.exchange(0);
  }
  /// Number of entries in the driver's cache; ctest sets its folder.
  static std::size_t driver_entries() {
    const char* folder = std::getenv("TENON_NPU_CACHE_DIR");
    if (!folder || !std::filesystem::exists(folder)) return 0;
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      count += entry.path().extension() == ".npu_graph";
    return count;
  }
};

TEST_F(NpuSettings, OneQueueServesAllRequestsOfAModelAndEachHasAListOfItsOwn) {
  core.compile_model(relu(), "NPU").create_infer_request().infer();  // What a process makes once.
  queues_made = lists_made = 0;
  auto compiled = core.compile_model(relu(), "NPU");
  const int lists_before = lists_made;
  std::vector<InferRequest> requests;
  for (int i = 0; i < 3; ++i) {
    requests.push_back(compiled.create_infer_request());
    requests.back().infer();
  }
  for (auto& request : requests) request.infer();
  EXPECT_EQ(queues_made, 1);
  EXPECT_EQ(lists_made - lists_before, 3);
}

TEST_F(NpuSettings, ModelsOfExclusiveRequestsShareAQueue) {
  const auto compile = [&](bool exclusive) {
    return core.compile_model(relu(), "NPU", AnyMap{{"EXCLUSIVE_ASYNC_REQUESTS", exclusive}});
  };
  queues_made = 0;
  auto first = compile(true), second = compile(true);
  EXPECT_EQ(queues_made, 1);
  std::vector<InferRequest> requests{first.create_infer_request(), second.create_infer_request()};
  for (auto& request : requests) request.infer();
  first = second = {};
  requests.clear();
  compile(true);
  EXPECT_EQ(queues_made, 2) << "it went with the last of them";
  auto third = compile(false), fourth = compile(false);
  EXPECT_EQ(queues_made, 4);
}

TEST_F(NpuSettings, DeferredWeightsComeWithTheFirstRequestAlone) {
  const auto model = relu();
  core.compile_model(model, "NPU");
  CompiledModel eager, deferred;
  const long eager_calls = calls_of([&] { eager = core.compile_model(model, "NPU"); });
  const long deferred_calls =
      calls_of([&] { deferred = core.compile_model(model, "NPU", intel_npu::defer_weights_load(true)); });
  EXPECT_LT(deferred_calls, eager_calls);
  const long of_eager = calls_of([&] { eager.create_infer_request(); });
  const long first = calls_of([&] { deferred.create_infer_request(); });
  EXPECT_EQ(first - of_eager, eager_calls - deferred_calls);
  EXPECT_EQ(calls_of([&] { deferred.create_infer_request(); }), of_eager);
}

TEST_F(NpuSettings, TheDriversCacheIsBypassedOnDemandAndWhereThereIsAnother) {
  if (!std::getenv("TENON_NPU_CACHE_DIR")) GTEST_SKIP() << "the driver's cache is the user's";
  std::size_t entries = driver_entries();
  core.compile_model(relu({1, 4 + ::getpid()}), "NPU", intel_npu::bypass_umd_caching(true));
  EXPECT_EQ(driver_entries(), entries);
  const auto folder = std::filesystem::temp_directory_path() / ("tenon_npu_bypass_" + std::to_string(::getpid()));
  core.compile_model(relu({1, 4 + ::getpid()}), "NPU", cache_dir(folder.string()));
  EXPECT_EQ(driver_entries(), entries);
  std::filesystem::remove_all(folder);
  core.compile_model(relu({2, 4 + ::getpid()}), "NPU");
  EXPECT_EQ(driver_entries(), entries + 1);
}

TEST_F(NpuSettings, StridedTensorsAreTakenWhereTheyAreNamed) {
  const Tensor wide = core.get_default_context("NPU").create_host_tensor(element::f32, {4, 8});
  for (int i = 0; i < 32; ++i) wide.data<float>()[i] = static_cast<float>(i - 16);
  const Tensor part(wide, Shape{0, 2}, Shape{4, 5});
  auto unnamed = core.compile_model(relu({4, 3}), "NPU", zero_copy(ZeroCopy::kRequire)).create_infer_request();
  EXPECT_THAT(error_of([&] { unnamed.set_tensor("x", part); }).what(), HasSubstr("NPU_ENABLE_STRIDES_FOR"));
  if (const char* version = std::getenv("TENON_NPU_GRAPH_VERSION"); version && std::atoi(version + 2) < 15)
    GTEST_SKIP() << "the driver takes no strides";
  auto request =
      core.compile_model(relu({4, 3}), "NPU", zero_copy(ZeroCopy::kRequire), intel_npu::enable_strides_for("x"))
          .create_infer_request();
  request.set_tensor("x", part);
  request.infer();
  EXPECT_THAT(values_of(request.get_tensor("y")), ElementsAre(0, 0, 0, 0, 0, 0, 2, 3, 4, 10, 11, 12));
  EXPECT_EQ(request.ledger().total().copied, 0u);
}

TEST_F(NpuSettings, BlobsOfOtherVersionsAreTakenOnDemand) {
  constexpr std::size_t kHeader = 512, kMadeBy = 56;
  std::stringstream stream;
  core.compile_model(relu(), "NPU").export_model(stream);
  std::string blob = stream.str();
  blob[blob.find(TENON_VERSION, kMadeBy)] = '9';
  store::reseal(blob, kHeader);
  std::istringstream refused(blob), taken(blob);
  EXPECT_THAT(error_of([&] { core.import_model(refused, "NPU"); }, Code::kFailedPrecondition),
              HasSubstr("NPU_DISABLE_VERSION_CHECK"));
  EXPECT_NO_THROW(
      core.import_model(taken, "NPU", AnyMap{{"NPU_DISABLE_VERSION_CHECK", true}}).create_infer_request().infer());
}

TEST_F(NpuSettings, RefusesBlobsWhosePartsDoNotBelongTogether) {
  constexpr std::size_t kHeader = 512;
  std::stringstream exported;
  core.compile_model(relu(), "NPU").export_model(exported);
  std::string blob = exported.str();
  const std::size_t shape = blob.find("[1,4]", kHeader);
  ASSERT_LT(shape, blob.size());
  blob[shape + 3] = '1';
  store::reseal(blob, kHeader);
  std::istringstream stream(blob);
  EXPECT_THAT(error_of([&] { core.import_model(stream, "NPU"); }, Code::kDataLoss), HasSubstr("the model says [1,1]"));
}

TEST_F(NpuSettings, SequentialAndExclusiveModelsAskTheirQueueForIt) {
  TENON_NEEDS("command_queue");
  constexpr std::uint32_t kSequential = level_zero::abi::kCommandQueueDeviceSync;
  core.compile_model(relu(), "NPU").create_infer_request();
  EXPECT_EQ(queue_options & kSequential, 0u);
  core.compile_model(relu(), "NPU", intel_npu::run_inferences_sequentially(true)).create_infer_request();
  EXPECT_EQ(queue_options & kSequential, kSequential);
  core.compile_model(relu(), "NPU").create_infer_request();
  EXPECT_EQ(queue_options & kSequential, 0u);
  core.compile_model(relu(), "NPU", AnyMap{{"EXCLUSIVE_ASYNC_REQUESTS", true}}).create_infer_request();
  EXPECT_EQ(queue_options & kSequential, kSequential) << "they run one after the other";
}

TEST_F(NpuSettings, WhatTheDriverLacksIsNoProperty) {
  const auto listed = core.get_property("NPU", supported_properties);
  for (const char* key : {"WORKLOAD_TYPE", "NPU_TURBO", "NPU_RUN_INFERENCES_SEQUENTIALLY"}) {
    const bool is_listed = std::find(listed.begin(), listed.end(), key) != listed.end();
    EXPECT_EQ(is_listed, !lacks("command_queue")) << key;
  }
}

TEST_F(NpuSettings, CompiledModelsSayWhereTheyRun) {
  const std::string requirements = core.compile_model(relu(), "NPU").get_property(runtime_requirements);
  const auto answer = [&](const std::string& needs) {
    return core.get_property("NPU", compatibility_check, {{"RUNTIME_REQUIREMENTS", needs}});
  };
  EXPECT_EQ(answer(requirements), CompatibilityCheck::SUPPORTED);
  EXPECT_EQ(answer(requirements + "0"), CompatibilityCheck::UNSUPPORTED);
  EXPECT_EQ(core.get_property("NPU", compatibility_check), CompatibilityCheck::NOT_APPLICABLE);
  const std::string other =
      core.compile_model(relu(), "NPU", intel_npu::platform("3720")).get_property(runtime_requirements);
  EXPECT_EQ(answer(other), CompatibilityCheck::UNSUPPORTED);
}

TEST_F(NpuSettings, ReleasedMemoryComesBackWithTheNextInference) {
  // Intermediate results are in the device's own memory.
  constexpr std::size_t kRows = 256, kColumns = 1024;
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{kRows, kColumns});
  x->output(0).set_names({"x"});
  auto by_row = std::make_shared<op::v8::Softmax>(x->output(0), 1);
  auto ones = op::v0::Constant::create(element::f32, Shape{kColumns, 1}, std::vector<float>(kColumns, 1.f));
  auto y = std::make_shared<op::v0::MatMul>(by_row->output(0), ones->output(0), false, false);
  y->output(0).set_names({"y"});
  auto compiled = core.compile_model(std::make_shared<Model>(OutputVector{y->output(0)}, ParameterVector{x}), "NPU");
  auto request = compiled.create_infer_request();
  const auto allocated = [&] { return core.get_property("NPU", intel_npu::device_alloc_mem_size); };
  const char* version = std::getenv("TENON_NPU_GRAPH_VERSION");
  const bool can_evict = !version || std::string(version) == "1.16" || std::string(version) == "1.18";
  for (int i = 1; i <= 3; ++i) {
    std::fill_n(request.get_tensor("x").data<float>(), kRows * kColumns, static_cast<float>(i));
    std::fill_n(request.get_tensor("y").data<float>(), kRows, -1.f);
    request.infer();
    EXPECT_THAT(values_of(request.get_tensor("y")), ::testing::Each(::testing::FloatNear(1.f, 1e-3f)));
    const auto with = allocated();
    compiled.release_memory();
    if (can_evict) {
      EXPECT_LE(allocated() + kRows * kColumns * sizeof(float), with) << "nothing was released";
    } else {
      EXPECT_EQ(allocated(), with) << "drivers before 1.16 of the graph extension cannot";
    }
  }
}

TEST_F(NpuSettings, WithoutStreamsStartAsyncRunsInTheCaller) {
  auto request = core.compile_model(relu(), "NPU", num_streams(streams::Num(0))).create_infer_request();
  std::thread::id where;
  request.set_callback([&](std::exception_ptr) { where = std::this_thread::get_id(); });
  request.start_async();
  EXPECT_EQ(where, std::this_thread::get_id());
  request.wait();
}

}  // namespace settings_test
}  // namespace tenon::npu_testing
