// SPDX-License-Identifier: Apache-2.0
// DL Streamer's model-proc. @source dlstreamer.github.io, dev_guide/model_proc_file: input_preproc, output_postproc
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/graph/knowledge/internal/document.hpp>
#include <tenon/graph/knowledge/internal/values.hpp>

namespace tenon {
inline namespace v1 {
namespace {

/// Converters, and the type of results that each reads. Up to YOLOv5 they read raw heads over grids, YOLOv7's reads finished rows.
constexpr std::pair<const char*, const char*> kConverters[] = {
    {"detection_output", "SSD"},
    {"boxes_labels", "SSD"},
    {"boxes_scores", "SSD"},
    {"yolo_v2", "yolo_v2"},
    {"yolo_v3", "yolo_v3"},
    {"yolo_v4", "YOLOv4-grids"},
    {"yolo_v5", "YOLOv5-grids"},
    {"yolo_v7", "YOLOv5"},
    {"yolo_v8", "YOLOv8"},
    {"yolo_v10", "YOLOv10"},
    {"yolo_v11", "YOLOv8"},
    {"yolo_v26", "YOLO26"},
    {"yolo_v8_obb", "YOLOv8-obb"},
    {"yolo_v11_obb", "YOLOv8-obb"},
    {"yolo_v26_obb", "YOLOv8-obb"},
    {"yolo_v8_seg", "YOLOv8-seg"},
    {"yolo_v11_seg", "YOLOv8-seg"},
    {"yolo_v26_seg", "YOLOv8-seg"},
    {"yolo_v8_pose", "YOLOv8-pose"},
    {"yolo_v11_pose", "YOLOv8-pose"},
    {"yolo_v26_pose", "YOLOv8-pose"},
    {"yolo_x", "YOLOX"},
    {"mask_rcnn", "MaskRCNN"},
    {"heatmap_boxes", "DB"},
    {"label", "Classification"},
    {"keypoints_hrnet", "Heatmaps"},
    {"keypoints_openpose", "OpenPose"},
    {"paddle_ocr", "CTC-blank-first"},
    {"anomaly_detection", "AnomalyDetection"},
    {"semantic_mask", "Segmentation"},
    {"rtdetr", "RT-DETR"},
};

void check_name(const std::string& name, const Model& model, bool is_input) {
  if (!name.empty()) shape_of_port(model, is_input, name);
}

void read_resize(const Tree& params, SideFacts& to) {
  const std::string resize = text_of(member(params, "resize")), crop = text_of(member(params, "crop"));
  if (crop == "central-resize") return to.add("resize_type", "crop");
  if (resize == "aspect-ratio")
    to.add("resize_type", "fit_to_window_letterbox");
  else if (resize == "aspect-ratio-pad")
    to.add("resize_type", "fit_to_window");
  else if (resize.empty() || resize == "no-aspect-ratio")
    to.add("resize_type", "standard");
  else
    to.remarks.push_back("resize \"" + resize + "\" is not done here; pictures are stretched");
  if (crop.empty()) return;
  // DL Streamer makes the picture an eighth larger than the input before it cuts.
  if (crop == "central" && resize == "no-aspect-ratio")
    to.add("crop_fraction", number_text(1 / 1.125));
  else
    to.remarks.push_back("crop \"" + crop + "\" with resize \"" + resize +
                         "\" is not done here; the whole picture is used");
}

void read_padding(const Tree& padding, SideFacts& to) {
  if (padding.is_null()) return;
  for (const char* stride : {"stride_x", "stride_y"}) {
    const Tree& value = member(padding, stride);
    if (!value.is_null() && number_of(value, stride) != 0)
      to.remarks.push_back(std::string("padding ") + stride + " is not done here; pictures fill the input");
  }
  if (const Tree& fill = member(padding, "fill_value"); !fill.is_null())
    to.add("pad_value", numbers_text(numbers_of(fill, "fill_value")));
}

void read_image(const Tree& params, SideFacts& to) {
  std::string order = text_of(member(params, "color_space"));
  if (order == "GRAYSCALE") order = "GRAY";
  to.add("color_space", order.empty() ? "BGR" : order);
  read_resize(params, to);
  read_padding(member(params, "padding"), to);
  std::vector<double> mean, deviation, range{0, 255};
  if (const Tree& value = member(params, "mean"); !value.is_null()) mean = numbers_of(value, "mean");
  if (const Tree& value = member(params, "std"); !value.is_null()) deviation = numbers_of(value, "std");
  if (const Tree& value = member(params, "range"); !value.is_null()) range = numbers_of(value, "range");
  if (range.size() != 2 || range[0] >= range[1])
    throw Error(Code::kInvalidArgument, "range must be two numbers, the lower one first");
  add_normalisation((range[1] - range[0]) / 255, range[0], mean, deviation, to);
}

/// The labels of a converter: a list, or the name of a file with one in each line.
std::vector<std::string> labels_of(const Tree& labels) {
  if (!labels.is_string()) return labels.is_null() ? std::vector<std::string>() : names_of(labels, "labels");
  std::optional<std::string> lines = text_of_file(text_of(labels));
  if (!lines) throw Error(Code::kNotFound, "there is no file \"" + text_of(labels) + "\" with its labels");
  std::erase(*lines, '\r');
  return split_names(*lines, '\n');
}

void read_output(const Tree& output, const Model& model, SideFacts& to) {
  check_name(text_of(member(output, "layer_name")), model, false);
  if (const Tree& names = member(output, "layer_names"); names.is_array()) {
    for (const std::string& name : names_of(names, "layer_names")) check_name(name, model, false);
  }
  const std::string converter = text_of(member(output, "converter"));
  std::string type = converter;
  for (const auto& [name, known] : kConverters) {
    if (converter == name) type = known;
  }
  if (converter != "raw_data_copy" && converter != "tensor_to_text") to.add("model_type", type);
  to.add("labels", names_text(labels_of(member(output, "labels"))));
  const std::string method = text_of(member(output, "method"));
  if (method == "compound" || method == "multi") to.add("multilabel", "YES");
  for (const auto& [key, name] :
       {std::pair("confidence_threshold", "threshold"), std::pair("iou_threshold", "iou_threshold"),
        std::pair("pixel_threshold", "binarize_threshold"), std::pair("anchors", "anchors")}) {
    const Tree& value = member(output, name);
    if (!value.is_null()) to.add(key, numbers_text(numbers_of(value, name)));
  }
}

}  // namespace

void read_model_proc(const Tree& root, const Model& model, SideFacts& to) {
  const std::string version = text_of(member(root, "json_schema_version"));
  if (version.substr(0, 2) != "2.")
    throw Error(Code::kInvalidArgument, "json_schema_version is \"" + version + "\"; 2.0.0 to 2.2.0 are known");
  const Tree& inputs = member(root, "input_preproc");
  const Tree* image = nullptr;
  for (const Tree& input : inputs) {
    const std::string format = text_of(member(input, "format"));
    if (format.empty() || format == "image") image = &input;
    check_name(text_of(member(input, "layer_name")), model, true);
  }
  read_image(image ? member(*image, "params") : Tree(), to);
  const Tree& outputs = member(root, "output_postproc");
  std::size_t count = 0;
  for (const Tree& output : outputs) {
    if (++count == 1) read_output(output, model, to);
  }
  if (count > 1)
    to.remarks.push_back("output_postproc describes " + std::to_string(count) + " outputs; the first is read");
}

}  // namespace v1
}  // namespace tenon
