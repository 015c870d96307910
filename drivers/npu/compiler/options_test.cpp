// SPDX-License-Identifier: Apache-2.0
// Options have their documented effects: more tiles more workers, higher levels other plans; blobs store the settings.
#include <algorithm>
#include <chrono>

#include <gmock/gmock.h>

#include <tenon/core/error.hpp>
#include <tenon/drivers/npu/testing/compiled.hpp>

namespace tenon::npu::compiler {
namespace options_test {

using ::testing::HasSubstr;

Options options_of(const std::string& config) { return parse_build_flags(("--config " + config).c_str()).options; }
Target target_of(const std::string& config, std::uint32_t platform = 4000) {
  return resolve(options_of(config), *find_npu_platform(platform));
}

/// Convolution, bias, Relu: something to fuse.
std::shared_ptr<Model> conv_model() {
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 16, 12, 12});
  x->set_friendly_name("x");
  const auto constant = [](const Shape& shape, double value) {
    return std::make_shared<op::v0::Constant>(element::f32, shape, std::vector<double>{value})->output(0);
  };
  Output<Node> value = x->output(0);
  for (int i = 0; i < 3; ++i) {
    const std::vector<std::int64_t> one{1, 1};
    auto conv =
        std::make_shared<op::v1::Convolution>(value, constant({16, 16, 3, 3}, 0.01 * (i + 1)), one, one, one, one);
    auto sum = std::make_shared<op::v1::Add>(conv->output(0), constant({1, 16, 1, 1}, 0.5));
    value = std::make_shared<op::v0::Relu>(sum->output(0))->output(0);
  }
  return std::make_shared<Model>(OutputVector{value}, ParameterVector{x}, "conv");
}

std::string log_of(const Bytes& ir, const std::string& config) {
  return compile(request_for(ir, ("--config LOG_LEVEL=\"LOG_INFO\" " + config).c_str()), nullptr).log;
}

TEST(Tiles, FollowHintAndPlatformAsDocumented) {
  EXPECT_EQ(target_of("PERFORMANCE_HINT=\"THROUGHPUT\"").tiles, 2);
  EXPECT_EQ(target_of("PERFORMANCE_HINT=\"LATENCY\"").tiles, 4);
  EXPECT_EQ(target_of("PERFORMANCE_HINT=\"THROUGHPUT\"", 3720).tiles, 2);
  EXPECT_EQ(target_of("PERFORMANCE_HINT=\"LATENCY\"", 3720).tiles, 2);
  EXPECT_EQ(target_of("", 4000).dma_engines, 2);
}

TEST(Tiles, HintOverrideTakesThemAllForLatencyOnly) {
  const std::string all = " NPU_COMPILATION_MODE_PARAMS=\"performance-hint-override=latency\"";
  EXPECT_EQ(target_of("PERFORMANCE_HINT=\"LATENCY\"" + all).tiles, 6);
  EXPECT_EQ(target_of("PERFORMANCE_HINT=\"THROUGHPUT\"" + all).tiles, 2);
}

TEST(Tiles, AreBoundedByMaxTilesAndOffDeviceByWhatIsSaid) {
  EXPECT_EQ(target_of("NPU_TILES=\"6\"").tiles, 6);
  EXPECT_THROW(target_of("NPU_TILES=\"7\""), Error);
  EXPECT_EQ(target_of("NPU_TILES=\"7\" NPU_MAX_TILES=\"8\"").tiles, 7);
  EXPECT_EQ(target_of("NPU_MAX_TILES=\"1\" PERFORMANCE_HINT=\"LATENCY\"").tiles, 1);
  EXPECT_EQ(target_of("NPU_PLATFORM=\"3720\"").platform.number, 3720u);
}

TEST(Tiles, BoundWorkersAndTurboLendsTheRest) {
  EXPECT_EQ(target_of("NPU_TILES=\"1\"").workers(), 1);
  const int cpus = engine::Workers::available_cpus();
  // A third of the device's tiles, so a third of its threads, which are fewer on few CPUs.
  EXPECT_EQ(target_of("NPU_TILES=\"2\"").workers(), cpus <= 3 ? 1 : 2);
  EXPECT_EQ(target_of("NPU_TILES=\"1\" NPU_TURBO=\"YES\"").workers(), std::min(6, cpus));
  const auto program = program_of(*small_model(), "--config NPU_TILES=\"1\"");
  EXPECT_EQ(program->settings().engine_options().threads, 1);
}

TEST(LogLevel, EachSaysMoreThanTheOneBefore) {
  const auto log = [ir = in_memory(*conv_model())](const std::string& level) {
    return compile(request_for(ir, ("--config LOG_LEVEL=\"" + level + "\"").c_str()), nullptr).log;
  };
  const std::string info = log("LOG_INFO"), debug = log("LOG_DEBUG"), trace = log("LOG_TRACE");
  EXPECT_THAT(info, ::testing::Not(HasSubstr("platform 4000: ")));
  EXPECT_THAT(debug, ::testing::AllOf(HasSubstr("platform 4000: "), HasSubstr("input x: f32[1,16,12,12]"),
                                      ::testing::Not(HasSubstr("layer "))));
  EXPECT_THAT(trace, ::testing::AllOf(HasSubstr("platform 4000: "), HasSubstr("layer "), HasSubstr("Convolution")));
}

TEST(OptimizationLevel, SelectsThePasses) {
  const Bytes ir = in_memory(*conv_model());
  const std::string zero = log_of(ir, "NPU_COMPILATION_MODE_PARAMS=\"optimization-level=0\""), one = log_of(ir, ""),
                    two = log_of(ir, "NPU_COMPILATION_MODE_PARAMS=\"optimization-level=2\"");
  const auto lines = [](const std::string& text) { return std::count(text.begin(), text.end(), '\n'); };
  EXPECT_GT(lines(zero), lines(one)) << zero << one;
  EXPECT_THAT(two, HasSubstr("level 2: "));
  EXPECT_THAT(one, HasSubstr("optimization level 1"));
}

TEST(OptimizationLevel, ComputesTheSame) {
  const auto model = conv_model();
  const Tensor x = random_tensor(ElementType::kF32, {1, 16, 12, 12});
  const auto expected = evaluate(*model, {x});
  for (const char* level : {"0", "1", "2"}) {
    const auto program = program_of(
        *model, (std::string("--config NPU_COMPILATION_MODE_PARAMS=\"optimization-level=") + level + "\"").c_str());
    ProgramRun run(program);
    const auto outputs = run_once(run, *program, {x});
    for (std::size_t i = 0; i < expected[0].element_count(); ++i)
      ASSERT_NEAR(outputs[0].data<float>()[i], expected[0].data<float>()[i], 1e-3) << level << " " << i;
  }
}

std::string params(const std::string& text) { return "NPU_COMPILATION_MODE_PARAMS=\"" + text + "\""; }

TEST(ModeParams, ThatClientsSendAreTaken) {
  // Used by OpenVINO's NPUW and GenAI, ONNX Runtime's provider and LiteRT, or passed on from users.
  for (const char* text :
       {"compute-layers-with-higher-precision=Sqrt,Power,ReduceMean,Add_RMSNorm", "optimization-level=3",
        "compute-layers-with-higher-precision=MVN", "compute-layers-with-higher-precision=Sqrt,Power,ReduceMean,Add",
        "compute-layers-with-higher-precision=Convolution,FullyConnected", "enable-activation-sparsity=true",
        "enable-wd-blockarg-input=true compute-layers-with-higher-precision=Sqrt,Power,ReduceSum",
        "write-strategy-to-json=true dpu-profiling=true dma-profiling=true sw-profiling=true "
        "enable-schedule-trace=true",
        "write-strategy-to-json", "enable-se-ptrs-operations=1 wlm-rollback=false",
        "function-outlining='repeating-blocks=min-ops-in-block=16 max-num-iterations=30,naive=num-parts=2' "
        "optimization-level=2",
        "debatching-extra-args={a=1 {b}} optimization-level=2", "  weights-sparsity-threshold=-1.0  ", ""}) {
    const Options options = options_of(params(text));
    EXPECT_TRUE(options.warnings.empty()) << text << ": " << options.warnings.front();
    EXPECT_TRUE(is_option_supported("NPU_COMPILATION_MODE_PARAMS", text)) << text;
  }
  EXPECT_EQ(options_of(params("debatching-extra-args={a=1 {b}} optimization-level=2")).optimization_level, 2);
  EXPECT_EQ(options_of(params("debatching-extra-args={a=1 {b}}")).idle_params,
            std::vector<std::string>{"debatching-extra-args=a=1 {b}"});
}

TEST(ModeParams, WithAnEffectHaveIt) {
  EXPECT_EQ(target_of(params("num-of-dpu-groups=3 num-of-dma-ports=1")).tiles, 3);
  EXPECT_EQ(target_of(params("num-of-dpu-groups=3 num-of-dma-ports=1")).dma_engines, 1);
  EXPECT_TRUE(program_of(*small_model(), ("--config " + params("profiling=true")).c_str())->settings().profiling);
  const std::string bf16 = "--config INFERENCE_PRECISION_HINT=\"bf16\" ";
  EXPECT_EQ(program_of(*conv_model(), (bf16 + params("convert-precision-to-fp16=false")).c_str())->settings().precision,
            ElementType::kF32);
  const Bytes ir = in_memory(*conv_model());
  EXPECT_THAT(log_of(ir, params("optimization-level=3")), HasSubstr("level 2: ")) << "as level 2";
}

TEST(ModeParams, WithoutOneAreNamedInTheLogAndUnknownOnesAreWarnings) {
  const Bytes ir = in_memory(*small_model());
  EXPECT_THAT(log_of(ir, params("enable-weights-sparsity=false")),
              HasSubstr("without effect here: enable-weights-sparsity=false"));
  const std::string unknown = "--config " + params("enable-magic=7 optimization-level=0");
  const Compiled compiled = compile(request_for(ir, unknown.c_str()), nullptr);
  EXPECT_THAT(compiled.log, HasSubstr("warning: "));
  EXPECT_THAT(compiled.log, HasSubstr("enable-magic"));
  EXPECT_EQ(compiled.program->settings().optimization_level, 0) << "what follows is read";
  EXPECT_TRUE(is_option_supported("NPU_COMPILATION_MODE_PARAMS", "enable-magic=7"));
  EXPECT_FALSE(is_option_supported("NPU_COMPILATION_MODE_PARAMS", "optimization-level=7"));
  EXPECT_THAT(log_of(ir, params("compute-layers-with-higher-precision=Relu,Rleu")), HasSubstr("\"Rleu\""));
}

/// A product, exact in bf16, then sums that are not: sqrt(relu(x W) + a + b) v.
std::shared_ptr<Model> cancelling_model(double a, double b) {
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 2});
  const auto constant = [](const Shape& shape, const std::vector<double>& values) {
    return std::make_shared<op::v0::Constant>(element::f32, shape, values)->output(0);
  };
  auto product = std::make_shared<op::v0::MatMul>(x->output(0), constant({2, 2}, {1, 1, 1, 1}));
  auto relu = std::make_shared<op::v0::Relu>(product->output(0));
  auto first = std::make_shared<op::v1::Add>(relu->output(0), constant({1, 2}, {a, a}));
  auto second = std::make_shared<op::v1::Add>(first->output(0), constant({1, 2}, {b, b}));
  auto root = std::make_shared<op::v0::Sqrt>(second->output(0));
  auto result = std::make_shared<op::v0::MatMul>(root->output(0), constant({2, 2}, {1, 0, 0, 1}));
  return std::make_shared<Model>(OutputVector{result->output(0)}, ParameterVector{x}, "cancelling");
}

TEST(PreciseLayers, ComputeInF32WhereTheRestIsRounded) {
  if (!engine::has_native_bf16()) GTEST_SKIP() << "this CPU does not multiply bf16: all is f32";
  Tensor x(ElementType::kF32, {1, 2});
  x.data<float>()[0] = 1000;  // Exact in bf16; 1000.25 is not, and becomes 1000.
  x.data<float>()[1] = 0;
  const auto result_with = [&](const std::string& config) {
    const auto program =
        program_of(*cancelling_model(0.25, -1000), ("--config INFERENCE_PRECISION_HINT=\"bf16\" " + config).c_str());
    EXPECT_EQ(program->settings().precision, ElementType::kBf16);
    ProgramRun run(program);
    return run_once(run, *program, {x})[0].data<float>()[0];
  };
  const std::string names = "compute-layers-with-higher-precision=", plain = "optimization-level=0 ";
  EXPECT_EQ(result_with(params(plain)), 0.f) << "or the test shows nothing";
  EXPECT_EQ(result_with(params(plain + names + "Add_RMSNorm")), 0.f) << "this is no norm";
  for (const std::string& level : {plain, std::string("optimization-level=1 ")}) {
    EXPECT_EQ(result_with(params(level + names + "Add,Sqrt")), 0.5f) << level;
    EXPECT_EQ(result_with(params(level + names + "ADD")), 0.5f) << level;
    EXPECT_EQ(result_with(params(level + names + "FullyConnected")), 0.5f) << "all that lies between is f32 then";
  }
}

TEST(CompilationMode, ReferenceKernelsRunWhenAsked) {
  const auto program = program_of(*conv_model(), "--config NPU_COMPILATION_MODE=\"ReferenceSW\"");
  program->load();
  const auto plan = program->variant_for({})->plan;
  EXPECT_EQ(plan->reference_step_count(), plan->steps().size());
}

TEST(Precision, IsWhatTheHintSays) {
  const Bytes ir = in_memory(*conv_model());
  EXPECT_EQ(program_of(ir, "--config INFERENCE_PRECISION_HINT=\"f32\"")->settings().precision, ElementType::kF32);
  const auto native = engine::has_native_bf16() ? ElementType::kBf16 : ElementType::kF32;
  EXPECT_EQ(program_of(ir, "--config INFERENCE_PRECISION_HINT=\"bf16\"")->settings().precision, native);
  EXPECT_EQ(program_of(ir, "--config INFERENCE_PRECISION_HINT=\"bf16\" EXECUTION_MODE_HINT=\"ACCURACY\"")
                ->settings()
                .precision,
            ElementType::kF32);
}

TEST(Strides, AreOfferedForArgumentsThatTheClientNames) {
  const auto model = small_model();
  EXPECT_FALSE(program_of(*model)->arguments()[0].reads_strides);
  const auto program = program_of(*model, "--config NPU_ENABLE_STRIDES_FOR=\"x,y_tensor\"");
  EXPECT_TRUE(program->arguments()[0].reads_strides);
  EXPECT_TRUE(program->arguments()[1].reads_strides);
}

TEST(Options, ListAndQueriesAgree) {
  for (const std::string& name : supported_options()) EXPECT_TRUE(is_option_supported(name, std::nullopt)) << name;
  EXPECT_FALSE(is_option_supported("NO_SUCH", std::nullopt));
  EXPECT_TRUE(is_option_supported("NPU_TURBO", "YES"));
  EXPECT_FALSE(is_option_supported("NPU_TURBO", "SOMETIMES"));
}

}  // namespace options_test
}  // namespace tenon::npu::compiler
