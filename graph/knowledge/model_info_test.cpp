// SPDX-License-Identifier: Apache-2.0
// What exporters write about a model, as Ultralytics 8.3 writes it into ONNX, into IRs and into metadata.yaml, and damaged forms of it.
#include <tenon/graph/knowledge/model_info.hpp>

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tenon/core/error.hpp>
#include <tenon/graph/input_stage/input_stage.hpp>
#include <tenon/graph/internal/literals.hpp>
#include <tenon/graph/knowledge/keys.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/model_ops.hpp>

namespace model_info_test {

using namespace tenon;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

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
  EXPECT_EQ(type(ultralytics("sounds", {{1, 2}})), "YOLO of the task sounds");
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

TEST(ModelInfo, SaysWhereEachFactComesFrom) {
  const auto model = ultralytics("detect", {{1, 6, 84}});
  model->set_rt_info(std::string("NO"), {"model_info", "reverse_input_channels"});
  model->set_rt_info(std::string("YOLO"), {"model_info", "model_type"});
  state(*model, {{"scale_values", "1 2 3"}});
  const ModelInfo info(*model, {{"iou_threshold", "0.3"}});
  EXPECT_EQ(info.text("scale_values"), "1 2 3");
  EXPECT_EQ(info.source("scale_values"), "option");
  EXPECT_EQ(info.text("iou_threshold"), "0.3");
  EXPECT_EQ(info.text("color_space"), "BGR");
  EXPECT_EQ(info.source("color_space"), "model_info");
  EXPECT_EQ(info.source("labels"), "metadata_props");
  EXPECT_EQ(info.source("pad_value"), "Ultralytics' predictor");
  EXPECT_EQ(info.stated("pad_value"), "");
  const std::vector<Fact> facts = info.facts();
  EXPECT_GE(facts.size(), 9u);
  for (const Fact& fact : facts) EXPECT_FALSE(fact.value.empty() || fact.source.empty()) << fact.key;
  EXPECT_THAT(info.remarks(), IsEmpty()) << "options override, which is no contradiction";
}

TEST(ModelInfo, NamesContradictionsWithBothValues) {
  const auto model = ultralytics("detect", {{1, 6, 84}});
  model->set_rt_info(std::string("YOLO"), {"model_info", "model_type"});
  model->set_rt_info(std::string("person traffic_light"), {"model_info", "labels"});
  EXPECT_THAT(ModelInfo(*model).remarks(), IsEmpty()) << "Model API writes blanks of labels as underlines";
  model->set_rt_info(std::string("cat dog bird"), {"model_info", "labels"});
  const std::vector<std::string> remarks = ModelInfo(*model).remarks();
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_THAT(remarks[0], testing::AllOf(testing::HasSubstr("3 names cat dog bird in model_info"),
                                         testing::HasSubstr("2 names ['person'"),
                                         testing::HasSubstr("metadata_props; model_info counts")));
}

TEST(ModelInfo, LongValuesAreCutBetweenCharacters) {
  std::string digits;
  for (int i = 0; i < 30; ++i) digits += "\u4e00";
  EXPECT_EQ((Fact{"labels", digits, ""}.short_value()), digits.substr(0, 60) + "...");
  EXPECT_EQ((Fact{"labels", "x" + digits, ""}.short_value()), "x" + digits.substr(0, 57) + "...");
  EXPECT_EQ((Fact{"labels", "x", ""}.short_value()), "x");
}

TEST(ModelInfo, HeadsTellWhatShapesDoNot) {
  const auto model = ultralytics("detect", {{1, 6, 84}}, {{"head", "RTDETRDecoder"}});
  EXPECT_EQ(ModelInfo(*model).model_type(), "RT-DETR");
  EXPECT_EQ(ModelInfo(*model).text("resize_type"), "standard") << "their predictor stretches pictures for it";
  EXPECT_EQ(ModelInfo(*ultralytics("semantic", {{1, 2, 64, 64}})).model_type(), "Segmentation");
  const auto depth = ultralytics("depth", {{1, 1, 64, 64}});
  EXPECT_EQ(ModelInfo(*depth).model_type(), "Depth");
  EXPECT_EQ(ModelInfo(*depth).text("resize_type"), "standard");
}

TEST(ModelInfo, PicturesAreStretchedAsThePredictorDoesWhateverAnIrSays) {
  // Ultralytics writes the same resize_type into the IRs of all heads but the classifiers'.
  struct Head {
    const char *task, *name;
    bool is_stretched;
  };
  for (const auto& [task, head, is_stretched] :
       {Head{"detect", "RTDETRDecoder", true}, Head{"depth", "Depth", true}, Head{"detect", "Detect", false},
        Head{"semantic", "SemanticSegment", false}}) {
    const auto model = ultralytics(task, {{1, 6, 84}}, {{"head", head}});
    model->set_rt_info(std::string("YOLO"), {"model_info", "model_type"});
    model->set_rt_info(std::string("fit_to_window_letterbox"), {"model_info", "resize_type"});
    const ModelInfo info(*model);
    EXPECT_EQ(info.text("resize_type"), is_stretched ? "standard" : "fit_to_window_letterbox") << head;
    EXPECT_THAT(info.remarks(), SizeIs(is_stretched ? 1 : 0)) << head << ": both values are named";
    state(*model, {{"resize_type", "fit_to_window"}});
    EXPECT_EQ(ModelInfo(*model).text("resize_type"), "fit_to_window") << head << ": users have the last word";
  }
}

TEST(ModelInfo, AnomalibsModelsAreKnownByTheNamesOfTheirOutputs) {
  const auto named = [](const std::vector<std::string>& names) {
    const auto model = model_of(std::vector<Shape>(names.size(), Shape{1}));
    for (std::size_t i = 0; i < names.size(); ++i) model->output(i).set_names({names[i]});
    return model;
  };
  const auto model = named({"pred_score", "pred_label", "anomaly_map", "pred_mask"});
  const ModelInfo info(*model);
  EXPECT_EQ(info.model_type(), "AnomalyDetection");
  EXPECT_EQ(info.text("scale_values"), "255") << "they take 0..1";
  EXPECT_EQ(info.source("scale_values"), "anomalib's outputs");
  EXPECT_TRUE(info.stated("scale_values").empty());
  EXPECT_EQ(ModelInfo(*named({"anomaly_map", "pred_score"})).model_type(), "AnomalyDetection");
  EXPECT_EQ(ModelInfo(*named({"pred_score", "boxes"})).model_type(), "") << "one of its names is no proof";
  state(*model, {{"model_type", "Classification"}});
  EXPECT_EQ(ModelInfo(*model).text("scale_values"), "") << "users know better";
  state(*model, {{"model_type", "AnomalyDetection"}});
  EXPECT_EQ(ModelInfo(*model).text("scale_values"), "255");
}

TEST(ModelInfo, OptionsAreChecked) {
  EXPECT_EQ(checked_fact("labels", "traffic light, person"), "['traffic light', 'person']");
  EXPECT_EQ(checked_fact("mean_values", "1,2,3"), "1,2,3");
  for (const auto& [key, value] : Texts{{"mean", "1"},
                                        {"mean_values", "one"},
                                        {"mean_values", ""},
                                        {"multilabel", "maybe"},
                                        {"labels", ""},
                                        {"labels", "[]"}})
    EXPECT_THROW(checked_fact(key, value), Error) << key;
}

TEST(ModelInfo, PartsOfPicturesAndOpenSizesFollowTheFacts) {
  auto model = model_of({{1, 3}}, {1, 3, 224, 224});
  state(*model, {{"resize_type", "crop"}, {"crop_fraction", "0.875"}, {"interpolation", "nearest"}});
  const InputStageOptions options = options_from(*model, FrameInfo{kNv12, 1280, 720});
  const FrameGeometry geometry = make_spec(options).upright;
  EXPECT_EQ(geometry.crop, (PixelRect{325, 45, 630, 630}));
  EXPECT_EQ(options.resize, ResizeMode::kNearest);
  model = model_of({{1, 3}}, {1, 3, -1, -1});
  state(*model, {{"shortest_edge", "800"}, {"longest_edge", "1333"}, {"size_multiple", "32"}});
  const InputStageOptions open = options_from(*model, FrameInfo{kNv12, 1280, 720});
  EXPECT_EQ(open.width, 1344u);
  EXPECT_EQ(open.height, 736u);
  state(*model, {{"crop_fraction", "2"}});
  EXPECT_THROW(options_from(*model, FrameInfo{kNv12, 1280, 720}), Error);
}

/// IRs that rfdetr exports say nothing of the shape.
TEST(ModelInfo, AnInputWithoutAnyKnownExtentTakesFrames) {
  const FrameInfo frame{kNv12, 640, 360};
  const PartialShape open{-1, -1, -1, -1};
  auto options = options_from(*model_of({{1}}, open), frame);
  EXPECT_EQ(options.layout, ImageLayout::kNchw);
  EXPECT_EQ(options.channels, ChannelOrder::kRgb);
  const auto told = model_of({{1}}, open);
  told->set_rt_info(std::string("GRAY"), {"model_info", "color_space"});
  told->set_rt_info(std::string("32 64"), {"model_info", "input_size"});
  options = options_from(*told, frame);
  EXPECT_EQ(options.channels, ChannelOrder::kGray);
  EXPECT_EQ(options.width, 64u);
  EXPECT_THROW(options_from(*model_of({{1}}, {1, Dimension(4, 8), -1, -1}), frame), Error);
}

}  // namespace model_info_test
