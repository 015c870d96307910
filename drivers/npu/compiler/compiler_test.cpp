// SPDX-License-Identifier: Apache-2.0
// The compiler: the client's input, flags, ports, and agreement of programs with the reference.
#include <tenon/drivers/npu/testing/compiled.hpp>

#include <gmock/gmock.h>

#include <tenon/core/error.hpp>
#include <tenon/drivers/npu/compiler/in_memory_ir.hpp>
#include <tenon/tests/oracle/agreement.hpp>
#include <tenon/tests/oracle/npy.hpp>

namespace tenon::npu::compiler {
namespace compiler_test {

using ::testing::HasSubstr;

template <typename Body>
std::string error_of(Body body, Code code) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

/// @param weights  The tensor that the model points to.
Bytes by_pointer(const Model& model, Tensor* weights = nullptr) {
  SerializedModel serialized = serialize(model);
  std::string xml = serialized.xml;
  // Like the client's serialiser: each constant has the address of its bytes in this process.
  static std::vector<Tensor> kept;
  kept.push_back(serialized.weights);
  if (weights) *weights = serialized.weights;
  const auto* base = static_cast<const char*>(serialized.weights.data());
  for (std::size_t at = 0; (at = xml.find("type=\"Const\"", at)) != std::string::npos; ++at) {
    const auto number = [&](const char* key) {
      const std::size_t found = xml.find(std::string(" ") + key + "=\"", at);
      return std::strtoull(xml.c_str() + found + std::strlen(key) + 3, nullptr, 10);
    };
    const auto offset = number("offset"), size = number("size");
    const std::size_t output = xml.find("<output>", at);
    xml.insert(output, "<rt_info><attribute name=\"WeightsPointerAttribute\" version=\"0\" mp=\"" +
                           std::to_string(reinterpret_cast<std::uintptr_t>(base + offset)) + "\" ms=\"" +
                           std::to_string(size) + "\"/></rt_info>");
  }
  Bytes bytes;
  const std::uint64_t header = 6 * sizeof(std::uint64_t);
  for (const std::uint64_t number : {header, std::uint64_t{4}, header + 4, std::uint64_t{0}, header + 4, xml.size()})
    append(bytes, number);
  append(bytes, std::uint16_t{7});
  append(bytes, std::uint16_t{28});
  bytes.insert(bytes.end(), xml.begin(), xml.end());
  return bytes;
}

TEST(InMemoryIr, BothFormsGiveOneModel) {
  const auto model = small_model();
  const Tensor x = random_tensor(ElementType::kF32, {1, 4});
  const auto expected = evaluate(*model, {x});
  for (const Bytes& bytes : {in_memory(*model), by_pointer(*model)}) {
    const auto program = program_of(bytes);
    ProgramRun run(program);
    const auto outputs = run_once(run, *program, {x});
    EXPECT_EQ(std::memcmp(outputs[0].data(), expected[0].data(), 16), 0);
  }
}

TEST(InMemoryIr, RefusesEveryTruncation) {
  for (const Bytes& whole : {in_memory(*small_model()), by_pointer(*small_model())}) {
    // Cut after the weights' size, the XML is complete and weights are missing.
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const Bytes part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_THROW(compile(request_for(part), nullptr), Error) << size;
    }
  }
}

TEST(InMemoryIr, RefusesAnAddressThatIsNoMemory) {
  Bytes bytes = by_pointer(*small_model());
  std::string text(bytes.begin(), bytes.end());
  const std::size_t at = text.find(" mp=\"") + 5;
  text.replace(at, text.find('"', at) - at, std::string(text.find('"', at) - at, '1'));
  bytes.assign(text.begin(), text.end());
  const std::string message = error_of([&] { compile(request_for(bytes), nullptr); }, Code::kInvalidArgument);
  EXPECT_THAT(message, HasSubstr("cannot read"));
}

TEST(InMemoryIr, HashKnowsWeightsBehindPointersAndNotTheirAddress) {
  const auto model = small_model();
  Tensor weights;
  const Bytes first = by_pointer(*model), again = by_pointer(*model, &weights);
  EXPECT_NE(first, again) << "the same weights elsewhere";
  const store::ContentHash hash = hash_of(parse_in_memory_ir(first));
  EXPECT_EQ(hash, hash_of(parse_in_memory_ir(again)));
  static_cast<std::uint8_t*>(weights.data())[weights.size_bytes() - 1] ^= 1;
  EXPECT_NE(hash, hash_of(parse_in_memory_ir(again))) << "other weights at the same place";
}

TEST(BuildFlags, TakesWhatClientsSend) {
  const BuildFlags flags = parse_build_flags(
      "--inputs_precisions=\"0:FP16 in:1:U8\" --inputs_layouts=\"0:NCHW 1:**SCALAR**\" --outputs_precisions=\"0:FP32\" "
      "--outputs_layouts=\"0:NC\" --config NPU_PLATFORM=\"3720\" PERFORMANCE_HINT=\"LATENCY\" "
      "NPU_COMPILATION_MODE_PARAMS=\"optimization-level=2 performance-hint-override=latency\"");
  ASSERT_EQ(flags.input_types.size(), 2u);
  EXPECT_EQ(flags.input_types[0], (std::pair<std::string, ElementType>("0", ElementType::kF16)));
  EXPECT_EQ(flags.input_types[1], (std::pair<std::string, ElementType>("in:1", ElementType::kU8)));
  EXPECT_EQ(flags.output_layouts[0].second, "NC");
  EXPECT_EQ(flags.options.platform, 3720u);
  EXPECT_EQ(flags.options.hint, Hint::kLatency);
  EXPECT_EQ(flags.options.optimization_level, 2);
  EXPECT_TRUE(flags.options.prefers_latency);
}

TEST(BuildFlags, ReadsPrecisionsAndLayoutsInEitherCase) {
  const BuildFlags flags = parse_build_flags(
      "--inputs_precisions=\"A:fp16 data:u8\" --inputs_layouts=\"A:nchw data:**scalar**\" "
      "--outputs_precisions=\"0:Fp32\"");
  ASSERT_EQ(flags.input_types.size(), 2u);
  EXPECT_EQ(flags.input_types[0], (std::pair<std::string, ElementType>("A", ElementType::kF16)));
  EXPECT_EQ(flags.input_types[1], (std::pair<std::string, ElementType>("data", ElementType::kU8)));
  EXPECT_EQ(flags.input_layouts[0].second, "NCHW");
  EXPECT_EQ(flags.input_layouts[1].second, "**SCALAR**");
  EXPECT_EQ(flags.output_types[0].second, ElementType::kF32);
}

TEST(BuildFlags, TakesTheClientsOwnOptionsWithoutEffect) {
  // OpenVINO 2024.4 to 2025.1 passes these on.
  const std::string own = "CACHE_DIR=\"\" ENABLE_CPU_PINNING=\"NO\" EXCLUSIVE_ASYNC_REQUESTS=\"YES\" NUM_STREAMS=\"1\"";
  EXPECT_EQ(parse_build_flags(("--config PERF_COUNT=\"YES\" " + own).c_str()).options.profiling, true);
  EXPECT_FALSE(is_option_supported("CACHE_DIR", std::nullopt)) << "the compiler offers none of them";
}

TEST(BuildFlags, RefusesWhatIsMalformedAndNamesIt) {
  EXPECT_THAT(error_of([] { parse_build_flags("--config NO_SUCH=\"1\""); }, Code::kUnimplemented),
              HasSubstr("NO_SUCH"));
  for (const char* text :
       {"--inputs_precisions=\"0:FP33\"", "--inputs_precisions=\"0\"", "--inputs_layouts=\"0:WXYZ\"", "--what=\"1\"",
        "--inputs_precisions=\"0:FP32", "nonsense", "--config PERF_COUNT=\"MAYBE\"", "PERF_COUNT=\"YES\"",
        "--config NPU_COMPILATION_MODE_PARAMS=\"optimization-level=4\"",
        "--config NPU_COMPILATION_MODE_PARAMS=\"optimization-level\"",
        "--config NPU_COMPILATION_MODE_PARAMS=\"enable-weights-sparsity=maybe\"",
        "--config NPU_COMPILATION_MODE_PARAMS=\"performance-hint-override=none\"",
        "--config NPU_COMPILATION_MODE_PARAMS=\"=3\"", "--config NPU_COMPILATION_MODE_PARAMS=\"what={a {b}\"",
        "--config NPU_COMPILATION_MODE_PARAMS=\"what='a b\"", "--config NPU_COMPILATION_MODE_PARAMS=\"what={a}b\"",
        "--config NPU_TILES=\"two\"", "--config =\"1\""})
    error_of([&] { parse_build_flags(text); }, Code::kInvalidArgument);
}

TEST(BuildFlags, TypesAndLayoutsChangeThePorts) {
  const auto program = program_of(*small_model(PartialShape{1, 2, 3, 4}),
                                  "--inputs_precisions=\"0:U8\" --inputs_layouts=\"0:NHWC\" "
                                  "--outputs_precisions=\"relu:FP16\" --outputs_layouts=\"0:NHWC\"");
  const Argument& input = program->arguments()[0];
  EXPECT_EQ(input.type, ElementType::kU8);
  EXPECT_EQ(input.network_type, ElementType::kF32);
  EXPECT_EQ(input.max_shape(), (Shape{1, 3, 4, 2}));
  EXPECT_EQ(program->arguments()[1].type, ElementType::kF16);
  EXPECT_EQ(program->arguments()[1].max_shape(), (Shape{1, 3, 4, 2}));
  ProgramRun run(program);
  const Tensor x = random_tensor(ElementType::kU8, {1, 3, 4, 2});
  const auto outputs = run_once(run, *program, {x});
  // Both have the same permutation, so positions match.
  const auto* halves = static_cast<const std::uint16_t*>(outputs[0].data());
  for (std::size_t i = 0; i < 24; ++i) {
    const int exponent = (halves[i] >> 10) - 15;
    const int mantissa = halves[i] & 1023;
    EXPECT_EQ(std::ldexp(1 + mantissa / 1024.0, exponent), x.data<std::uint8_t>()[i] + 1.0);
  }
}

TEST(BuildFlags, RefusesPortsAndLayoutsThatDoNotFit) {
  const Bytes ir = in_memory(*small_model());
  for (const char* text : {"--inputs_precisions=\"7:FP32\"", "--outputs_precisions=\"none:FP32\"",
                           "--inputs_layouts=\"0:NCHW\"", "--config NPU_TILES=\"7\""})
    error_of([&] { compile(request_for(ir, text), nullptr); }, Code::kInvalidArgument);
}

TEST(Arguments, CarryNamesOfTheModel) {
  const auto program = program_of(*small_model());
  ASSERT_EQ(program->arguments().size(), 2u);
  const Argument &x = program->arguments()[0], &y = program->arguments()[1];
  EXPECT_EQ(x.name, "x");
  EXPECT_EQ(x.tensor_names, std::vector<std::string>{"x_tensor"});
  EXPECT_EQ(y.name, "relu");
  EXPECT_EQ(y.friendly_name, "y");
  EXPECT_EQ(y.tensor_names, std::vector<std::string>{"y_tensor"});
  EXPECT_FALSE(y.is_input);
}

TEST(Compiler, NamesEveryUnsupportedNode) {
  std::string xml = serialize(*small_model()).xml;
  for (const char* type : {"type=\"ReLU\"", "type=\"Relu\""})
    if (const std::size_t at = xml.find(type); at != std::string::npos)
      xml.replace(at, std::strlen(type), "type=\"Nope\"");
  const SerializedModel serialized = serialize(*small_model());
  const Bytes ir = in_memory(xml, serialized.weights);
  const std::string message = error_of([&] { compile(request_for(ir), nullptr); }, Code::kUnimplemented);
  EXPECT_THAT(message, HasSubstr("Nope"));
  EXPECT_THAT(message, HasSubstr("relu"));
  const auto layers = supported_layers(request_for(ir));
  EXPECT_EQ(std::count(layers.begin(), layers.end(), "relu"), 0);
  EXPECT_EQ(std::count(layers.begin(), layers.end(), "sum"), 1);
  EXPECT_EQ(std::count(layers.begin(), layers.end(), "x"), 1);
}

class ZooModels : public ::testing::TestWithParam<const char*> {};

TEST_P(ZooModels, AgreeWithOpenVino) {
  const char* oracle = std::getenv("TENON_ORACLE");
  const auto file = zoo() / (std::string(GetParam()) + ".xml");
  const auto data = std::filesystem::path(oracle ? oracle : "") / GetParam();
  if (!std::filesystem::exists(file) || !std::filesystem::exists(data)) GTEST_SKIP() << "no zoo";
  const auto model = read_model(file);
  const auto program = program_of(*model);
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < model->inputs().size(); ++i)
    inputs.push_back(read_npy(data / ("input_" + std::to_string(i) + ".npy")));
  ProgramRun run(program);
  const auto outputs = run_once(run, *program, inputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Tensor expected = read_npy(data / ("openvino_" + std::to_string(i) + ".npy"));
    const Agreement a = agreement(outputs[i], expected);
    // The driver's documented accuracy; 8-bit values at a rounding boundary may go either way.
    const bool is_8_bit = std::string(GetParam()).find("int8") != std::string::npos;
    const Limits limits = is_8_bit ? limits_of("_int8") : Limits{0.9999, 0.02, 0.02};
    EXPECT_GE(a.cosine, limits.min_cosine) << i;
    EXPECT_LE(a.max_relative_error, limits.max_relative_error) << i;
    EXPECT_LE(a.deviation_error, limits.max_deviation_error) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, ZooModels,
                         ::testing::Values("resnet50_tiny", "mobilenetv2_tiny", "yolo_tiny", "vit_tiny", "bert_tiny",
                                           "unet_tiny", "lstm_tiny", "loop_tiny", "resnet50_int8_tiny",
                                           "yolo_int8_tiny"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace compiler_test
}  // namespace tenon::npu::compiler
