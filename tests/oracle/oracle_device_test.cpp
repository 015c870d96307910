// SPDX-License-Identifier: Apache-2.0
// A device, through the runtime, on small and full zoo models against ONNX Runtime and OpenVINO. TENON_ORACLE_DEVICE names
// it; without it, the CPU. With TENON_ORACLE_PRECISION=default, in the precision that programs get which set no property:
// bf16 where the CPU has it.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include <tenon/runtime/compiled_model.hpp>
#include <tenon/runtime/core.hpp>
#include <tenon/runtime/infer_request.hpp>
#include <tenon/tests/oracle/agreement.hpp>
#include <tenon/tests/oracle/npy.hpp>

namespace tenon {
namespace oracle_device_test {

namespace fs = std::filesystem;

fs::path folder(const char* variable) {
  const char* value = std::getenv(variable);
  return value ? value : "";
}

std::string device() {
  const char* const name = std::getenv("TENON_ORACLE_DEVICE");
  return name ? name : "CPU";
}

bool is_in_default_precision() { return std::getenv("TENON_ORACLE_PRECISION") != nullptr; }

/// What a model of any depth may differ by in bf16, whose numbers have eight binary digits.
Limits limits_in_use(const std::string& model) {
  if (!is_in_default_precision()) return limits_of(model);
  return {.min_cosine = 0.998, .max_relative_error = 0.25, .max_deviation_error = 0.1};
}

AnyMap precision_in_use() {
  if (is_in_default_precision()) return {};
  return {{"INFERENCE_PRECISION_HINT", element::f32}};
}

struct Case {
  const char* model;
  const char* format;
};

/// Skips where the machine has no such device.
void require_device(Core& core) {
  const std::vector<std::string> names = core.get_available_devices();
  if (std::none_of(names.begin(), names.end(), [](const std::string& name) { return name.starts_with(device()); }))
    GTEST_SKIP() << "there is no device " << device();
}

class OracleDevice : public ::testing::TestWithParam<Case> {};

TEST_P(OracleDevice, AgreesWithBothJudges) {
  const std::string name = GetParam().model, format = GetParam().format;
  if (is_in_default_precision() && (name.find("ssd") == 0 || name.find("rcnn") != name.npos))
    GTEST_SKIP() << "suppression chooses among scores of random weights, which differ by less than bf16 tells apart";
  // A full IR holds f16 weights: ONNX Runtime, which has them in f32, then differs by their rounding.
  const bool has_f16_weights = format == ".xml" && name.find("_tiny") == std::string::npos && name != "relu1";
  const fs::path data = folder("TENON_ORACLE") / name;
  Core core;
  require_device(core);
  if (IsSkipped()) return;
  AnyMap properties = precision_in_use();
  properties["PERF_COUNT"] = true;
  CompiledModel compiled = core.compile_model(folder("TENON_ZOO") / (name + format), device(), properties);
  InferRequest request = compiled.create_infer_request();
  for (std::size_t i = 0; i < compiled.inputs().size(); ++i) {
    request.set_input_tensor(i, read_npy(data / ("input_" + std::to_string(i) + ".npy")));
  }
  request.infer();
  for (const auto& info : request.get_profiling_info())
    EXPECT_NE(info.exec_type, "reference") << info.node_type << " " << info.node_name << " has no kernel of the device";
  for (const std::string judge : {"onnxruntime", "openvino"}) {
    const bool is_rounded =
        has_f16_weights == (judge == "onnxruntime") && name.find("_tiny") == std::string::npos && name != "relu1";
    for (std::size_t i = 0; i < compiled.outputs().size(); ++i) {
      const Tensor actual = request.get_output_tensor(i);
      const Tensor expected = read_npy(data / (judge + "_" + std::to_string(i) + ".npy"));
      ASSERT_EQ(to_string(actual.shape()), to_string(expected.shape())) << judge << ", output " << i;
      if (actual.element_type() == ElementType::kI64) {
        EXPECT_TRUE(are_same(actual, expected)) << judge << ", output " << i;
        continue;
      }
      const Agreement a = agreement_of(name, actual, expected);
      std::printf("%s%s on %s, output %zu against %s: 1 - cosine %.1e, max relative error %.1e, of what varies %.1e\n",
                  name.c_str(), format.c_str(), device().c_str(), i, judge.c_str(), 1 - a.cosine, a.max_relative_error,
                  a.deviation_error);
      const Limits limits = limits_in_use(name);
      EXPECT_GE(a.cosine, is_rounded ? std::min(0.9999, limits.min_cosine) : limits.min_cosine)
          << judge << ", output " << i;
      EXPECT_LE(a.max_relative_error,
                is_rounded ? std::max(1e-2, limits.max_relative_error) : limits.max_relative_error)
          << judge << ", output " << i;
      EXPECT_LE(a.deviation_error, is_rounded ? std::max(2e-2, limits.max_deviation_error) : limits.max_deviation_error)
          << judge << ", output " << i;
    }
  }
}

// The IR keeps the state, which ONNX Runtime gets as an input: several steps show whether it is kept.
TEST(OracleDeviceState, AgreesWithBothJudgesOverSeveralSteps) {
  for (const std::string name : {std::getenv("TENON_ZOO_FULL") ? "gru_step" : "gru_step_tiny"}) {
    Core core;
    require_device(core);
    if (IsSkipped()) return;
    CompiledModel compiled = core.compile_model(folder("TENON_ZOO") / (name + ".xml"), device(), precision_in_use());
    InferRequest request = compiled.create_infer_request();
    int steps = 0;
    for (; fs::exists(folder("TENON_ORACLE") / name / ("step_" + std::to_string(steps))); ++steps) {
      const fs::path data = folder("TENON_ORACLE") / name / ("step_" + std::to_string(steps));
      request.set_input_tensor(0, read_npy(data / "input_0.npy"));
      request.infer();
      const Tensor actual = request.get_output_tensor(0);
      for (const std::string judge : {"onnxruntime", "openvino"}) {
        const Tensor expected = read_npy(data / (judge + "_0.npy"));
        const Agreement a = agreement(actual, expected);
        EXPECT_GE(a.cosine, limits_in_use(name).min_cosine) << judge << ", step " << steps;
        EXPECT_LE(a.max_relative_error, limits_in_use(name).max_relative_error) << judge << ", step " << steps;
        EXPECT_LE(a.deviation_error, limits_in_use(name).max_deviation_error) << judge << ", step " << steps;
      }
    }
    EXPECT_GE(steps, 2) << name;
  }
}

std::vector<Case> cases() {
  std::vector<Case> all;
  const auto add = [&](const char* model) {
    all.push_back({model, ".onnx"});
    all.push_back({model, ".xml"});
  };
  // The slow check runs the ones that need a gigabyte of files and minutes.
  if (std::getenv("TENON_ZOO_FULL")) {
    for (const char* model : {"resnet50", "mobilenetv2", "yolo", "vit", "vit_b16", "bert", "unet", "lstm", "loop",
                              "resnet50_int8", "yolo_int8"})
      add(model);
    all.push_back({"gru_step", ".onnx"});
    return all;
  }
  for (const char* model :
       {"relu1",          "resnet50_tiny",    "mobilenetv2_tiny",  "yolo_tiny",     "vit_tiny",
        "bert_tiny",      "unet_tiny",        "lstm_tiny",         "loop_tiny",     "resnet50_int8_tiny",
        "yolo_int8_tiny", "mobilenetv3_tiny", "efficientnet_tiny", "densenet_tiny", "convnext_tiny",
        "swin_tiny",      "segformer_tiny",   "raft_tiny",         "ssd_lite_tiny", "faster_rcnn_tiny",
        "whisper_tiny",   "resnet50",         "mobilenetv2",       "yolo"})
    add(model);
  all.push_back({"gru_step_tiny", ".onnx"});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Zoo, OracleDevice, ::testing::ValuesIn(cases()), [](const auto& info) {
  return std::string(info.param.model) + (std::string(info.param.format) == ".xml" ? "_ir" : "_onnx");
});

}  // namespace oracle_device_test
}  // namespace tenon
