// SPDX-License-Identifier: Apache-2.0
// config.json and preprocessor_config.json as transformers saves them, and timm's config.json.
// @source huggingface.co/docs/transformers: main_classes/image_processor, main_classes/configuration; timm: pretrained_cfg
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/graph/knowledge/internal/document.hpp>
#include <tenon/graph/knowledge/internal/values.hpp>

namespace tenon {
inline namespace v1 {
namespace {

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// The last words of a class's name, and the type of its results. Null: by the configuration's model_type.
constexpr std::pair<const char*, const char*> kHeads[] = {
    {"ForImageClassification", "Classification"}, {"ForObjectDetection", nullptr}, {"ForInstanceSegmentation", nullptr},
    {"ForSemanticSegmentation", "Segmentation"},  {"ForDepthEstimation", "Depth"}, {"ForPoseEstimation", "Heatmaps"}};

/// Families of detectors by the configuration's model_type; others are named as they are there.
constexpr std::pair<const char*, const char*> kDetectors[] = {{"detr", "DETR"},
                                                              {"yolos", "DETR"},
                                                              {"table-transformer", "DETR"},
                                                              {"rt_detr", "RT-DETR"},
                                                              {"rt_detr_v2", "RT-DETR"},
                                                              {"d_fine", "RF-DETR"},
                                                              {"rf_detr", "RF-DETR"},
                                                              {"deformable_detr", "RF-DETR"},
                                                              {"conditional_detr", "RF-DETR"},
                                                              {"dab-detr", "RF-DETR"},
                                                              {"lw_detr", "RF-DETR"},
                                                              {"deimv2", "RF-DETR"}};

std::string detector_of(const std::string& model_type) {
  for (const auto& [name, type] : kDetectors) {
    if (model_type == name) return type;
  }
  return model_type;
}

/// PIL's numbers of filters.
std::string filter_name(const Tree& resample) {
  const std::string text = lower_case(text_of(resample));
  constexpr std::pair<const char*, const char*> names[] = {
      {"0", "nearest"}, {"1", "lanczos"}, {"2", "linear"},        {"3", "cubic"},
      {"4", "box"},     {"5", "hamming"}, {"bilinear", "linear"}, {"bicubic", "cubic"}};
  for (const auto& [number, name] : names) {
    if (text == number) return name;
  }
  return text;
}

double edge_of(const Tree& size, const char* name) {
  const Tree& edge = size.is_object() ? member(size, name) : size;
  if (edge.is_null()) return 0;
  const double value = number_of(edge, name);
  if (value < 1 || value > 65536)
    throw Error(Code::kInvalidArgument, std::string(name) + " is " + number_text(value) + "; it must be 1 to 65536");
  return value;
}

/// What has to be cut, in the same pixels as the shorter edge.
double cut_of(const Tree& root) {
  const Tree& size = member(root, "crop_size");
  return size.is_object() ? std::min(edge_of(size, "height"), edge_of(size, "width")) : edge_of(size, "crop_size");
}

void read_size(const Tree& root, SideFacts& to) {
  const Tree& size = member(root, "size");
  const bool is_cut = is_true(member(root, "do_center_crop"));
  if (size.is_null() || (!member(root, "do_resize").is_null() && !is_true(member(root, "do_resize")))) return;
  const bool is_edge = size.is_object() ? !member(size, "shortest_edge").is_null() : size.is_array() ? false : is_cut;
  if (!is_edge) {
    std::vector<double> extents;
    if (size.is_array())
      extents = numbers_of(size, "size");
    else
      extents = {edge_of(size, "height"), edge_of(size, "width")};
    const bool is_known = extents.size() == 2 && extents[0] > 0 && extents[1] > 0;
    to.add("resize_type", "standard");
    if (is_known) to.add("input_size", numbers_text(extents));
    if (is_known && is_cut && cut_of(root) > 0)
      to.add("crop_fraction", number_text(std::min(1.0, cut_of(root) / extents[0])));
    return;
  }
  const double edge = edge_of(size, "shortest_edge");
  const Tree& part = member(root, "crop_pct");
  if (!part.is_null()) {  // ConvNeXt: smaller pictures are cut, larger ones stretched.
    to.add("resize_type", edge < 384 ? "crop" : "standard");
    if (edge < 384) to.add("crop_fraction", number_text(number_of(part, "crop_pct")));
    to.add("input_size", numbers_text({edge, edge}));
  } else if (is_cut) {
    const double cut = cut_of(root) > 0 ? cut_of(root) : edge;
    to.add("resize_type", "crop");
    to.add("crop_fraction", number_text(std::min(1.0, cut / edge)));
    to.add("input_size", numbers_text({cut, cut}));
  } else {
    to.add("resize_type", "standard");
    to.add("shortest_edge", number_text(edge));
    if (const Tree& most = member(size, "longest_edge"); !most.is_null())
      to.add("longest_edge", number_text(edge_of(size, "longest_edge")));
  }
}

void read_values(const Tree& root, SideFacts& to) {
  const Tree& rescales = member(root, "do_rescale");
  const Tree& factor = member(root, "rescale_factor");
  // Before there was do_rescale, samples were 0 to 1 wherever they were normalised.
  const bool is_rescaled = rescales.is_null() || is_true(rescales);
  const double factor_of_samples = !is_rescaled       ? 1
                                   : factor.is_null() ? 1.0 / 255
                                                      : number_of(factor, "rescale_factor");
  std::vector<double> mean, deviation;
  if (is_true(member(root, "do_normalize"))) {
    const Tree &image_mean = member(root, "image_mean"), &image_std = member(root, "image_std");
    if (image_mean.is_null() || image_std.is_null())
      to.remarks.push_back(
          "do_normalize is true, and image_mean or image_std is missing: state mean_values and scale_values");
    if (!image_mean.is_null()) mean = numbers_of(image_mean, "image_mean");
    if (!image_std.is_null()) deviation = numbers_of(image_std, "image_std");
  }
  add_normalisation(factor_of_samples, 0, mean, deviation, to);
  for (const char* other : {"rescale_offset", "include_top"}) {
    if (is_true(member(root, other)))
      to.remarks.push_back(std::string(other) + " changes samples further, which is not done here");
  }
}

/// The labels of a map from numbers to names.
void read_labels(const Tree& map, SideFacts& to) {
  if (!map.is_object() || map.empty()) return;
  const std::vector<std::string> labels = names_by_number(literal_of(map));
  if (labels.empty()) throw Error(Code::kInvalidArgument, "id2label is no map from numbers to names");
  to.add("labels", names_text(labels));
}

/// timm.create_model(..., pretrained=True).pretrained_cfg, as timm pushes it to hubs.
void read_timm(const Tree& root, SideFacts& to) {
  const Tree& pretrained = member(root, "pretrained_cfg");
  to.add("model_type", "Classification");
  to.add("task", "image-classification");
  if (const Tree& names = member(root, "label_names"); names.is_array())
    to.add("labels", names_text(names_of(names, "label_names")));
  to.add("color_space", "RGB");
  const Tree &mean = member(pretrained, "mean"), &deviation = member(pretrained, "std");
  if (!mean.is_null() && !deviation.is_null())
    add_normalisation(1.0 / 255, 0, numbers_of(mean, "mean"), numbers_of(deviation, "std"), to);
  double part =
      member(pretrained, "crop_pct").is_null() ? 0.875 : number_of(member(pretrained, "crop_pct"), "crop_pct");
  part = std::clamp(part, 0.01, 1.0);
  if (const Tree& size = member(pretrained, "input_size"); !size.is_null()) {
    const std::vector<double> extents = numbers_of(size, "input_size");
    if (extents.size() == 3) to.add("input_size", numbers_text({extents[1], extents[2]}));
    // timm resizes to a whole number of pixels, rounded down, before it cuts.
    if (extents.size() == 3 && extents[1] >= 1) part = std::min(1.0, extents[1] / std::floor(extents[1] / part));
  }
  const std::string mode = text_of(member(pretrained, "crop_mode"));
  if (mode.empty() || mode == "center") {
    to.add("resize_type", "crop");
  } else if (mode == "squash") {
    to.add("resize_type", "standard");
  } else {
    to.remarks.push_back("crop_mode \"" + mode + "\" is not done here; the centre is cut");
    to.add("resize_type", "crop");
  }
  to.add("crop_fraction", number_text(part));
  to.add("interpolation", filter_name(member(pretrained, "interpolation")));
}

}  // namespace

void read_preprocessor_config(const Tree& root, const Model&, SideFacts& to) {
  to.add("color_space", is_true(member(root, "do_flip_channel_order")) ? "BGR" : "RGB");
  read_values(root, to);
  read_size(root, to);
  to.add("interpolation", filter_name(member(root, "resample")));
}

void read_config(const Tree& root, const Model&, SideFacts& to) {
  if (member(root, "pretrained_cfg").is_object()) return read_timm(root, to);
  const Tree& classes = member(root, "architectures");
  const std::string name = classes.is_array() && !classes.empty() ? text_of(classes[0]) : std::string();
  for (const auto& [head, type] : kHeads) {
    if (!ends_with(name, head)) continue;
    to.add("model_type", type ? type : detector_of(text_of(member(root, "model_type"))));
    to.add("task", name);
    read_labels(member(root, "id2label"), to);
    if (text_of(member(root, "problem_type")) == "multi_label_classification") to.add("multilabel", "YES");
  }
}

}  // namespace v1
}  // namespace tenon
