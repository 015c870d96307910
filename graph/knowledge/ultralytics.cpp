// SPDX-License-Identifier: Apache-2.0
#include <tenon/graph/knowledge/internal/ultralytics.hpp>

#include <tenon/graph/internal/literals.hpp>
#include <tenon/graph/knowledge/internal/values.hpp>

namespace tenon {
inline namespace v1 {
namespace {

std::string sizes_text(const std::vector<std::size_t>& sizes) {
  std::string text;
  for (const std::size_t size : sizes) text += (text.empty() ? "" : " ") + std::to_string(size);
  return text;
}

}  // namespace

FactTexts ultralytics_facts(const std::function<std::string(const char*)>& entry, std::vector<std::string>& remarks) {
  const std::string names = entry("names"), task = lower_case(entry("task")), stride = entry("stride");
  if (names.empty() || (task.empty() && stride.empty())) return {};
  FactTexts facts{{"model_type", "YOLO"}};
  const auto add = [&](const char* key, std::string value) {
    if (!value.empty()) facts.emplace_back(key, std::move(value));
  };
  const auto add_sizes = [&](const char* key, const char* from) {
    const std::string text = entry(from);
    if (text.empty()) return;
    const std::vector<std::size_t> sizes = read_literal_sizes(text);
    if (sizes.empty()) remarks.push_back(std::string(from) + " \"" + short_form(text) + "\" is no list of sizes");
    add(key, sizes_text(sizes));
  };
  add("task", task);
  const std::vector<std::string> labels = names_by_number(names);
  if (labels.empty()) remarks.push_back("names are no map from numbers to names: " + short_form(names));
  add("labels", names_text(labels));
  add_sizes("stride", "stride");
  add_sizes("input_size", "imgsz");
  add_sizes("keypoints", "kpt_shape");
  // "RTDETRDecoder", "v10Detect": detectors of one task have several heads.
  add("head", entry("head"));
  bool is_inside = false;
  if (read_flag(entry("end2end"), is_inside) && is_inside) add("end_to_end", "YES");
  for (const auto& [key, value] : read_literal_map(entry("args"))) {
    if (key == "nms" && read_flag(value, is_inside) && is_inside) add("end_to_end", "YES");
  }
  return facts;  // Old exporters do not say it of models that have suppression inside, so that nothing else means "no".
}

FactTexts ultralytics_defaults(const std::string& model_type) {
  const bool is_stretched = model_type == "RT-DETR" || model_type == "Depth";
  const char* resize = model_type == "Classification" ? "crop" : is_stretched ? "standard" : "fit_to_window_letterbox";
  return {{"scale_values", "255"},
          {"pad_value", "114"},
          {"color_space", "RGB"},
          {"iou_threshold", "0.7"},
          {"resize_type", resize}};
}

}  // namespace v1
}  // namespace tenon
