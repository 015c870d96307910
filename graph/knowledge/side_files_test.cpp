// SPDX-License-Identifier: Apache-2.0
// Files that describe models, as their programs write them, and files that lie.
#include <tenon/graph/knowledge/side_files.hpp>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tenon/core/error.hpp>
#include <tenon/graph/knowledge/model_info.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/model_ops.hpp>

namespace side_files_test {

using namespace tenon;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SideFiles : public ::testing::Test {
 protected:
  SideFiles()
      : folder_(std::filesystem::path(::testing::TempDir()) / ("tenon_side_files_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~SideFiles() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }

  static std::shared_ptr<Model> model(const Shape& output = {1, 13, 84}, const std::string& type = {}) {
    const auto image = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 3, 64, 64});
    image->output(0).set_names({"images"});
    image->set_friendly_name("images");
    const auto value = op::v0::Constant::create(element::f32, output, {0.0f});
    value->output(0).set_names({"out"});
    auto made =
        std::make_shared<Model>(ResultVector{std::make_shared<op::v0::Result>(value)}, ParameterVector{image}, "m");
    if (!type.empty()) made->set_rt_info(type, {"model_info", "model_type"});
    return made;
  }
  /// A model with what is beside it.
  std::shared_ptr<Model> found(std::shared_ptr<Model> made = model()) const {
    find_side_files(folder_ / "model.onnx", *made);
    return made;
  }
  std::shared_ptr<Model> named(const std::string& name, std::shared_ptr<Model> made = model()) const {
    read_side_file(folder_ / name, *made);
    return made;
  }
  /// The message of naming a file.
  std::string refusal(const std::string& name) const {
    try {
      named(name);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  const std::filesystem::path folder_;
};

TEST_F(SideFiles, UltralyticsMetadataCompletesWhatIsYolo) {
  write("metadata.yaml",
        "description: Ultralytics YOLO model trained on /a/very/long/path/that/wraps\n  to the next line\n"
        "date: '2025-01-01T00:00:00'\nstride: 32\ntask: pose # a comment\nimgsz:\n- 480\n- 640\n"
        "names:\n  0: person\n  1: traffic light\n  2: 'yes'\n  3: 'it''s'\n  4: \"a: \\\"b\\\"\"\n  5: a:b\n"
        "args:\n  nms: true\n  half: false\n  data: null\nkpt_shape: [4, 2]\nend2end: false\r\n");
  const auto said = found();
  const ModelInfo info(*said);
  EXPECT_EQ(info.model_type(), "YOLOv8-pose");
  EXPECT_THAT(info.labels(), ElementsAre("person", "traffic light", "yes", "it's", "a: \"b\"", "a:b"));
  EXPECT_EQ(info.keypoint_count(), 4u);
  EXPECT_EQ(info.keypoint_values(), 2u);
  EXPECT_THAT(info.picture_size(), ElementsAre(480, 640));
  EXPECT_TRUE(info.is_end_to_end().value_or(false));
  EXPECT_EQ(info.source("labels"), "metadata.yaml");
  EXPECT_EQ(ModelInfo(*found(model({1, 13, 84}, "YOLO"))).model_type(), "YOLOv8-pose");
  EXPECT_EQ(ModelInfo(*found(model({1, 13, 84}, "SSD"))).model_type(), "SSD");
  EXPECT_EQ(ModelInfo(*found(model({1, 13, 84}, "SSD"))).text("scale_values"), "");
  write("metadata.yaml", "names: a\n");
  EXPECT_EQ(ModelInfo(*found()).model_type(), "") << "names alone say nothing of an exporter";
}

TEST_F(SideFiles, ModelProcSetsWhatDlStreamerDoes) {
  write("proc.json", R"({"json_schema_version": "2.2.0",
    "input_preproc": [{"format": "image", "layer_name": "images", "params": {"resize": "aspect-ratio", "color_space": "RGB",
       "range": [0.0, 1.0], "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225], "padding": {"fill_value": [114, 114, 114]}}}],
    "output_postproc": [{"converter": "yolo_v8", "layer_name": "out", "labels": ["a cat", "dog"], "iou_threshold": 0.4}]})");
  const auto said = named("proc.json", model({1, 6, 84}, "SSD"));
  const ModelInfo info(*said);
  EXPECT_EQ(info.model_type(), "YOLOv8") << "a file that the user names precedes the model";
  EXPECT_EQ(info.text("mean_values"), "123.675 116.28 103.53");
  EXPECT_EQ(info.text("scale_values"), "58.395 57.12 57.375");
  EXPECT_EQ(info.text("resize_type"), "fit_to_window_letterbox");
  EXPECT_EQ(info.text("color_space"), "RGB");
  EXPECT_EQ(info.text("pad_value"), "114 114 114");
  EXPECT_EQ(info.text("iou_threshold"), "0.4");
  EXPECT_THAT(info.labels(), ElementsAre("a cat", "dog"));
  EXPECT_THAT(info.remarks(), ElementsAre(HasSubstr("model_type is YOLOv8 in")));
  write("model.json", R"({"json_schema_version": "2.0.0", "input_preproc": [],
    "output_postproc": [{"converter": "label", "method": "compound", "labels": ["x"]}]})");
  const auto defaults = found(model({1, 1}));
  EXPECT_EQ(ModelInfo(*defaults).text("color_space"), "BGR") << "DL Streamer's order where a model-proc states none";
  EXPECT_EQ(ModelInfo(*defaults).model_type(), "Classification");
  EXPECT_EQ(ModelInfo(*defaults).text("multilabel"), "YES");
  for (const auto& [converter, type] :
       {std::pair("yolo_v4", "YOLOv4-grids"), {"yolo_v5", "YOLOv5-grids"}, {"yolo_v8_pose", "YOLOv8-pose"}}) {
    write("file.json",
          R"({"json_schema_version": "2.0.0", "output_postproc": [{"converter": ")" + std::string(converter) + "\"}]}");
    EXPECT_EQ(ModelInfo(*named("file.json")).model_type(), type);
  }
  write("labels.txt", "a cat\r\ndog\r\n");
  write("file.json",
        "{\"json_schema_version\": \"2.0.0\", \"output_postproc\": [{\"converter\": \"label\", \"labels\": \"" +
            (folder_ / "labels.txt").string() + "\"}]}");
  EXPECT_THAT(ModelInfo(*named("file.json")).labels(), ElementsAre("a cat", "dog"));
}

TEST_F(SideFiles, HuggingFaceConfigurationsAreOneDescription) {
  write("config.json", R"({"architectures": ["ViTForImageClassification"], "model_type": "vit",
    "id2label": {"1": "a dog", "0": "cat"}, "problem_type": "multi_label_classification"})");
  write("preprocessor_config.json",
        R"({"do_normalize": true, "do_rescale": true, "rescale_factor": 0.00392156862745098, "do_resize": true,
    "image_mean": [0.5, 0.5, 0.5], "image_std": [0.25, 0.5, 0.5], "size": {"height": 64, "width": 64}, "resample": 2})");
  auto said = found(model({1, 2}));
  ModelInfo info(*said);
  EXPECT_EQ(info.model_type(), "Classification");
  EXPECT_THAT(info.labels(), ElementsAre("cat", "a dog"));
  EXPECT_EQ(info.text("multilabel"), "YES");
  EXPECT_EQ(info.text("mean_values"), "127.5 127.5 127.5");
  EXPECT_EQ(info.text("scale_values"), "63.75 127.5 127.5");
  EXPECT_EQ(info.text("resize_type"), "standard");
  EXPECT_EQ(info.source("scale_values"), "preprocessor_config.json");
  EXPECT_EQ(info.source("labels"), "config.json");
  EXPECT_THAT(info.remarks(), IsEmpty());
  const auto prepared = [&](const std::string& text) {
    write("preprocessor_config.json", text);
    return found(model({1, 2}));
  };
  said = prepared(
      R"({"do_resize": true, "do_center_crop": true, "crop_size": 224, "size": {"shortest_edge": 256}, "resample": 3})");
  EXPECT_EQ(ModelInfo(*said).text("resize_type"), "crop");
  EXPECT_EQ(ModelInfo(*said).text("crop_fraction"), "0.875");
  EXPECT_EQ(ModelInfo(*said).text("scale_values"), "255");
  EXPECT_THAT(ModelInfo(*said).remarks(), ElementsAre(HasSubstr("interpolation \"cubic\"")));
  said = prepared(R"({"do_resize": true, "size": {"shortest_edge": 224}, "crop_pct": 0.875})");
  EXPECT_EQ(ModelInfo(*said).text("crop_fraction"), "0.875");
  said = prepared(
      R"({"do_resize": true, "size": {"shortest_edge": 800, "longest_edge": 1333}, "do_flip_channel_order": true})");
  EXPECT_EQ(ModelInfo(*said).text("longest_edge"), "1333");
  EXPECT_EQ(ModelInfo(*said).text("color_space"), "BGR");
  std::filesystem::remove(folder_ / "preprocessor_config.json");
  write("config.json",
        R"({"architecture": "resnet18", "label_names": ["a", "b"], "pretrained_cfg": {"input_size": [3, 64, 64],
    "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225], "crop_pct": 0.95, "interpolation": "bilinear"}})");
  said = found(model({1, 2}));
  EXPECT_EQ(std::stod(ModelInfo(*said).text("crop_fraction")), 64.0 / 67) << "timm resizes to whole pixels";
  EXPECT_EQ(ModelInfo(*said).text("scale_values"), "58.395 57.12 57.375");
  write("config.json",
        R"({"architectures": ["RTDetrV2ForObjectDetection"], "model_type": "rt_detr_v2", "id2label": {"0": "x"}})");
  EXPECT_EQ(ModelInfo(*found()).model_type(), "RT-DETR");
  for (const char* const type : {"lw_detr", "dab-detr", "deimv2"}) {
    write("config.json", std::string(R"({"architectures": ["AnyForObjectDetection"], "model_type": ")") + type + "\"}");
    EXPECT_EQ(ModelInfo(*found()).model_type(), "RF-DETR") << type;
  }
  write("config.json", R"({"architectures": ["RfDetrForInstanceSegmentation"], "model_type": "rf_detr"})");
  EXPECT_EQ(ModelInfo(*found()).model_type(), "RF-DETR");
  write("config.json", R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama"})");
  EXPECT_THAT(ModelInfo(*found()).facts(), IsEmpty()) << "no model of pictures";
  EXPECT_FALSE(found()->has_rt_info({"side_files"}));
}

TEST_F(SideFiles, PaddleDescribesClassesDetectionAndText) {
  write("inference.yml", R"(PreProcess:
  transform_ops:
  - DecodeImage: {channel_first: false, img_mode: BGR}
  - DetResizeForTest: {resize_long: 960}
  - NormalizeImage: {mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225], scale: 1./255., order: hwc}
  - ToCHWImage: null
PostProcess: {name: DBPostProcess, thresh: 0.3, box_thresh: 0.6, max_candidates: 1000, unclip_ratio: 1.5}
Global: {model_name: PP-OCRv5_mobile_det}
)");
  auto said = found();
  EXPECT_EQ(ModelInfo(*said).model_type(), "DB");
  EXPECT_EQ(ModelInfo(*said).text("unclip_ratio"), "1.5");
  EXPECT_EQ(ModelInfo(*said).text("confidence_threshold"), "0.6");
  EXPECT_EQ(ModelInfo(*said).text("color_space"), "BGR");
  EXPECT_EQ(ModelInfo(*said).text("mean_values"), "123.675 116.28 103.53");
  EXPECT_EQ(ModelInfo(*said).text("longest_edge"), "960");
  write("inference.yml", R"(PreProcess:
  transform_ops:
  - ResizeImage: {resize_short: 256}
  - CropImage: {size: 224}
  - NormalizeImage: {mean: [0.5], std: [0.5], scale: 0.00392156862745098}
PostProcess: {Topk: {topk: 5, label_list: [tench, goldfish]}}
)");
  said = found(model({1, 2}));
  EXPECT_EQ(ModelInfo(*said).model_type(), "Classification");
  EXPECT_THAT(ModelInfo(*said).labels(), ElementsAre("tench", "goldfish"));
  EXPECT_EQ(ModelInfo(*said).text("crop_fraction"), "0.875");
  EXPECT_EQ(ModelInfo(*said).text("topk"), "5");
  EXPECT_EQ(ModelInfo(*said).text("color_space"), "RGB");
  write("inference.yml", R"(PreProcess:
  transform_ops:
  - RecResizeImg: {image_shape: [3, 48, 320]}
PostProcess: {name: CTCLabelDecode, character_dict: [a, "0", 'null', ~]}
)");
  EXPECT_THAT(ModelInfo(*found(model({1, 40, 6}))).labels(), ElementsAre("a", "0", "null", "", " "));
  EXPECT_THAT(ModelInfo(*found(model({1, 40, 5}))).labels(), ElementsAre("a", "0", "null", ""));
}

TEST_F(SideFiles, GStreamersModelinfoIsChecked) {
  write("model.onnx.modelinfo",
        "[modelinfo]\nversion=1.0\ngroup-id=yolo-v8-segmentation-out\n\n[images]\ntype=float32\ndims=-1,3,64,64\ndir="
        "input\n"
        "ranges=0.0,1.0;-1.0,1.0;0.0,255.0\n\n# a "
        "comment\n[out]\nid=yolo-v8-segmentation-out-detections\ndims=1,13,84\ndir=output\n");
  const auto said = found();
  EXPECT_EQ(ModelInfo(*said).model_type(), "YOLOv8-seg");
  EXPECT_EQ(ModelInfo(*said).text("mean_values"), "0 127.5 0");
  EXPECT_EQ(ModelInfo(*said).text("scale_values"), "255 127.5 1");
  write("model.json", R"({"json_schema_version": "2.0.0", "input_preproc": [{"params": {"color_space": "BGR"}}]})");
  EXPECT_EQ(ModelInfo(*found()).text("color_space"), "")
      << "what describes a model as a whole is not mixed with others";
  write("a.modelinfo", "[modelinfo]\nversion=1.0\n[logits]\ndir=output\n");
  EXPECT_THAT(refusal("a.modelinfo"), AllOf(HasSubstr("a.modelinfo"), HasSubstr("\"logits\""), HasSubstr("\"out\"")));
  write("a.modelinfo", "[modelinfo]\nversion=1.0\n[out]\ndir=output\ndims=1,13,99\n");
  EXPECT_THAT(refusal("a.modelinfo"), AllOf(HasSubstr("1,13,99"), HasSubstr("84")));
  write("a.modelinfo", "[modelinfo]\nversion=1.0\nwhat\n");
  EXPECT_THAT(refusal("a.modelinfo"), HasSubstr("line 3"));
}

TEST_F(SideFiles, DamagedOnesAreNamed) {
  const std::pair<const char*, const char*> damaged[] = {
      {"{", "no JSON"},
      {"a: [", "no YAML"},
      {"a: 1", "none of"},
      {R"({"json_schema_version": "1.0.0", "output_postproc": []})", "1.0.0"},
      {R"({"json_schema_version": "2.0.0", "input_preproc": [{"params": {"range": [1, 0]}}]})", "range"},
      {R"({"json_schema_version": "2.0.0", "input_preproc": [{"params": {"mean": ["x"]}}]})", "mean"},
      {R"({"json_schema_version": "2.0.0", "input_preproc": [{"params": {"mean": [1, 2], "std": [1, 2, 3]}}]})",
       "2 numbers"},
      {R"({"json_schema_version": "2.0.0", "output_postproc": [{"layer_name": "boxes"}]})", "\"boxes\""},
      {R"({"json_schema_version": "2.0.0", "output_postproc": [{"labels": {"a": 1}}]})", "labels"},
      {R"({"json_schema_version": "2.0.0", "output_postproc": [{"labels": "/nowhere/labels.txt"}]})",
       "/nowhere/labels.txt"},
      {R"({"do_resize": true, "size": {"height": -1, "width": 3}})", "height"},
      {R"({"do_normalize": true, "image_mean": [0], "image_std": [0]})", "deviation of 0"},
      {R"({"architectures": ["XForImageClassification"], "id2label": {"x": "y"}})", "id2label"},
      {R"({"architectures": ["XForImageClassification"], "id2label": {"999999999": "y"}})", "id2label"},
      {"PreProcess: {transform_ops: [{NormalizeImage: {scale: 1/0}}]}", "scale"},
  };
  for (const auto& [text, part] : damaged) {
    write("file.txt", text);
    EXPECT_THAT(refusal("file.txt"), AllOf(HasSubstr("file.txt"), HasSubstr(part))) << text;
  }
  EXPECT_THAT(refusal("absent.json"), HasSubstr("no such file"));
  write("deep.json", "{\"json_schema_version\": " + std::string(100'000, '[') + std::string(100'000, ']') + "}");
  EXPECT_THAT(refusal("deep.json"), HasSubstr("deeper"));
  write("cycle.yaml", "names: &x [*x]\ntask: a\n");
  EXPECT_NE(refusal("cycle.yaml"), "no error");
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 10; ++k) bomb += (k ? ", *a" : "*a") + std::to_string(i - 1);
    bomb += "]\n";
  }
  write("bomb.yaml", bomb);
  EXPECT_THAT(refusal("bomb.yaml"), HasSubstr("nodes"));
  std::string repeated = "names: [&a " + std::string(1u << 20, 'x');
  for (int i = 0; i < 65; ++i) repeated += ", *a";
  write("repeated.yaml", repeated + "]\ntask: a\n");
  EXPECT_THAT(refusal("repeated.yaml"), HasSubstr("aliases"));
  std::string many = "{";  // The time must not grow with the square of their number.
  for (int i = 0; i < 200'000; ++i) many += "\"" + std::to_string(i) + "\":0,";
  write("many.json", many + "\"x\":0}");
  EXPECT_THAT(refusal("many.json"), HasSubstr("none of"));
  write("large.json", std::string((16u << 20) + 1, ' '));
  EXPECT_THAT(refusal("large.json"), HasSubstr("bytes"));
}

TEST_F(SideFiles, FoundOnesThatCannotBeReadAreSaidAndLeftOut) {
  write("metadata.yaml", "names: [\n");
  write("config.json", "{");
  write("preprocessor_config.json", R"({"do_resize": true, "size": {"height": 0, "width": 3}})");
  const auto said = found();
  EXPECT_THAT(ModelInfo(*said).facts(), IsEmpty());
  EXPECT_THAT(ModelInfo(*said).remarks(), ElementsAre(AllOf(HasSubstr("metadata.yaml"), HasSubstr("not used")),
                                                      AllOf(HasSubstr("preprocessor_config.json"), HasSubstr("height")),
                                                      AllOf(HasSubstr("config.json"), HasSubstr("no JSON"))));
}

}  // namespace side_files_test
