// SPDX-License-Identifier: Apache-2.0
// Effects of the CPU device's settings: each test observes one, not only the returned value.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include <tbb/parallel_for.h>

#include <tenon/devices/cpu/public/properties.hpp>
#include <tenon/devices/cpu/topology.hpp>
#include <tenon/engine/engine.hpp>
#include <tenon/engine/kernels/low_bit/weight_only_rounded.hpp>
#include <tenon/runtime/runtime.hpp>

namespace tenon {
namespace properties_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::shared_ptr<Model> square_model(std::size_t size) {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape(Shape{1, size}));
  const auto y = std::make_shared<op::v1::Multiply>(x->output(0), x->output(0));
  return std::make_shared<Model>(OutputVector{y->output(0)}, ParameterVector{x}, "square");
}

TEST(CpuProperties, AreReadFromText) {
  Core core;
  const auto set = [&](const char* key, const char* text) {
    core.set_property("CPU", AnyMap{{key, text}});
    return core.get_property("CPU", std::string(key)).as<std::string>();
  };
  EXPECT_EQ(set("NUM_STREAMS", "AUTO"), "AUTO");
  EXPECT_EQ(set("NUM_STREAMS", "3"), "3");
  EXPECT_EQ(set("NUM_STREAMS", "0"), "0");
  EXPECT_EQ(set("PERFORMANCE_HINT", "THROUGHPUT"), "THROUGHPUT");
  EXPECT_EQ(set("PERFORMANCE_HINT", "latency"), "LATENCY");
  EXPECT_EQ(set("PERF_COUNT", "YES"), "YES");
  EXPECT_EQ(set("PERF_COUNT", "false"), "NO");
  EXPECT_EQ(set("INFERENCE_NUM_THREADS", "2"), "2");
  EXPECT_EQ(set("INFERENCE_PRECISION_HINT", "FP32"), "f32");
  EXPECT_EQ(set("MODEL_DISTRIBUTION_POLICY", "TENSOR_PARALLEL"), "TENSOR_PARALLEL");
  EXPECT_EQ(set("MODEL_PRIORITY", "HIGH"), "HIGH");
  EXPECT_EQ(set("SCHEDULING_CORE_TYPE", "PCORE_ONLY"), "PCORE_ONLY");
  EXPECT_EQ(set("KV_CACHE_PRECISION", "f16"), "f16");
  EXPECT_EQ(set("TBB_PARTITIONER", "STATIC"), "STATIC");
  EXPECT_EQ(core.get_property("CPU", std::string("RANGE_FOR_ASYNC_INFER_REQUESTS")).as<std::string>(), "1 1 1");
  for (const auto& [key, text] :
       std::vector<std::pair<const char*, const char*>>{{"NUM_STREAMS", "x"},
                                                        {"NUM_STREAMS", "-3"},
                                                        {"PERFORMANCE_HINT", "FAST"},
                                                        {"PERF_COUNT", "maybe"},
                                                        {"INFERENCE_NUM_THREADS", "-1"},
                                                        {"INFERENCE_NUM_THREADS", "two"},
                                                        {"PERFORMANCE_HINT_NUM_REQUESTS", "-3"},
                                                        {"INFERENCE_PRECISION_HINT", "i8"},
                                                        {"KV_CACHE_PRECISION", "i32"},
                                                        {"CPU_SPARSE_WEIGHTS_DECOMPRESSION_RATE", "2"},
                                                        {"DEVICE_ID", "1"}}) {
    try {
      set(key, text);
      ADD_FAILURE() << key << "=" << text << " was accepted";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(key));
    }
  }
}

TEST(CpuProperties, OfNoDeviceReachEveryDeviceThatHasThem) {
  Core core;
  core.set_property(num_streams(2));  // Before the device is loaded...
  EXPECT_EQ(core.get_property("CPU", num_streams), 2);
  core.set_property({{"NUM_STREAMS", "3"}});  // ...and after.
  EXPECT_EQ(core.get_property("CPU", num_streams), 3);
  core.set_property("CPU", num_streams(1));
  EXPECT_EQ(core.get_property("CPU", num_streams), 1);
  EXPECT_THROW(core.set_property({{"NUM_STREAMS", "many"}}), Error);
  EXPECT_THROW(core.set_property({{"FULL_DEVICE_NAME", "mine"}}), Error);
  EXPECT_THROW(core.set_property({{"NO_SUCH_SETTING", 1}}), Error);
  EXPECT_NO_THROW(core.set_property({{"AUTO_BATCH_TIMEOUT", "5"}})) << "general, though no device here has it";
}

/// The sizes of the CPU sets of this process's threads, observed thirty times at least while `work` runs repeatedly.
std::set<int> affinities_seen(const std::function<void()>& work) {
  std::atomic<bool> stop{false};
  std::atomic<int> looks{0};
  std::set<int> seen;
  std::thread watcher([&] {
    while (!stop.load()) {
      for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        cpu_set_t set;
        CPU_ZERO(&set);
        if (sched_getaffinity(std::stoi(task.path().filename().string()), sizeof set, &set) == 0)
          seen.insert(CPU_COUNT(&set));
      }
      ++looks;
    }
  });
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  while (std::chrono::steady_clock::now() < end ||
         (looks < 30 && std::chrono::steady_clock::now() < end + std::chrono::seconds(60)))
    work();
  stop.store(true);
  watcher.join();
  return seen;
}

TEST(CpuProperties, PinningHoldsThreadsOnTheirCpus) {
  const int cpus = static_cast<int>(cpu_device::allowed_cpus().size());
  if (cpus < 2) GTEST_SKIP() << "one CPU is all there is";
  Core core;
  for (const bool pinned : {false, true}) {
    auto request =
        core.compile_model(square_model(1 << 20), "CPU", hint::enable_cpu_pinning(pinned)).create_infer_request();
    const auto seen = affinities_seen([&] { request.infer(); });
    EXPECT_EQ(seen.count(1) > 0, pinned);
    EXPECT_EQ(cpu_device::allowed_cpus().size(), static_cast<std::size_t>(cpus)) << "the caller is as it was";
  }
}

TEST(CpuProperties, ReservationTakesCpusFromOthers) {
  if (cpu_device::allowed_cpus().size() < 2 || engine::Workers::available_cpus() < 2)
    GTEST_SKIP() << "one CPU is all there is";
  Core core;
  const auto threads = [&] { return core.compile_model(square_model(4), "CPU").get_property(inference_num_threads); };
  const int all = threads();
  {
    const auto first =
        core.compile_model(square_model(4), "CPU", hint::enable_cpu_reservation(true), inference_num_threads(1));
    EXPECT_EQ(first.get_property(inference_num_threads), 1);
    EXPECT_EQ(threads(), std::min(all, static_cast<int>(cpu_device::allowed_cpus().size()) - 1));
  }
  EXPECT_EQ(threads(), all) << "the reservation ends with its model";
}

TEST(CpuProperties, DenormalsAreZeroWhenAskedFor) {
  Core core;
  Tensor x(element::f32, {1, 4});
  std::fill_n(x.data<float>(), 4, 1e-20f);
  for (const bool flush : {false, true}) {
    auto request =
        core.compile_model(square_model(4), "CPU", intel_cpu::denormals_optimization(flush)).create_infer_request();
    request.set_input_tensor(x);
    request.infer();
    EXPECT_EQ(request.get_output_tensor().data<float>()[0] == 0, flush);
  }
  volatile float small = 1e-20f;
  EXPECT_NE(small * small, 0) << "the caller's own arithmetic is as it was";
}

/// x times a constant matrix of 4 bits.
std::shared_ptr<Model> weight_only_model() {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 128});
  Tensor numbers(element::u4, {16, 128}), scales(element::f32, {16, 1});
  for (std::size_t i = 0; i < numbers.size_bytes(); ++i)
    static_cast<std::uint8_t*>(numbers.data())[i] = static_cast<std::uint8_t>(i * 37);
  std::fill_n(scales.data<float>(), 16, 0.1f);
  const auto real = make_node("Convert", 1, {std::make_shared<op::v0::Constant>(numbers)->output(0)},
                              {{"destination_type", element::f32}});
  const auto weights =
      make_node("Multiply", 1, {real->output(0), std::make_shared<op::v0::Constant>(scales)->output(0)});
  const auto y = make_node("MatMul", 1, {x->output(0), weights->output(0)}, {{"transpose_b", true}});
  return std::make_shared<Model>(OutputVector{y->output(0)}, ParameterVector{x}, "few bits");
}

TEST(CpuProperties, DynamicQuantizationRounds) {
  Core core;
  Tensor x(element::f32, {1, 128});
  for (std::size_t i = 0; i < 128; ++i) x.data<float>()[i] = std::sin(static_cast<float>(i));
  const auto result = [&](const AnyMap& properties) {
    auto compiled = core.compile_model(weight_only_model(), "CPU", properties);
    auto request = compiled.create_infer_request();
    request.set_input_tensor(x);
    request.infer();
    const float* y = request.get_output_tensor().data<float>();
    return std::pair{compiled.get_property(hint::dynamic_quantization_group_size), std::vector<float>(y, y + 16)};
  };
  const auto [none, exact] = result({hint::dynamic_quantization_group_size(0)});
  const auto [group, rounded] = result({hint::dynamic_quantization_group_size(32)});
  const auto [accurate, also_exact] =
      result({hint::dynamic_quantization_group_size(32), hint::execution_mode(hint::ExecutionMode::ACCURACY)});
  EXPECT_EQ(none, 0u);
  EXPECT_EQ(core.compile_model(weight_only_model(), "CPU").get_property(hint::dynamic_quantization_group_size), 0u);
  EXPECT_EQ(group, 32u);
  EXPECT_EQ(accurate, 0u);
  EXPECT_EQ(exact, also_exact);
  for (std::size_t i = 0; i < exact.size(); ++i) EXPECT_NEAR(exact[i], rounded[i], 0.05 + 0.01 * std::abs(exact[i]));
  if (!engine::kernels::rounds_rows({1, 16, 128, 128, engine::kernels::WeightOnlyType::kU4, 32}))
    GTEST_SKIP() << "this CPU has no AVX512_VNNI";
  EXPECT_NE(exact, rounded);
}

/// x attends to itself and to all earlier positions.
std::shared_ptr<Model> cached_model() {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 2, -1, 64});
  SinkVector sinks;
  OutputVector grown;
  for (const char* id : {"keys", "values"}) {
    const auto state = make_node(
        "ReadValue", 6, {},
        {{"variable_id", id}, {"variable_type", ElementType::kF32}, {"variable_shape", PartialShape{1, 2, -1, 64}}});
    grown.push_back(std::make_shared<op::v0::Concat>(OutputVector{state->output(0), x->output(0)}, 2)->output(0));
    sinks.push_back(make_node("Assign", 6, {grown.back()}, {{"variable_id", id}}));
  }
  const auto y = make_node("ScaledDotProductAttention", 13, {x->output(0), grown[0], grown[1]}, {{"causal", false}});
  return std::make_shared<Model>(OutputVector{y->output(0)}, sinks, ParameterVector{x}, "cached");
}

TEST(CpuProperties, CachesLieInTheTypeThatIsAskedFor) {
  Core core;
  const auto model = cached_model();
  const auto tensor = [](std::size_t tokens, float phase) {
    Tensor x(element::f32, {1, 2, tokens, 64});
    for (std::size_t i = 0; i < x.element_count(); ++i) x.data<float>()[i] = std::sin(static_cast<float>(i) + phase);
    return x;
  };
  struct Ran {
    std::string type;
    std::vector<float> y, keys;
    std::set<std::string> kernels;
  };
  const auto run = [&](AnyMap properties) {
    properties.insert({"PERF_COUNT", "YES"});
    auto compiled = core.compile_model(model, "CPU", properties);
    auto request = compiled.create_infer_request();
    for (int step = 0; step < 4; ++step) {
      request.set_input_tensor(tensor(step == 0 ? 9 : 1, static_cast<float>(step)));
      request.infer();
    }
    Ran ran{compiled.get_property("KV_CACHE_PRECISION").as<std::string>(), {}, {}, {}};
    for (const auto& info : request.get_profiling_info()) ran.kernels.insert(info.exec_type);
    const Tensor y = request.get_output_tensor();
    ran.y.assign(y.data<float>(), y.data<float>() + y.element_count());
    for (auto& state : request.query_state()) {
      const Tensor value = state.get_state();
      EXPECT_EQ(value.element_type(), ElementType::kF32);
      EXPECT_EQ(value.shape(), (Shape{1, 2, 12, 64}));
      if (state.get_name() == "keys") ran.keys.assign(value.data<float>(), value.data<float>() + value.element_count());
      // Sets the value that was read.
      state.set_state(value);
    }
    request.set_input_tensor(tensor(1, 9));
    request.infer();
    return ran;
  };
  const auto f32 = [](AnyMap properties) {
    properties.insert({"INFERENCE_PRECISION_HINT", "f32"});
    return properties;
  };
  const Ran exact = run({{"EXECUTION_MODE_HINT", "ACCURACY"}}), asked = run(f32({{"KV_CACHE_PRECISION", "f32"}}));
  EXPECT_EQ(exact.type, "f32");
  EXPECT_EQ(exact.y, asked.y);
  EXPECT_TRUE(exact.kernels.count("append"));
  EXPECT_EQ(run(f32({})).y, exact.y) << "no rounding where f32 is asked for";
  for (const std::string type : {"u8", "u4", "f16", "bf16"}) {
    const Ran rounded = run(f32({{"KV_CACHE_PRECISION", type}}));
    const std::string kept = type == "u4" ? "u8" : type;
    EXPECT_EQ(rounded.type, kept);
    EXPECT_TRUE(rounded.kernels.count("append:" + kept));
    EXPECT_NE(rounded.keys, exact.keys);
    // Half of an 8-bit step in a row of -1 to 1.
    for (std::size_t i = 0; i < exact.keys.size(); ++i) EXPECT_NEAR(rounded.keys[i], exact.keys[i], 0.00393);
    for (std::size_t i = 0; i < exact.y.size(); ++i) EXPECT_NEAR(rounded.y[i], exact.y[i], 0.01);
  }
  const Ran keys = run(f32({{"KEY_CACHE_PRECISION", "u8"}, {"KEY_CACHE_GROUP_SIZE", "32"}}));
  EXPECT_TRUE(keys.kernels.count("append:u8") && keys.kernels.count("append"));
  EXPECT_EQ(keys.type, "dynamic");
  EXPECT_EQ(run({}).type, engine::has_native_bf16() ? "bf16" : "f32");
  for (const char* wrong : {"i32", "f64", "4"})
    EXPECT_THROW(core.compile_model(model, "CPU", {{"VALUE_CACHE_PRECISION", wrong}}), Error) << wrong;
  EXPECT_THROW(core.compile_model(model, "CPU", {{"KEY_CACHE_GROUP_SIZE", "-1"}}), Error);
  // A group larger than the row is the row.
  EXPECT_EQ(run(f32({{"KV_CACHE_PRECISION", "u8"}, {"KEY_CACHE_GROUP_SIZE", "18446744073709551615"}})).y,
            run(f32({{"KV_CACHE_PRECISION", "u8"}})).y);
}

TEST(CpuProperties, PriorityDecidesWhomIdleThreadsHelp) {
  if (engine::Workers::available_cpus() < 2) GTEST_SKIP() << "no thread is ever idle";
  const auto help = [](engine::WorkerOptions::Priority priority, std::atomic<bool>& stop,
                       std::atomic<std::uint64_t>& by_others) {
    engine::WorkerOptions options;
    options.threads = 2;
    options.priority = priority;
    engine::Workers workers(options);
    const auto self = std::this_thread::get_id();
    while (!stop.load()) {
      workers.run([&] {
        tbb::parallel_for(0, 64, [&](int) {
          volatile double sum = 0;
          for (int i = 0; i < 2000; ++i) sum = sum + std::sqrt(static_cast<double>(i));
          if (std::this_thread::get_id() != self) by_others.fetch_add(1);
        });
      });
    }
  };
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> high{0}, low{0};
  std::thread first([&] { help(engine::WorkerOptions::Priority::kLow, stop, low); });
  std::thread second([&] { help(engine::WorkerOptions::Priority::kHigh, stop, high); });
  // On a busy machine one of them may run alone for a while: until what came of that is outweighed.
  const auto begin = std::chrono::steady_clock::now();
  const auto passed = [&] { return std::chrono::steady_clock::now() - begin; };
  std::uint64_t by_high = 0, by_low = 0;
  do {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    by_low = low, by_high = high;
  } while (passed() < std::chrono::milliseconds(600) || (by_high <= 2 * by_low && passed() < std::chrono::seconds(60)));
  stop.store(true);
  first.join();
  second.join();
  EXPECT_GT(by_high, 2 * by_low);
}

TEST(CpuProperties, RequirementsSayWhatABlobNeeds) {
  Core core;
  const auto model = core.compile_model(square_model(4), "CPU");
  const std::string needs = model.get_property(runtime_requirements);
  EXPECT_THAT(needs, HasSubstr("isa="));
  const auto check = [&](const std::string& text) {
    return core.get_property("CPU", compatibility_check, {{"RUNTIME_REQUIREMENTS", text}});
  };
  EXPECT_EQ(check(needs), CompatibilityCheck::SUPPORTED);
  EXPECT_EQ(check("tenon=9.9.9;isa=avx1024"), CompatibilityCheck::UNSUPPORTED);
  EXPECT_EQ(core.get_property("CPU", compatibility_check), CompatibilityCheck::NOT_APPLICABLE);
}

class Topology : public ::testing::Test {
 protected:
  Topology() { std::filesystem::create_directories(root_ / "cpu_atom"); }
  ~Topology() override { std::filesystem::remove_all(root_); }
  void cpu(int id, const char* siblings) {
    const auto folder = root_ / "system" / "cpu" / ("cpu" + std::to_string(id)) / "topology";
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "thread_siblings_list") << siblings << "\n";
  }
  const std::filesystem::path root_ =
      std::filesystem::temp_directory_path() / ("tenon_topology_" + std::to_string(::getpid()));
};

TEST_F(Topology, OrdersCoresBeforeSiblingsAndFastBeforeEfficient) {
  using cpu_device::choose_cpus;
  cpu(0, "0-1"), cpu(1, "0-1"), cpu(2, "2-3"), cpu(3, "2-3"), cpu(4, "4"), cpu(5, "5");
  std::ofstream(root_ / "cpu_atom" / "cpus") << "4-5\n";
  const auto all = cpu_device::read_topology({0, 1, 2, 3, 4, 5}, root_);
  using Type = hint::SchedulingCoreType;
  EXPECT_THAT(choose_cpus(all, true, Type::ANY_CORE), ElementsAre(0, 2, 4, 5, 1, 3));
  EXPECT_THAT(choose_cpus(all, false, Type::ANY_CORE), ElementsAre(0, 2, 4, 5));
  EXPECT_THAT(choose_cpus(all, false, Type::PCORE_ONLY), ElementsAre(0, 2));
  EXPECT_THAT(choose_cpus(all, true, Type::PCORE_ONLY), ElementsAre(0, 2, 1, 3));
  EXPECT_THAT(choose_cpus(all, true, Type::ECORE_ONLY), ElementsAre(4, 5));
  // Without efficient cores there is no choice; without topology information each CPU is a core.
  EXPECT_THAT(choose_cpus(cpu_device::read_topology({0, 1}, root_), true, Type::ECORE_ONLY), ElementsAre(0, 1));
  EXPECT_THAT(choose_cpus(cpu_device::read_topology({7, 8}, root_), false, Type::ANY_CORE), ElementsAre(7, 8));
}

}  // namespace properties_test
}  // namespace tenon
