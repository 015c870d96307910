// SPDX-License-Identifier: Apache-2.0
// What exporters write about a model, as Ultralytics 8.3 writes it into ONNX, into IRs and into metadata.yaml, and damaged forms of it.
#include <tenon/graph/input_stage/model_info.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tenon/graph/input_stage/input_stage.hpp>
#include <tenon/graph/internal/literals.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/readers/internal/side_file.hpp>

namespace model_info_test {

using namespace tenon;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

using Texts = std::vector<std::pair<std::string, std::string>>;

/// A model of one picture whose outputs have these shapes.
std::shared_ptr<Model> model_of(const std::vector<Shape>& outputs, const PartialShape& input = {1, 3, 64, 64}) {
  const auto image = std::make_shared<op::v0::Parameter>(element::f32, input);
  ResultVector results;
  for (const Shape& shape : outputs)
    results.push_back(std::make_shared<op::v0::Result>(op::v0::Constant::create(element::f32, shape, {0.0f})));
  return std::make_shared<Model>(results, ParameterVector{image}, "m");
}

std::shared_ptr<Model> ultralytics(const std::string& task, const std::vector<Shape>& outputs, const Texts& more = {},
                                   const PartialShape& input = {1, 3, 64, 64}) {
  auto model = model_of(outputs, input);
  Texts all{{"names", "{0: 'person', 1: 'traffic light'}"}, {"stride", "32"}, {"imgsz", "[64, 96]"}};
  if (!task.empty()) all.emplace_back("task", task);
  all.insert(all.end(), more.begin(), more.end());
  for (const auto& [key, value] : all) model->set_rt_info(value, {"framework", key});
  return model;
}

TEST(Literals, ReadWhatPythonPrints) {
  EXPECT_THAT(read_literal_map("{0: 'person', 1: \"driver's\", 3: 'a\\'b\\\\c', 'k': [1, 'x, y'], 5: None}"),
              ElementsAre(Pair("0", "person"), Pair("1", "driver's"), Pair("3", "a'b\\c"), Pair("k", "[1, 'x, y']"),
                          Pair("5", "None")));
  EXPECT_THAT(read_literal_map("['a', 'b',]"), ElementsAre(Pair("0", "a"), Pair("1", "b")));
  EXPECT_THAT(read_literal_map("{0: '\\xe9\\u4eba\\U0001f600'}"),
              ElementsAre(Pair("0", "\xc3\xa9\xe4\xba\xba\xf0\x9f\x98\x80")));
  EXPECT_THAT(read_literal_map("{}"), IsEmpty());
  EXPECT_THAT(read_literal_sizes("[480, 640]"), ElementsAre(480, 640));
  EXPECT_THAT(read_literal_sizes("640"), ElementsAre(640));
  for (const char* damaged : {"", "{", "{0", "{0:", "{0: 'a", "{0: 'a'", "{0 'a'}", "[1, 2", "{0: '\\", "{0: '\\u12'}",
                              "{0: 'a'} x", "]", "{,}", "[[1]", "{0: '\\U00110000'}"}) {
    EXPECT_THAT(read_literal_map(damaged), IsEmpty()) << damaged;
    EXPECT_THAT(read_literal_sizes(damaged), IsEmpty()) << damaged;
  }
}

TEST(Literals, AreTheirOwnInverse) {
  for (const std::string text : {"a", "it's", "back\\slash", "\"", "a, b: c}"})
    EXPECT_THAT(read_literal_map("[" + literal_text(text) + "]"), ElementsAre(Pair("0", text)));
}

TEST(PlainYaml, IsReadAsExportersWriteIt) {
  const AnyMap read = read_plain_yaml(
      "description: Ultralytics YOLO11n model trained on /a/very/long/path/that/wraps\n  to the next line\n"
      "author: Ultralytics\ndate: '2025-01-01T00:00:00'\nversion: 8.3.40\nstride: 32\ntask: detect # a "
      "comment\nimgsz:\n- 480\n- 640\n"
      "names:\n  0: person\n  1: traffic light\n  2: 'yes'\n  3: 'it''s'\n  4: \"a: \\\"b\\\"\"\n  5: a:b\n"
      "args:\n  nms: true\n  half: false\nkpt_shape: [17, 3]\nend2end: false\r\n");
  EXPECT_EQ(read.at("task").as<std::string>(), "detect");
  EXPECT_EQ(read.at("date").as<std::string>(), "2025-01-01T00:00:00");
  EXPECT_EQ(read.at("description").as<std::string>(),
            "Ultralytics YOLO11n model trained on /a/very/long/path/that/wraps to the next line");
  EXPECT_THAT(read_literal_sizes(read.at("imgsz").as<std::string>()), ElementsAre(480, 640));
  EXPECT_THAT(read_literal_sizes(read.at("kpt_shape").as<std::string>()), ElementsAre(17, 3));
  EXPECT_THAT(read_literal_map(read.at("names").as<std::string>()),
              ElementsAre(Pair("0", "person"), Pair("1", "traffic light"), Pair("2", "yes"), Pair("3", "it's"),
                          Pair("4", "a: \"b\""), Pair("5", "a:b")));
  EXPECT_THAT(read_literal_map(read.at("args").as<std::string>()),
              ElementsAre(Pair("nms", "true"), Pair("half", "false")));
  EXPECT_EQ(read.at("end2end").as<std::string>(), "false");
  for (const char* odd : {":", "- - -", "\t\t", "'", "\"a", "a:\n  'b", "{", "x: \"\\", "? a\n: b", "a: &x\n  <<: *x"})
    read_plain_yaml(odd);
}

TEST(ModelInfo, OfUltralyticsIsWhatItsPredictorDoes) {
  const auto model = ultralytics("detect", {{1, 6, 84}});
  const ModelInfo info(*model);
  EXPECT_EQ(info.text("scale_values"), "255");
  EXPECT_EQ(info.text("resize_type"), "fit_to_window_letterbox");
  EXPECT_EQ(info.text("pad_value"), "114");
  EXPECT_EQ(info.model_type(), "YOLOv8");
  EXPECT_THAT(info.labels(), ElementsAre("person", "traffic light"));
  EXPECT_FALSE(info.is_end_to_end());
  const InputStageOptions options = options_from(*model, FrameInfo{kNv12, 128, 64});
  EXPECT_EQ(options.scale[0], 255);
  EXPECT_EQ(options.fit, Fit::kLetterbox);
  EXPECT_EQ(options.pad[2], 114);
  EXPECT_EQ(options.channels, ChannelOrder::kRgb);
}

TEST(ModelInfo, FollowsTheTask) {
  const auto type = [](const std::shared_ptr<Model>& model) { return ModelInfo(*model).model_type(); };
  EXPECT_EQ(type(ultralytics("detect", {{1, 300, 6}})), "YOLOv8");
  EXPECT_EQ(type(ultralytics("detect", {{1, 100, 6}})), "YOLOv8");
  EXPECT_EQ(type(ultralytics("segment", {{1, 38, 84}, {1, 32, 16, 16}})), "YOLOv8-seg");
  EXPECT_EQ(type(ultralytics("pose", {{1, 57, 84}})), "YOLOv8-pose");
  EXPECT_EQ(type(ultralytics("obb", {{1, 7, 84}})), "YOLOv8-obb");
  const auto classes = ultralytics("classify", {{1, 2}});
  EXPECT_EQ(type(classes), "Classification");
  EXPECT_EQ(ModelInfo(*classes).text("resize_type"), "crop");
  EXPECT_EQ(type(ultralytics("depth", {{1, 2}})), "YOLO of the task depth");
  EXPECT_EQ(type(ultralytics("", {{1, 252, 7}})), "YOLOv5") << "exports of YOLOv5's own program state no task";
}

TEST(ModelInfo, ToldOnlyYoloReadsTheShapes) {
  // An OpenVINO export without metadata.yaml: rt_info states the labels but no task.
  const auto type = [](const std::vector<Shape>& outputs, const std::string& labels) {
    const auto model = model_of(outputs);
    model->set_rt_info(std::string("YOLO"), {"model_info", "model_type"});
    model->set_rt_info(labels, {"model_info", "labels"});
    return ModelInfo(*model).model_type();
  };
  EXPECT_EQ(type({{1, 7, 84}}, "a b c"), "YOLOv8");
  EXPECT_EQ(type({{1, 300, 6}}, "a b c"), "YOLOv8");
  EXPECT_EQ(type({{1, 8, 84}}, "a b c"), "YOLOv8-obb");
  EXPECT_EQ(type({{1, 300, 7}}, "a b"), "YOLOv8-obb");
  EXPECT_EQ(type({{1, 39, 84}, {1, 32, 16, 16}}, "a b c"), "YOLOv8-seg");
  EXPECT_EQ(type({{1, 56, 84}}, "person"), "YOLOv8-pose");
  EXPECT_EQ(type({{1, 300, 57}}, "person"), "YOLOv8-pose");
  EXPECT_EQ(type({{1, 3}}, "a b c"), "Classification");
  EXPECT_EQ(type({{1, 300, 7}}, "a b c"), "RT-DETR");
}

TEST(ModelInfo, KnowsWhereSuppressionIsInside) {
  const auto end_to_end = [](const Texts& more) {
    const auto model = ultralytics("detect", {{1, 300, 6}}, more);
    return ModelInfo(*model).is_end_to_end().value_or(false);
  };
  EXPECT_TRUE(end_to_end({{"end2end", "True"}}));
  EXPECT_TRUE(end_to_end({{"args", "{'batch': 1, 'nms': True}"}}));
  EXPECT_FALSE(end_to_end({{"args", "{'batch': 1, 'nms': False}"}, {"end2end", "False"}}));
}

TEST(ModelInfo, TheModelsOwnWordsComeFirst) {
  const auto model = ultralytics("detect", {{1, 6, 84}});
  model->set_rt_info(std::string("1"), {"model_info", "scale_values"});
  model->set_rt_info(std::string("cat dog"), {"model_info", "labels"});
  model->set_rt_info(std::string("other"), {"metadata.yaml", "task"});
  const ModelInfo info(*model);
  EXPECT_EQ(info.text("scale_values"), "1");
  EXPECT_THAT(info.labels(), ElementsAre("cat", "dog"));
  EXPECT_EQ(info.model_type(), "YOLOv8") << "the ONNX entry comes before the file beside the model";
  model->set_rt_info(std::string("SSD"), {"model_info", "model_type"});
  EXPECT_EQ(ModelInfo(*model).model_type(), "SSD");
  EXPECT_EQ(ModelInfo(*model).text("pad_value"), "") << "a model that states another type is no Ultralytics export";
}

TEST(ModelInfo, NamesAloneAreNotUltralytics) {
  const auto model = model_of({{1, 6, 84}});
  model->set_rt_info(std::string("{0: 'a'}"), {"framework", "names"});
  EXPECT_EQ(ModelInfo(*model).text("scale_values"), "");
  EXPECT_THAT(ModelInfo(*model).labels(), IsEmpty());
}

TEST(ModelInfo, DamagedNamesAreNoLabels) {
  for (const char* names : {"{0: 'a'", "{-1: 'a'}", "{'x': 'a'}", "{1000000000: 'a'}", "person"}) {
    const auto model = model_of({{1, 6, 84}});
    model->set_rt_info(std::string(names), {"framework", "names"});
    model->set_rt_info(std::string("detect"), {"framework", "task"});
    EXPECT_THAT(ModelInfo(*model).labels(), IsEmpty()) << names;
  }
  const auto model = model_of({{1, 6, 84}});
  model->set_rt_info(std::string("{2: 'c', 0: 'a'}"), {"framework", "names"});
  model->set_rt_info(std::string("detect"), {"framework", "task"});
  EXPECT_THAT(ModelInfo(*model).labels(), ElementsAre("a", "#1", "c"));
}

TEST(ModelInfo, OpenInputsGetTheSizeOfTheExport) {
  const auto model = ultralytics("detect", {{1, 6, 84}}, {}, {1, 3, -1, -1});
  const InputStageOptions options = options_from(*model, FrameInfo{kNv12, 1280, 720});
  EXPECT_EQ(options.width, 96u);
  EXPECT_EQ(options.height, 64u);
}

TEST(SideFile, DescribesModelsThatSayNothingOrYolo) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / "tenon_side_file";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "metadata.yaml") << "task: pose\nstride: 32\nnames:\n  0: person\nkpt_shape:\n- 4\n- 2\n";
  const auto added = [&](const std::string& type) {
    auto model = model_of({{1, 13, 84}});
    if (!type.empty()) model->set_rt_info(type, {"model_info", "model_type"});
    add_side_file(folder / "model.xml", *model);
    return model;
  };
  EXPECT_EQ(ModelInfo(*added("")).model_type(), "YOLOv8-pose");
  EXPECT_EQ(ModelInfo(*added("YOLO")).model_type(), "YOLOv8-pose");
  EXPECT_EQ(ModelInfo(*added("YOLO")).keypoint_values(), 2u);
  EXPECT_EQ(ModelInfo(*added("YOLO")).keypoint_count(), 4u);
  EXPECT_EQ(ModelInfo(*added("SSD")).model_type(), "SSD");
  std::ofstream(folder / "metadata.yaml") << "names: a\n";
  EXPECT_EQ(ModelInfo(*added("")).model_type(), "") << "names alone say nothing of an exporter";
  std::filesystem::remove_all(folder);
  EXPECT_EQ(ModelInfo(*added("")).model_type(), "");
}

}  // namespace model_info_test
