// SPDX-License-Identifier: Apache-2.0
// Inferences as graphs of the device's twin: the same results, which inferences are none, and what is left when calls fail.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/hazards.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/devices/gpu/hardware.hpp>
#include <tenon/devices/gpu/public/properties.hpp>
#include <tenon/devices/gpu/testing/gpu.hpp>
#include <tenon/devices/gpu/twin/ptx.hpp>
#include <tenon/frameworks/cuda/client.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace tenon::gpu_testing {
namespace twin_test {

using intel_gpu::ocl::ClContext;
using ::testing::Each;
using ::testing::HasSubstr;

TEST(Ptx, RegistersOfOpenClAreCudas) {
  EXPECT_EQ(gpu_device::ptx_for_cuda("mov.u32 %r1, %envreg6;\nmov.u32 %r2, %envreg7;\nmov.u32 %r3, %envreg8;"),
            "mov.u32 %r1, %nctaid.x;\nmov.u32 %r2, %nctaid.y;\nmov.u32 %r3, %nctaid.z;");
  EXPECT_EQ(gpu_device::ptx_for_cuda("mov.b32 %r1, %envreg0;\nmov.b32 %r2, %envreg5;"),
            "mov.b32 %r1, 0;\nmov.b32 %r2, 0;");
  const std::string others = "%envreg60, %envreg31, %envreg9, %envreg";
  EXPECT_EQ(gpu_device::ptx_for_cuda(others), others);
  EXPECT_TRUE(gpu_device::is_ptx("//\n.version 8.7\n.target sm_90"));
  EXPECT_FALSE(gpu_device::is_ptx("machine code"));
}

TEST(Ptx, KernelsWaitBeforeTheirFirstInstruction) {
  const std::string before =
      ".func f()\n{\n\tret;\n}\n.entry k(\n\t.param .u64 p\n)\n.reqntid 128, 1, 1\n{\n\t.reg .b32 %r<3>;\n\t// one\n\n";
  const std::string after = "\tmov.u32 %r1, 1;\n\tret;\n}\n";
  for (const char* target : {"sm_90", "sm_90a", "sm_120"}) {
    const std::string head = std::string("//\n.version 9.0\n.target ") + target + ", texmode_independent\n";
    EXPECT_EQ(gpu_device::ptx_for_cuda(head + before + after),
              head + before + "\tgriddepcontrol.wait;\n\tgriddepcontrol.launch_dependents;\n" + after);
    EXPECT_TRUE(gpu_device::has_waits(head));
  }
  const std::string older = "//\n.version 7.0\n.target sm_86\n" + before + after;
  EXPECT_EQ(gpu_device::ptx_for_cuda(older), older);
  EXPECT_FALSE(gpu_device::has_waits(older));
}

TEST(Ptx, KernelsWaitWhereTheirTextSaysSo) {
  const std::string head = ".version 9.0\n.target sm_90a\n", signature = ".entry k()\n{\n\t.reg .b32 %r<3>;\n",
                    wait = "griddepcontrol.wait;\n\tgriddepcontrol.launch_dependents;";
  const auto text = [&](const std::string& at) {
    return head + signature + "\tprefetch.global.L2 [%rd1];\n\t// begin inline asm\n\t" + at +
           "\n\t// end inline asm\n\tret;\n}\n" + signature;
  };
  const std::string other = "\tret;\n}\n";
  EXPECT_EQ(gpu_device::ptx_for_cuda(text("/*wait for kernels*/") + other), text(wait) + "\t" + wait + "\n" + other);
}

TEST(Ptx, LaunchesSayHowMuchLocalMemoryThereIs) {
  const std::string head = ".version 9.0\n.target sm_80\n.address_size 64\n",
                    begin = "\n.entry a()\n{\n\t// demoted variable\n", use = "\tmov.u64 %rd1, a_$_graphs_memory;\n}\n",
                    other = "\t.shared .align 1024 .b8 b_$_tiles[49152];\n";
  EXPECT_EQ(
      gpu_device::ptx_for_cuda(head + begin + "\t.shared .align 1024 .b8 a_$_graphs_memory[33792];\n" + use + other),
      head + ".extern .shared .align 1024 .b8 a_$_graphs_memory[];\n" + begin + "\n" + use + other);
}

TEST(Ptx, OfAnyKindIsAText) {
  const std::string head = "//\n.version 9.0\n.target sm_";
  EXPECT_FALSE(gpu_device::has_waits(head + std::string(40, '9') + "\n")) << "no number";
  EXPECT_FALSE(gpu_device::has_waits(head + "-9"));
  EXPECT_FALSE(gpu_device::has_waits(head));
  for (const std::string text : {"a_graphs_memory[", "\na_graphs_memory[", "a_graphs_memory[ .shared .align 1024 .b8 x",
                                 ".shared .align 1024 .b8 a", "a_graphs_memory[\n.shared .align 1024 .b8 b[4];\n"})
    EXPECT_EQ(gpu_device::ptx_for_cuda(text), text);
}

/// Skipped where the device has no twin.
class Twin : public Gpu {
 protected:
  void SetUp() override {
    Gpu::SetUp();
    if (IsSkipped()) return;
    std::string why;
    if (!gpu_device::find_gpu("")->use_twin(&why)) GTEST_SKIP() << why;
  }
  CompiledModel compile(const std::shared_ptr<Model>& model) {
    return core.compile_model(model, "GPU", gpu::launches(gpu::launch::cuda_graph));
  }
};

/// How many inferences ran as graphs, and how many of them were told only what differed.
std::pair<std::uint64_t, std::uint64_t> graphs_of(const Ledger& ledger) {
  for (const LedgerEntry& entry : ledger.snapshot())
    if (entry.name == "GPU: CUDA graph") return {entry.maps, entry.view_hits};
  return {0, 0};
}

std::uint64_t refused(const Ledger& ledger) {
  for (const LedgerEntry& entry : ledger.snapshot())
    if (entry.name == "GPU: CUDA graph refused") return entry.maps;
  return 0;
}

using Graphs = std::pair<std::uint64_t, std::uint64_t>;

TEST_F(Twin, AGraphIsMadeOnceAndReplayed) {
  auto compiled = compile(steps_model());
  EXPECT_EQ(compiled.get_property(gpu::launches.name()).as<std::string>(), gpu::launch::cuda_graph);
  auto request = compiled.create_infer_request(), other = compiled.create_infer_request();
  for (int i = 0; i < 20; ++i) {
    ASSERT_THAT(answer(request, static_cast<float>(i)), Each(static_cast<float>(i + 20)));
    ASSERT_THAT(answer(other, static_cast<float>(-i)), Each(static_cast<float>(20 - i)));
  }
  EXPECT_EQ(graphs_of(request.ledger()), Graphs(20, 19));
  EXPECT_EQ(request.ledger().total().copied, 0u);
}

TEST_F(Twin, AsynchronousInferencesPutTheirResultsOut) {
  auto compiled = compile(steps_model());
  std::vector<InferRequest> requests;
  for (int i = 0; i < 3; ++i) requests.push_back(compiled.create_infer_request());
  for (int round = 0; round < 10; ++round) {
    for (std::size_t i = 0; i < requests.size(); ++i) {
      Tensor x = requests[i].get_tensor("x");
      std::fill_n(x.data<float>(), kCount, static_cast<float>(round * 3 + static_cast<int>(i)));
      requests[i].start_async();
    }
    for (std::size_t i = 0; i < requests.size(); ++i) {
      requests[i].wait();
      const Tensor y = requests[i].get_tensor("y");
      ASSERT_THAT(std::vector<float>(y.data<float>(), y.data<float>() + kCount),
                  Each(static_cast<float>(round * 3 + static_cast<int>(i) + 20)));
    }
  }
}

/// y = (x + 1) @ w, then softmax, of any number of rows.
std::shared_ptr<Model> rows_model() {
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{-1, 8});
  x->output(0).set_names({"x"});
  Output<Node> y = x;
  const auto one = op::v0::Constant::create(element::f32, Shape{}, {1.0});
  std::vector<double> weights;
  for (int i = 0; i < 64; ++i) weights.push_back(0.01 * (i % 7) - 0.02);
  for (int i = 0; i < 3; ++i) {
    y = make_node("Add", 1, {y, one}, {}, "")->output(0);
    y = make_node("MatMul", 0, {y, op::v0::Constant::create(element::f32, Shape{8, 8}, weights)}, {}, "")->output(0);
    y = make_node("Softmax", 8, {y}, {{"axis", std::int64_t{1}}}, "")->output(0);
  }
  y.get_node()->output(0).set_names({"y"});
  return std::make_shared<Model>(OutputVector{y}, ParameterVector{x}, "rows");
}

TEST_F(Twin, ShapesThatMoveUpdateTheGraph) {
  const auto values_of = [](CompiledModel compiled) {
    std::vector<std::vector<float>> all;
    auto request = compiled.create_infer_request();
    for (const std::size_t rows : {3u, 4u, 5u, 9u, 4u, 70u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 10u, 11u, 90u, 12u}) {
      Tensor x(element::f32, Shape{rows, 8});
      for (std::size_t i = 0; i < rows * 8; ++i) x.data<float>()[i] = static_cast<float>(i % 11) * 0.3f;
      request.set_tensor("x", x);
      request.infer();
      const Tensor y = request.get_tensor("y");
      all.emplace_back(y.data<float>(), y.data<float>() + y.element_count());
    }
    return std::make_pair(all, graphs_of(request.ledger()).first);
  };
  const auto [graphs, count] = values_of(compile(rows_model()));
  const auto [singly, none] = values_of(core.compile_model(rows_model(), "GPU", gpu::launches(gpu::launch::singly)));
  EXPECT_EQ(count, 17u);
  EXPECT_EQ(none, 0u);
  EXPECT_EQ(graphs, singly);
}

constexpr std::size_t kHeads = 2, kWidth = 16;

/// Attention of each row to itself and all rows before it, as many times as there are layers, of any number of rows. The mean of a mask that
/// grows with them is added.
std::shared_ptr<Model> cached_model(int layers) {
  const PartialShape rows{1, kHeads, -1, kWidth};
  auto x = std::make_shared<op::v0::Parameter>(element::f32, rows);
  x->output(0).set_names({"x"});
  auto mask = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 1, 1, -1});
  mask->output(0).set_names({"mask"});
  Output<Node> y = x;
  SinkVector sinks;
  for (int layer = 0; layer < layers; ++layer) {
    OutputVector read{y};
    for (const char* kind : {"keys", "values"}) {
      const std::string id = kind + std::to_string(layer);
      const auto past = make_node(
          "ReadValue", 6, {}, {{"variable_id", id}, {"variable_type", ElementType::kF32}, {"variable_shape", rows}});
      read.push_back(make_node("Concat", 1, {past, y}, {{"axis", std::int64_t{2}}}, "")->output(0));
      sinks.push_back(make_node("Assign", 6, {read.back()}, {{"variable_id", id}}));
    }
    y = make_node("ScaledDotProductAttention", 13, read, {{"causal", false}}, "")->output(0);
  }
  const auto axis = op::v0::Constant::create(element::i64, Shape{1}, {3});
  y = make_node("Add", 1, {y, make_node("ReduceMean", 1, {mask, axis}, {{"keep_dims", true}}, "")}, {}, "")->output(0);
  y.get_node()->output(0).set_names({"y"});
  return std::make_shared<Model>(OutputVector{y}, sinks, ParameterVector{x, mask}, "cached");
}

Tensor mask(std::size_t rows) {
  Tensor all(element::f32, Shape{1, 1, 1, rows});
  std::fill_n(all.data<float>(), rows, 1.0f);
  return all;
}

Tensor token(std::size_t rows, std::size_t at) {
  Tensor x(element::f32, Shape{1, kHeads, rows, kWidth});
  for (std::size_t i = 0; i < x.element_count(); ++i)
    x.data<float>()[i] = static_cast<float>((i * 7 + at * 5) % 23) * 0.1f - 1;
  return x;
}

TEST_F(Twin, TokensThatComeOtherwiseThanExpectedAreRight) {
  const auto values_of = [](CompiledModel compiled) {
    std::vector<std::vector<float>> all;
    auto request = compiled.create_infer_request();
    for (int round = 0; round < 2; ++round) {
      std::size_t at = 0, total = 0;
      for (const std::size_t rows : {5u, 1u, 1u, 1u, 1u, 3u, 1u, 1u, 2u, 3u, 4u, 1u, 1u, 0u, 1u, 1u, 1u, 1u}) {
        if (rows == 0) {
          request.reset_state();
          total = 0;
          continue;
        }
        request.set_tensor("x", token(rows, ++at));
        request.set_tensor("mask", mask(total += rows));
        request.infer();
        const Tensor y = request.get_tensor("y");
        all.emplace_back(y.data<float>(), y.data<float>() + y.element_count());
      }
    }
    return std::make_pair(all, graphs_of(request.ledger()).first);
  };
  const auto [graphs, count] = values_of(compile(cached_model(3)));
  const auto [singly, none] = values_of(core.compile_model(cached_model(3), "GPU", gpu::launches(gpu::launch::singly)));
  EXPECT_EQ(count, 34u);
  EXPECT_EQ(none, 0u);
  EXPECT_EQ(graphs, singly);
}

/// What follows a token is made ready by the thread that waits for it. A call that fails meanwhile fails no inference.
TEST_F(Twin, ATokenThatIsExpectedCostsNoMoreCallsThanALaunch) {
  using cuda::client::Probe;
  constexpr long kMany = 1'000'000;
  constexpr std::size_t kTokens = 10;
  constexpr long kCalls = 2 * 5;  // Two inputs, the launch, the result and the event behind it, each with its context.
  auto request = compile(cached_model(4)).create_infer_request();
  std::vector<std::vector<float>> first;
  long least = kMany;
  bool has_failed = false;
  // Where the machine is busy, an inference may be over before it is waited for.
  for (int round = 0; round < 3 || (round < 100 && (least > kCalls || !has_failed)); ++round) {
    request.reset_state();
    for (std::size_t at = 0; at < kTokens; ++at) {
      request.set_tensor("x", token(1, at));
      request.set_tensor("mask", mask(at + 1));
      Probe::countdown = kMany;
      request.start_async();
      if (round > 0 && at > 2) least = std::min(least, kMany - Probe::countdown);
      Probe::countdown = round >= 2 && at >= 5 && at < 8 ? 1 : 0;
      request.wait();
      Probe::countdown = 0;
      has_failed |= Probe::failed.exchange(false);
      const Tensor y = request.get_tensor("y");
      const std::vector<float> values(y.data<float>(), y.data<float>() + y.element_count());
      if (round == 0) first.push_back(values);
      ASSERT_EQ(values, first[at]) << round << ", " << at;
    }
  }
  EXPECT_LE(least, kCalls);
  EXPECT_TRUE(has_failed);
  EXPECT_EQ(refused(request.ledger()), 0u);
}

/// As a decoder whose caches are inputs and outputs: more lengths than executions are kept for come again, step by step.
TEST_F(Twin, LengthsThatGoOnAreExpectedWithoutStates) {
  using cuda::client::Probe;
  constexpr long kMany = 1'000'000;
  constexpr std::size_t kLengths = 120;
  constexpr long kCalls = 2 * 4;  // An input, the launch, the result and the event behind it, each with its context.
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, -1, 8});
  Output<Node> y = x;
  for (int i = 0; i < 6; ++i) {
    y = make_node("Softmax", 8, {y}, {{"axis", std::int64_t{1}}})->output(0);
    y = make_node("Sin", 0, {y})->output(0);
  }
  y.set_names({"y"});
  x->output(0).set_names({"x"});
  auto request =
      compile(std::make_shared<Model>(OutputVector{y}, ParameterVector{x}, "lengths")).create_infer_request();
  std::size_t expected = 0;
  // Where the machine is busy, an inference may be over before it is waited for.
  for (int round = 0; round < 3 || (round < 40 && expected < kLengths / 2); ++round) {
    expected = 0;
    for (std::size_t length = 1; length <= kLengths; ++length) {
      Tensor input(element::f32, Shape{1, length, 8});
      std::fill_n(input.data<float>(), input.element_count(), 0.5f);
      request.set_tensor("x", input);
      Probe::countdown = kMany;
      request.start_async();
      expected += kMany - Probe::countdown <= kCalls;
      Probe::countdown = 0;
      request.wait();
    }
  }
  EXPECT_GE(expected, kLengths / 2);
}

TEST_F(Twin, WhatTheTwinDoesNotHaveRunsOnOpenCl) {
  auto compiled = compile(steps_model());
  auto request = compiled.create_infer_request();
  ASSERT_THAT(answer(request, 1), Each(21.0f));
  auto context = core.get_default_context("GPU").as<ClContext>();
  const auto gpu = gpu_device::find_gpu("");
  const auto buffer =
      opencl::client::make_buffer(gpu->native(), CL_MEM_READ_WRITE, kCount * sizeof(float), nullptr, "");
  auto remote = context.create_tensor(element::f32, Shape{1, kCount}, buffer.get());
  Tensor ones(element::f32, Shape{1, kCount});
  std::fill_n(ones.data<float>(), kCount, 5.0f);
  remote.copy_from(ones);
  request.set_tensor("x", remote);
  request.infer();
  EXPECT_EQ(request.get_tensor("y").data<float>()[7], 25.0f);
  EXPECT_EQ(graphs_of(request.ledger()).first, 1u) << "the application's buffer is OpenCL's alone";
  request.set_tensor("x", ones);
  request.infer();
  EXPECT_EQ(request.get_tensor("y").data<float>()[7], 25.0f);
  EXPECT_EQ(graphs_of(request.ledger()).first, 2u);
  EXPECT_EQ(refused(request.ledger()), 0u);
}

/// CUDA counts no more than 65,535 groups along the second and the third axis, OpenCL does.
TEST_F(Twin, MoreGroupsThanItCountsRunOnOpenCl) {
  const Shape shape{65537, 4};
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape(shape));
  const auto one = op::v0::Constant::create(element::i64, Shape{}, {1});
  Output<Node> y =
      make_node("TopK", 11, {x, one}, {{"axis", std::int64_t{1}}, {"mode", "max"}, {"sort", "value"}})->output(0);
  y = make_node("ReduceMean", 1, {y, op::v0::Constant::create(element::i64, Shape{1}, {0})}, {{"keep_dims", true}})
          ->output(0);
  for (int i = 0; i < 8; ++i) {
    y = make_node("Sin", 0, {y})->output(0);
    y = make_node("Softmax", 8, {y}, {{"axis", std::int64_t{1}}})->output(0);
  }
  const auto model = std::make_shared<Model>(OutputVector{y}, ParameterVector{x}, "groups");
  Tensor values(element::f32, shape);
  for (std::size_t i = 0; i < values.element_count(); ++i) values.data<float>()[i] = static_cast<float>(i % 13) * 0.1f;
  std::vector<std::vector<float>> answers;
  for (const char* way : {gpu::launch::singly, gpu::launch::cuda_graph, gpu::launch::automatic}) {
    auto compiled = core.compile_model(model, "GPU", gpu::launches(way));
    auto request = compiled.create_infer_request();
    request.set_input_tensor(values);
    request.infer();
    const Tensor result = request.get_output_tensor();
    answers.emplace_back(result.data<float>(), result.data<float>() + result.element_count());
    EXPECT_EQ(answers.back(), answers.front()) << way;
    const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    const auto chosen = [&] { return compiled.get_property(gpu::launches.name()).as<std::string>(); };
    while (chosen() == gpu::launch::automatic && std::chrono::steady_clock::now() < late) request.infer();
    EXPECT_NE(chosen(), gpu::launch::automatic) << "the twin's turn never ends";
    EXPECT_EQ(graphs_of(request.ledger()).first, 0u) << way;
  }
}

TEST_F(Twin, RemoteTensorsOfTheContextAreTheTwinsToo) {
  auto compiled = compile(steps_model());
  auto request = compiled.create_infer_request();
  auto context = core.get_default_context("GPU").as<ClContext>();
  auto x = context.create_tensor(element::f32, Shape{1, kCount}),
       y = context.create_tensor(element::f32, Shape{1, kCount});
  Tensor host(element::f32, Shape{1, kCount});
  request.set_tensor("x", x);
  request.set_tensor("y", y);
  for (int i = 0; i < 3; ++i) {
    std::fill_n(host.data<float>(), kCount, static_cast<float>(i));
    x.copy_from(host);
    request.infer();
    y.copy_to(host);
    ASSERT_THAT(std::vector<float>(host.data<float>(), host.data<float>() + kCount), Each(static_cast<float>(i + 20)));
  }
  EXPECT_EQ(graphs_of(request.ledger()), Graphs(3, 2));
  EXPECT_EQ(moved_beside_results(request.ledger()), 0u);
}

TEST_F(Twin, ItsQueueWaitsForWorkOfAnyApi) {
  auto compiled = compile(steps_model());
  auto request = compiled.create_infer_request();
  auto context = core.get_default_context("GPU").as<ClContext>();
  auto x = context.create_tensor(element::f32, Shape{1, kCount});
  Tensor host(element::f32, Shape{1, kCount});
  std::fill_n(host.data<float>(), kCount, 1.0f);
  x.copy_from(host);
  request.set_tensor("x", x);
  request.infer();
  const auto written = make_ref<HostTimeline>("the test");
  x.memory()->hazards().wrote(written->next(), written_bytes(x));
  const auto waits = request.ledger().total().waits;
  request.start_async();
  EXPECT_FALSE(request.wait_for(std::chrono::milliseconds(5))) << "it ran before its input was written";
  EXPECT_EQ(request.ledger().total().waits, waits) << "the host has waited";
  written->advance(1);
  request.wait();
  EXPECT_EQ(request.get_tensor("y").data<float>()[9], 21.0f);
  EXPECT_EQ(graphs_of(request.ledger()).first, 2u);
  // What fails meanwhile is reported, and says nothing of the next inference.
  x.memory()->hazards().wrote(written->next(), written_bytes(x));
  request.start_async();
  written->fail(2, std::make_exception_ptr(Error(Code::kAborted, "the writer broke down")));
  EXPECT_THAT(error_of([&] { request.wait(); }).what(), HasSubstr("the writer broke down"));
  x.memory()->hazards().wrote(TimelinePoint::ready(), written_bytes(x));
  request.infer();
  EXPECT_EQ(request.get_tensor("y").data<float>()[9], 21.0f);
  EXPECT_EQ(refused(request.ledger()), 0u);
}

TEST_F(Twin, SettingsThatAGraphCannotKeepAreRefused) {
  const auto message = [&](AnyMap settings) {
    settings.insert(gpu::launches(gpu::launch::cuda_graph));
    return std::string(error_of([&] { core.compile_model(steps_model(), "GPU", settings); }).what());
  };
  EXPECT_THAT(message({enable_profiling(true)}), HasSubstr("PERF_COUNT"));
  ClContext shared(core, app.queue);
  EXPECT_THAT(
      error_of([&] { core.compile_model(steps_model(), shared, gpu::launches(gpu::launch::cuda_graph)); }).what(),
      HasSubstr("the application's queue"));
  auto profiled = core.compile_model(steps_model(), "GPU", enable_profiling(true)).create_infer_request();
  EXPECT_THAT(answer(profiled, 2), Each(22.0f)) << "by default OpenCL runs it";
}

TEST_F(Gpu, WithoutATwinItsSettingIsRefused) {
  std::string why;
  if (gpu_device::find_gpu("")->use_twin(&why)) GTEST_SKIP() << "the device has one";
  const auto error =
      error_of([&] { core.compile_model(steps_model(), "GPU", gpu::launches(gpu::launch::cuda_graph)); });
  EXPECT_EQ(error.code(), Code::kUnimplemented);
  EXPECT_THAT(error.what(), HasSubstr(why));
  EXPECT_THAT(error.what(), HasSubstr("AUTO"));
}

TEST_F(Twin, MemoryOfRequestsIsGivenBack) {
  const auto gpu = gpu_device::find_gpu("");
  auto compiled = compile(steps_model());
  const auto run = [&] {
    auto request = compiled.create_infer_request();
    ASSERT_THAT(answer(request, 3), Each(23.0f));
  };
  run();
  const std::uint64_t held = gpu->held_bytes();
  for (int i = 0; i < 5; ++i) run();
  EXPECT_EQ(gpu->held_bytes(), held);
}

}  // namespace twin_test
}  // namespace tenon::gpu_testing
