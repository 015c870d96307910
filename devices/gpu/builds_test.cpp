// SPDX-License-Identifier: Apache-2.0
// Programs of kernels: how they are built, given up, and kept.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <tenon/devices/gpu/hardware.hpp>
#include <tenon/devices/gpu/program/warpgroups.hpp>
#include <tenon/devices/gpu/testing/gpu.hpp>
#include <tenon/graph/limits.hpp>
#include <tenon/graph/wanted.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace tenon::gpu_testing {
namespace builds_test {

TEST(Warpgroups, CommentsOfPtxAreOpened) {
  using gpu_device::open_warpgroups;
  const std::string head = ".version 8.0\n.target sm_90", code = "mov;\n/*sm_90a a; sm_90a*/\n/*sm_90a b; sm_90a*/ret;";
  EXPECT_TRUE(gpu_device::has_warpgroups(code));
  EXPECT_FALSE(gpu_device::has_warpgroups("mov; /* sm_90 */"));
  EXPECT_EQ(open_warpgroups(head + ", debug\n" + code + std::string(1, '\0')),
            ".version 8.0\n.target sm_90a, debug\nmov;\na;\nb;ret;");
  EXPECT_EQ(open_warpgroups(head + "a\n" + code), std::nullopt);
  EXPECT_EQ(open_warpgroups(".target sm_100\n" + code), std::nullopt);
  EXPECT_EQ(open_warpgroups(head + "\nret;"), std::nullopt);
  EXPECT_EQ(open_warpgroups(head + "\n/*sm_90a a;"), std::nullopt);
  EXPECT_EQ(open_warpgroups("a binary"), std::nullopt);
}

TEST_F(Gpu, ProgramsAreKeptInTheCacheFolder) {
  const auto folder = std::filesystem::temp_directory_path() / ("tenon_gpu_" + std::to_string(::getpid()));
  std::filesystem::remove_all(folder);
  {
    Core caching;
    caching.set_property(cache_dir(folder.string()));
    const auto model = fresh_model();
    for (const bool is_known : {false, true}) {
      const auto compiled = caching.compile_model(model, "GPU");
      EXPECT_EQ(compiled.get_property(loaded_from_cache), is_known);
      EXPECT_EQ(compiled.get_property(cache_dir), folder.string()) << "else a cached model's programs are built anew";
    }
  }
  std::size_t programs = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    programs += entry.path().extension() == ".cl_cache";
  EXPECT_GT(programs, 0u);
  std::filesystem::remove_all(folder);
}

/// Drivers read a program again for each new kernel object, which takes some of them a millisecond.
TEST_F(Gpu, RequestsTakeTheKernelsOfThoseBefore) {
  using opencl::client::Probe;
  auto compiled = core.compile_model(steps_model(), "GPU");
  auto first = compiled.create_infer_request();
  EXPECT_EQ(answer(first, 1).front(), 1.0F + kKernels);
  first = {};
  constexpr long kMany = 1000000;
  Probe::countdown = kMany;
  auto second = compiled.create_infer_request();
  const long calls = kMany - Probe::countdown.exchange(0);
  EXPECT_LT(calls, static_cast<long>(kKernels));
  EXPECT_EQ(answer(second, 2).front(), 2.0F + kKernels);
  // Requests that exist at the same time have kernels of their own.
  auto third = compiled.create_infer_request();
  EXPECT_EQ(answer(third, 3).front(), 3.0F + kKernels);
  EXPECT_EQ(answer(second, 4).front(), 4.0F + kKernels);
}

/// Entries are of the device: a model that was compiled in one context is loaded in another one, and without any.
TEST_F(Gpu, ContextsUseTheCacheOfTheirDevice) {
  const auto folder = std::filesystem::temp_directory_path() / ("tenon_gpu_contexts_" + std::to_string(::getpid()));
  std::filesystem::remove_all(folder);
  {
    const auto model = fresh_model();
    intel_gpu::ocl::ClContext first(core, app.context), second(core, app.queue), own(core);
    bool is_known = false;
    for (const RemoteContext& context : std::vector<RemoteContext>{first, second, own}) {
      auto compiled = core.compile_model(model, context, cache_dir(folder.string()));
      EXPECT_EQ(compiled.get_property(loaded_from_cache), is_known);
      EXPECT_EQ(compiled.get_context().get_params().at("OCL_CONTEXT").as<void*>(),
                context.get_params().at("OCL_CONTEXT").as<void*>());
      auto request = compiled.create_infer_request();
      EXPECT_FLOAT_EQ(answer(request, 0.5F).front(), std::sin(0.5F));
      is_known = true;
    }
    EXPECT_TRUE(
        core.compile_model(model, first.get_device_name(), cache_dir(folder.string())).get_property(loaded_from_cache));
    EXPECT_TRUE(core.compile_model(model, "GPU", cache_dir(folder.string())).get_property(loaded_from_cache));
  }
  std::filesystem::remove_all(folder);
}

/// Kernels of many texts, and so several programs; other texts each time.
std::shared_ptr<Model> model_of_many_kernels() {
  static int made = 0;
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{8});
  OutputVector outputs;
  for (int i = 0; i < 40; ++i) {
    const auto clamp = make_node("Clamp", 1, {x}, {{"min", -7.0 - 0.001 * ++made}, {"max", 7.0}}, "clamp");
    outputs.push_back(make_node("Sin", 1, {clamp}, {}, "sine")->output(0));
  }
  return std::make_shared<Model>(outputs, ParameterVector{x}, "many");
}

/// Threads of this process, at most, while it does something.
template <typename Body>
std::size_t most_threads(Body&& body) {
  std::atomic<bool> is_over{false};
  std::size_t most = 0;
  std::jthread counter([&] {
    while (!is_over) {
      const std::filesystem::directory_iterator all("/proc/self/task");
      most = std::max(most, static_cast<std::size_t>(std::distance(begin(all), end(all))));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  body();
  is_over = true;
  counter.join();
  return most;
}

TEST_F(Gpu, AsManyThreadsCompileAsAreAllowed) {
  core.compile_model(model_of_many_kernels(), "GPU");  // What the driver starts, it has started then.
  const auto threads = [&](std::int32_t allowed) {
    return most_threads([&] { core.compile_model(model_of_many_kernels(), "GPU", compilation_num_threads(allowed)); });
  };
  const std::size_t alone = threads(1);
  std::size_t several = 0;
  for (int i = 0; i < 10 && several <= alone; ++i)
    several = threads(3);  // On a busy machine the counter may miss them.
  EXPECT_GT(several, alone);
}

/// Counts programs that a library has made.
std::size_t programs_made() {
  const auto counts = gpu_device::find_gpu("")->library().counts();
  return counts.built + counts.loaded;
}

/// Eight of them are one program.
gpu_device::KernelLibrary::Texts texts_of(std::size_t count, const std::string& name) {
  gpu_device::KernelLibrary::Texts texts;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string each = name + "_" + std::to_string(i);
    texts.push_back(std::make_shared<const gpu_device::KernelText>(gpu_device::KernelText{
        "test", each, "__kernel void " + each + "(__global float* x) { x[0] = " + std::to_string(i) + "; }"}));
  }
  return texts;
}

TEST_F(Gpu, ABuildThatNobodyWantsStops) {
  auto& library = gpu_device::find_gpu("")->library();
  const auto texts = texts_of(40, "unwanted");
  for (const std::int32_t threads : {1, 3}) {
    const auto before = programs_made();
    std::atomic<int> looks{0};
    const CancellationScope scope([&] { return ++looks < 2; });
    EXPECT_EQ(error_of([&] { library.build(texts, {}, TimeLimit(0), threads); }).code(), Code::kCancelled);
    EXPECT_LE(looks, 1 + threads) << "of five programs";
    EXPECT_EQ(programs_made(), before);
  }
  EXPECT_EQ(library.build(texts, {}, TimeLimit(0)).size(), texts.size()) << "the next one is wanted";
}

TEST_F(Gpu, ProgramsAreBuiltWithinTheTime) {
  const TimeLimit limit(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  auto& library = gpu_device::find_gpu("")->library();
  const auto texts = texts_of(1, "late");
  EXPECT_EQ(error_of([&] { library.build(texts, {}, limit); }).code(), Code::kDeadlineExceeded);
  EXPECT_EQ(library.build(texts, {}, TimeLimit(0)).size(), 1u);
}

TEST_F(Gpu, OtherExtentsNeedNoOtherPrograms) {
  const auto weights = [](const Shape& shape) {
    return op::v0::Constant::create(element::f32, shape, std::vector<float>(element_count(shape), 0.5f));
  };
  const auto picture = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 8, 16, -1}),
             rows = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{-1, 32});
  using Ints = std::vector<std::int64_t>;
  const auto convolved = make_node("Convolution", 1, {picture, weights({8, 8, 3, 3})},
                                   {{"strides", Ints{1, 1}},
                                    {"pads_begin", Ints{1, 1}},
                                    {"pads_end", Ints{1, 1}},
                                    {"dilations", Ints{1, 1}},
                                    {"auto_pad", std::string("explicit")}},
                                   "convolution");
  const auto product =
      make_node("MatMul", 1, {rows, weights({32, 64})}, {{"transpose_a", false}, {"transpose_b", false}}, "product");
  const auto model = std::make_shared<Model>(OutputVector{convolved, product}, ParameterVector{picture, rows}, "sizes");
  auto request = core.compile_model(model, "GPU", hint::inference_precision(element::f32)).create_infer_request();
  const auto infer = [&](std::size_t columns, std::size_t count) {
    request.set_input_tensor(0, Tensor(element::f32, {1, 8, 16, columns}));
    request.set_input_tensor(1, Tensor(element::f32, {count, 32}));
    request.infer();
  };
  for (const auto& [columns, count] : {std::pair(16, 1), {24, 3}, {28, 7}, {40, 14}, {40, 28}}) infer(columns, count);
  const auto before = programs_made();
  for (std::size_t i = 0; i < 40; ++i) infer(17 + i, 8 + i);
  EXPECT_EQ(programs_made(), before);
}

TEST_F(Gpu, ACompilationThatNobodyWantsStops) {
  const CancellationScope scope([] { return false; });
  EXPECT_EQ(error_of([&] { core.compile_model(line_model(), "GPU"); }).code(), Code::kCancelled);
}

TEST_F(Gpu, CancellingAnInferenceStopsTheBuildThatItWaitsFor) {
  // Texts that no driver has cached.
  const double seed = static_cast<double>(::getpid() % 30000) * 1e-5;
  int first = 0;
  const auto is_cancelled = [&](int count, int threads, std::chrono::milliseconds after) {
    const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{-1});
    x->output(0).set_names({"x"});
    OutputVector outputs;
    for (int i = first; i < first + count; ++i) {
      const auto clamp = make_node("Clamp", 1, {x}, {{"min", -9.0 - seed - i}, {"max", 7.0}}, "clamp");
      outputs.push_back(make_node("Sin", 1, {clamp}, {}, "sine")->output(0));
    }
    auto compiled = core.compile_model(std::make_shared<Model>(outputs, ParameterVector{x}, "open"), "GPU",
                                       compilation_num_threads(threads));
    auto request = compiled.create_infer_request();
    request.set_tensor("x", Tensor(element::f32, Shape{8}));
    std::exception_ptr failure;
    std::atomic<bool> is_over{false};
    std::jthread runs([&] {
      try {
        request.infer();
      } catch (...) {
        failure = std::current_exception();
      }
      is_over = true;
    });
    std::this_thread::sleep_for(after);
    while (!is_over) {
      request.cancel();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    runs.join();
    first += count;
    if (!failure) return false;
    EXPECT_THROW(std::rethrow_exception(failure), Cancelled);
    return true;
  };
  // On a busy machine a build may have ended before it is cancelled: then others.
  bool in_time = false;
  for (int i = 0; i < 3 && !in_time; ++i) {
    const auto before = programs_made();
    in_time = is_cancelled(400, 2, std::chrono::milliseconds(100));  // It builds for seconds.
    EXPECT_TRUE(!in_time || programs_made() == before);
  }
  EXPECT_TRUE(in_time);
  in_time = false;
  // All programs are begun at once, and built to their end.
  for (int i = 0; i < 10 && !in_time; ++i) in_time = is_cancelled(40, 64, std::chrono::milliseconds(20));
  EXPECT_TRUE(in_time);
}

}  // namespace builds_test
}  // namespace tenon::gpu_testing
