// SPDX-License-Identifier: Apache-2.0
// What is measured is taken, kept, bounded in time, and doubted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <tenon/devices/gpu/hardware.hpp>
#include <tenon/devices/gpu/lower/lower.hpp>
#include <tenon/devices/gpu/public/properties.hpp>
#include <tenon/devices/gpu/testing/gpu.hpp>
#include <tenon/devices/gpu/tuner.hpp>
#include <tenon/graph/wanted.hpp>
#include <tenon/store/testing/reseal.hpp>
#include <tenon/tests/support/temporary_folder.hpp>

namespace tenon::gpu_testing {
namespace tuner_test {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// Time for all that these tests measure.
constexpr std::uint32_t kLong = 600'000;

Output<Node> convolution(const Output<Node>& x, std::size_t in, std::size_t out) {
  std::vector<float> values(out * in * 9);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 13) / 50.0f - 0.1f;
  using Ints = std::vector<std::int64_t>;
  return make_node(
             "Convolution", 1, {x, op::v0::Constant::create(element::f32, Shape{out, in, 3, 3}, values)},
             {{"strides", Ints{1, 1}}, {"pads_begin", Ints{1, 1}}, {"pads_end", Ints{1, 1}}, {"dilations", Ints{1, 1}}},
             "")
      ->output(0);
}

/// Three convolutions, of which two are the same problem. @param wide  The first one's width: a problem that no other model has.
std::shared_ptr<Model> model_of(std::size_t wide) {
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape(Shape{1, 16, 12, wide}));
  x->output(0).set_names({"x"});
  Output<Node> y = convolution(x, 16, 32);
  y = make_node("Relu", 1, {y}, {}, "")->output(0);
  y = convolution(convolution(y, 32, 32), 32, 32);
  y.get_node()->output(0).set_names({"y"});
  return std::make_shared<Model>(OutputVector{y}, ParameterVector{x}, "tuned");
}

std::string report_of(CompiledModel& model) { return model.get_property(tenon::gpu::tuning_report); }

std::vector<float> answer(CompiledModel& model) {
  auto request = model.create_infer_request();
  Tensor x = request.get_tensor("x");
  for (std::size_t i = 0; i < x.element_count(); ++i) x.data<float>()[i] = std::sin(static_cast<float>(i));
  request.infer();
  const Tensor y = request.get_tensor("y");
  return {y.data<float>(), y.data<float>() + y.element_count()};
}

std::vector<fs::path> tables_in(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".cl_tuning") found.push_back(entry.path());
  return found;
}

/// f32, so that every device has the same tolerance.
AnyMap settings(std::uint32_t time_ms, const fs::path& folder = {}) {
  AnyMap all{tenon::gpu::tuning_ms(time_ms), hint::inference_precision(element::f32)};
  if (!folder.empty()) all.insert(cache_dir(folder.string()));
  return all;
}

class GpuTuner : public Gpu {
 protected:
  void SetUp() override {
    Gpu::SetUp();
    gpu_device::Tuner::forget();
  }
  CompiledModel compile(std::size_t wide, const AnyMap& properties) {
    return core.compile_model(model_of(wide), "GPU", properties);
  }
  TemporaryFolder folder;
};

TEST_F(GpuTuner, IsOffUnlessItGetsTime) {
  auto model = core.compile_model(model_of(9), "GPU");
  EXPECT_EQ(report_of(model), "");
  EXPECT_EQ(model.get_property(tenon::gpu::tuning_ms), 0u);
}

TEST_F(GpuTuner, WhatIsMeasuredServesTheNextModelAndTheNextProcess) {
  auto plain = compile(10, settings(0));
  auto first = compile(10, settings(kLong, folder.path()));
  EXPECT_THAT(report_of(first), StartsWith("2 problems: 0 known, 2 measured in"));
  ASSERT_EQ(tables_in(folder.path()).size(), 1u);
  auto second = compile(10, settings(kLong));
  EXPECT_THAT(report_of(second), StartsWith("2 problems: 2 known, 0 measured")) << "this process knows";
  gpu_device::Tuner::forget();
  const auto built = gpu_device::find_gpu("")->library().counts().built;
  auto third = compile(10, settings(kLong, folder.path()));
  EXPECT_THAT(report_of(third), StartsWith("2 problems: 2 known, 0 measured")) << "the folder knows";
  EXPECT_EQ(gpu_device::find_gpu("")->library().counts().built, built) << "the same kernels";
  const auto wanted = answer(plain);
  EXPECT_THAT(answer(first), ::testing::Pointwise(::testing::FloatNear(1e-3f), wanted));
  EXPECT_EQ(answer(first), answer(third));
}

TEST_F(GpuTuner, AModelFromTheCacheFindsTheTable) {
  Core caching;
  caching.set_property(cache_dir(folder.path().string()));
  caching.compile_model(model_of(11), "GPU", settings(kLong));
  gpu_device::Tuner::forget();
  auto loaded = caching.compile_model(model_of(11), "GPU", settings(kLong));
  EXPECT_TRUE(loaded.get_property(loaded_from_cache));
  EXPECT_THAT(report_of(loaded), StartsWith("2 problems: 2 known, 0 measured"));
}

TEST_F(GpuTuner, AKnownChoiceIsTheKernelThatRuns) {
  const auto gpu = gpu_device::find_gpu("");
  const auto model = gpu_device::run_passes(*model_of(12), TimeLimit(0), true, gpu->target());
  gpu_device::PackedWeights weights;
  const auto lowered = [&](const gpu_device::Choices& known, std::vector<gpu_device::Trial>* trials) {
    return gpu_device::lower_model(*model, gpu->target(), weights, true, {}, TimeLimit(0),
                                   {.known = &known, .trials = trials});
  };
  std::vector<gpu_device::Trial> trials;
  const auto by_rules = lowered({}, &trials);
  ASSERT_EQ(trials.size(), 2u);
  EXPECT_EQ(trials[0].uses + trials[1].uses, 3u);
  gpu_device::Choices known;
  for (const auto& trial : trials) known[trial.problem] = trial.names.back();
  const auto texts_of = [](const gpu_device::LaunchPlan& plan) {
    std::vector<std::string> texts;
    for (const auto& launch : plan.launches) texts.push_back(launch->kernel->text);
    return texts;
  };
  const auto texts = texts_of(lowered(known, nullptr));
  for (const auto& trial : trials) {
    EXPECT_THAT(texts, ::testing::Contains(trial.launches.back().kernel->text));
    EXPECT_THAT(texts_of(by_rules), ::testing::Contains(trial.launches.front().kernel->text));
  }
  for (const auto& trial : trials) known[trial.problem] = "a way that no lowering offers";
  EXPECT_EQ(texts_of(lowered(known, nullptr)), texts_of(by_rules));
}

TEST_F(GpuTuner, TheBoundHolds) {
  auto model = compile(13, settings(1, folder.path()));
  EXPECT_THAT(report_of(model),
              ::testing::AllOf(StartsWith("2 problems: 0 known, 0 measured"), HasSubstr("2 left to the rules")));
  EXPECT_TRUE(tables_in(folder.path()).empty()) << "nothing was found";
  auto plain = compile(13, settings(0));
  EXPECT_EQ(answer(model), answer(plain)) << "the rules' kernels";
}

TEST_F(GpuTuner, ACompilationThatIsNotWantedAnyMoreStopsMeasuring) {
  const auto known = [] { return gpu_device::Tuner(gpu_device::find_gpu(""), {}).choices().size(); };
  {
    const CancellationScope scope([&] { return known() == 0; });
    try {
      compile(15, settings(kLong, folder.path()));
      FAIL() << "it measured on";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kCancelled) << error.what();
      EXPECT_THAT(error.what(), HasSubstr("to measure it"));
    }
  }
  EXPECT_EQ(known(), 1u);
  auto model = compile(15, settings(kLong, folder.path()));
  EXPECT_THAT(report_of(model), StartsWith("2 problems: 1 known, 1 measured")) << "what was finished is remembered";
}

TEST_F(GpuTuner, ADamagedOrForeignTableIsIgnoredAndSaid) {
  compile(14, settings(kLong, folder.path()));
  const fs::path table = tables_in(folder.path()).at(0);
  const auto bytes = [&] {
    std::ifstream file(table, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }();
  const auto expect_ignored = [&](const std::string& written, const char* why) {
    std::ofstream(table, std::ios::binary) << written;
    gpu_device::Tuner::forget();
    auto model = compile(14, settings(kLong, folder.path()));
    EXPECT_THAT(report_of(model), ::testing::AllOf(StartsWith("2 problems: 0 known, 2 measured"),
                                                   HasSubstr("is ignored"), HasSubstr(why)));
  };
  std::string changed = bytes;
  changed.back() ^= 1;
  expect_ignored(changed, "damaged");
  expect_ignored(bytes.substr(0, bytes.size() / 2), "damaged");
  // A header is 40 bytes, the key, and its own hash.
  constexpr std::size_t kKey = 40, kHeader = kKey + 16 + 16;
  std::string foreign = bytes;
  foreign[kKey] ^= 1;
  store::reseal(foreign, kHeader);
  expect_ignored(foreign, "the key of something else");
  gpu_device::Tuner::forget();
  auto model = compile(14, settings(kLong, folder.path()));
  EXPECT_THAT(report_of(model), ::testing::AllOf(StartsWith("2 problems: 2 known"), Not(HasSubstr("ignored"))))
      << "what was damaged has been replaced";
}

}  // namespace tuner_test
}  // namespace tenon::gpu_testing
