// SPDX-License-Identifier: Apache-2.0
// The reference interpreter on the zoo's small models, from ONNX and from IR, against ONNX Runtime and OpenVINO.
#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/readers/read_model.hpp>
#include <tenon/tests/oracle/agreement.hpp>
#include <tenon/tests/oracle/npy.hpp>

namespace tenon {
namespace oracle_oracle_test {

namespace fs = std::filesystem;

fs::path folder(const char* variable) {
  const char* value = std::getenv(variable);
  return value ? value : "";
}

struct Case {
  const char* model;
  const char* format;
};

class Oracle : public ::testing::TestWithParam<Case> {};

TEST_P(Oracle, AgreesWithBothJudges) {
  const fs::path data = folder("TENON_ORACLE") / GetParam().model;
  const auto model = read_model(folder("TENON_ZOO") / (std::string(GetParam().model) + GetParam().format));
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < model->inputs().size(); ++i)
    inputs.push_back(read_npy(data / ("input_" + std::to_string(i) + ".npy")));
  const std::vector<Tensor> outputs = evaluate(*model, inputs);
  ASSERT_EQ(outputs.size(), model->outputs().size());
  for (const std::string judge : {"onnxruntime", "openvino"}) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Tensor expected = read_npy(data / (judge + "_" + std::to_string(i) + ".npy"));
      ASSERT_EQ(to_string(outputs[i].shape()), to_string(expected.shape())) << judge << ", output " << i;
      if (outputs[i].element_type() == ElementType::kI64) {
        EXPECT_TRUE(are_same(outputs[i], expected)) << judge << ", output " << i;
        continue;
      }
      ASSERT_EQ(outputs[i].element_type(), ElementType::kF32);
      const Agreement a = agreement(outputs[i], expected);
      EXPECT_GE(a.cosine, limits_of(GetParam().model).min_cosine) << judge << ", output " << i;
      EXPECT_LE(a.max_relative_error, limits_of(GetParam().model).max_relative_error) << judge << ", output " << i;
      EXPECT_LE(a.deviation_error, limits_of(GetParam().model).max_deviation_error) << judge << ", output " << i;
      RecordProperty(judge + "_cosine_" + std::to_string(i), std::to_string(a.cosine));
      RecordProperty(judge + "_max_relative_error_" + std::to_string(i), std::to_string(a.max_relative_error));
      std::printf("%s%s output %zu against %s: 1 - cosine %.1e, max relative error %.1e, of what varies %.1e\n",
                  GetParam().model, GetParam().format, i, judge.c_str(), 1 - a.cosine, a.max_relative_error,
                  a.deviation_error);
    }
  }
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const char* model :
       {"relu1",          "resnet50_tiny",    "mobilenetv2_tiny",  "yolo_tiny",     "vit_tiny",
        "bert_tiny",      "unet_tiny",        "lstm_tiny",         "loop_tiny",     "resnet50_int8_tiny",
        "yolo_int8_tiny", "mobilenetv3_tiny", "efficientnet_tiny", "densenet_tiny", "convnext_tiny",
        "swin_tiny",      "segformer_tiny",   "raft_tiny",         "ssd_lite_tiny", "faster_rcnn_tiny",
        "whisper_tiny"}) {
    all.push_back({model, ".onnx"});
    all.push_back({model, ".xml"});
  }
  all.push_back({"gru_step_tiny", ".onnx"});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Zoo, Oracle, ::testing::ValuesIn(cases()), [](const auto& info) {
  return std::string(info.param.model) + (std::string(info.param.format) == ".xml" ? "_ir" : "_onnx");
});

}  // namespace oracle_oracle_test
}  // namespace tenon
