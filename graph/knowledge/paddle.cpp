// SPDX-License-Identifier: Apache-2.0
// inference.yml, which PaddlePaddle's suites (PaddleX, PaddleOCR, PaddleClas, PaddleDetection, PaddleSeg) export beside a model.
#include <algorithm>
#include <string>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/graph/knowledge/internal/document.hpp>
#include <tenon/graph/knowledge/internal/values.hpp>
#include <tenon/graph/model.hpp>

namespace tenon {
inline namespace v1 {
namespace {

/// Suites name a step by its key ("- NormalizeImage: {...}") or by its entry "type" ("- type: NormalizeImage").
struct Step {
  std::string name;
  const Tree& parameters;
};

std::vector<Step> steps_of(const Tree& list) {
  std::vector<Step> steps;
  for (const Tree& one : list) {
    if (!one.is_object() || one.empty()) continue;
    const std::string type = text_of(member(one, "type"));
    if (!type.empty())
      steps.push_back({type, one});
    else
      steps.push_back({one.begin().key(), one.begin().value()});
  }
  return steps;
}

void read_normalise(const Tree& parameters, SideFacts& to) {
  const Tree &scale = member(parameters, "scale"), &is_scaled = member(parameters, "is_scale");
  const bool is_part = is_scaled.is_null() || is_true(is_scaled);
  const double factor = !scale.is_null() ? number_of(scale, "scale") : is_part ? 1.0 / 255 : 1;
  std::vector<double> mean, deviation;
  if (text_of(member(parameters, "norm_type")) != "none") {
    if (const Tree& value = member(parameters, "mean"); !value.is_null()) mean = numbers_of(value, "mean");
    if (const Tree& value = member(parameters, "std"); !value.is_null()) deviation = numbers_of(value, "std");
    // PaddleSeg's Normalize has these defaults.
    if (mean.empty() && deviation.empty()) mean = deviation = {0.5};
  }
  add_normalisation(factor, 0, mean, deviation, to);
}

void read_resize(const Step& step, SideFacts& to, double& short_edge) {
  const Tree& p = step.parameters;
  const auto number = [&](const char* name) {
    return member(p, name).is_null() ? 0.0 : number_of(member(p, name), name);
  };
  for (const char* name : {"target_size", "size", "image_shape"}) {
    const Tree& size = member(p, name);
    if (size.is_null()) continue;
    std::vector<double> extents = numbers_of(size, name);
    if (extents.size() == 3) extents.erase(extents.begin());  // Channels come first.
    if (extents.size() == 1) extents.push_back(extents[0]);
    to.add("input_size", numbers_text(extents));
  }
  if (const Tree& keeps = member(p, "keep_ratio"); !keeps.is_null())
    to.add("resize_type", is_true(keeps) ? "fit_to_window" : "standard");
  // Lines of text are scaled to the input's height and padded at their right.
  if (step.name == "RecResizeImg") to.add("resize_type", "fit_to_window");
  if (step.name == "RecResizeImg") to.add("pad_value", "127.5");
  if (const double edge = number("resize_short"); edge > 0) short_edge = edge;
  if (const double edge = number("resize_long"); edge > 0) to.add("longest_edge", number_text(edge));
  if (const double edge = number("limit_side_len"); edge > 0)
    to.add(text_of(member(p, "limit_type")) == "min" ? "shortest_edge" : "longest_edge", number_text(edge));
  if (step.name == "DetResizeForTest") to.add("size_multiple", "32"), to.add("resize_type", "standard");
  if (const Tree& interp = member(p, "interp"); !interp.is_null()) {  // OpenCV's numbers.
    const std::string text = text_of(interp);
    to.add("interpolation", text == "0"                                   ? "nearest"
                            : text == "1" || lower_case(text) == "linear" ? "linear"
                            : text == "2"                                 ? "cubic"
                                                                          : lower_case(text));
  }
}

void read_preparation(const Tree& list, SideFacts& to) {
  std::string order = "RGB";
  double short_edge = 0;
  for (const Step& step : steps_of(list)) {
    if (step.name == "DecodeImage" && text_of(member(step.parameters, "img_mode")) == "BGR") order = "BGR";
    if (step.name == "NormalizeImage" || step.name == "Normalize") read_normalise(step.parameters, to);
    if (step.name.find("Resize") != std::string::npos) read_resize(step, to, short_edge);
    if (step.name == "RecResizeImg") {  // It normalises, too: (x / 255 - 0.5) / 0.5.
      add_normalisation(1.0 / 255, 0, {0.5}, {0.5}, to);
    }
    if (step.name == "CropImage" && !member(step.parameters, "size").is_null()) {
      const std::vector<double> size = numbers_of(member(step.parameters, "size"), "size");
      if (short_edge > 0 && !size.empty()) {
        to.add("resize_type", "crop");
        to.add("crop_fraction", number_text(std::min(1.0, size[0] / short_edge)));
        to.add("input_size", numbers_text({size[0], size.back()}));
      }
    }
  }
  to.add("color_space", order);
}

/// The characters of a recogniser. Its classes are a blank, the characters of the file and, unless the output has no place for it, " ".
std::vector<std::string> alphabet_of(const Tree& characters, const Model& model) {
  std::vector<std::string> alphabet = names_of(characters, "character_dict");
  const auto outputs = model.outputs();
  const PartialShape shape = outputs.empty() ? PartialShape::dynamic() : outputs[0].get_partial_shape();
  const bool is_known = shape.rank().is_static() && shape.size() > 0 && shape[shape.size() - 1].is_static();
  const auto count = is_known ? static_cast<std::size_t>(shape[shape.size() - 1].get_length()) : alphabet.size() + 2;
  if (count == alphabet.size() + 2) alphabet.emplace_back(" ");
  return alphabet;
}

void read_results(const Tree& results, const Model& model, SideFacts& to) {
  const std::string name = text_of(member(results, "name"));
  const auto add_number = [&](const char* key, const char* from) {
    if (const Tree& value = member(results, from); !value.is_null()) to.add(key, number_text(number_of(value, from)));
  };
  if (name == "DBPostProcess") {
    to.add("model_type", "DB");
    add_number("pixel_threshold", "thresh");
    add_number("confidence_threshold", "box_thresh");
    add_number("unclip_ratio", "unclip_ratio");
    add_number("topk", "max_candidates");
  }
  if (name == "CTCLabelDecode") {
    to.add("model_type", "CTC-blank-first");
    if (const Tree& characters = member(results, "character_dict"); !characters.is_null())
      to.add("labels", names_text(alphabet_of(characters, model)));
  }
  for (const char* kind : {"Topk", "MultiLabelThreshOutput"}) {
    const Tree& topk = member(results, kind);
    if (topk.is_null()) continue;
    to.add("model_type", "Classification");
    if (kind[0] == 'M') to.add("multilabel", "YES");
    if (const Tree& most = member(topk, "topk"); !most.is_null()) to.add("topk", number_text(number_of(most, "topk")));
    if (const Tree& least = member(topk, "threshold"); least.is_number() || least.is_string())
      to.add("confidence_threshold", number_text(number_of(least, "threshold")));
    if (const Tree& names = member(topk, "label_list"); !names.is_null())
      to.add("labels", names_text(names_of(names, "label_list")));
  }
}

}  // namespace

void read_paddle(const Tree& root, const Model& model, SideFacts& to) {
  const Tree& deploy = member(root, "Deploy");  // PaddleSeg's.
  const Tree& preparation = member(root, "PreProcess");
  read_preparation(!deploy.is_null()                                 ? member(deploy, "transforms")
                   : !member(preparation, "transform_ops").is_null() ? member(preparation, "transform_ops")
                                                                     : member(root, "Preprocess"),
                   to);
  if (!deploy.is_null()) to.add("model_type", "Segmentation");
  read_results(member(root, "PostProcess"), model, to);
  to.add("task", text_of(member(member(root, "Global"), "model_name")));
  if (const Tree& names = member(root, "label_list"); !names.is_null())
    to.add("labels", names_text(names_of(names, "label_list")));
  if (const Tree& least = member(root, "draw_threshold"); !least.is_null())
    to.add("confidence_threshold", number_text(number_of(least, "draw_threshold")));
}

}  // namespace v1
}  // namespace tenon
