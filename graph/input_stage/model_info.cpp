// SPDX-License-Identifier: Apache-2.0
// The table of what exporters write, and the literals in which they write it.
#include <tenon/graph/input_stage/model_info.hpp>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

#include <tenon/core/any.hpp>
#include <tenon/graph/internal/literals.hpp>
#include <tenon/graph/model.hpp>

namespace tenon {
inline namespace v1 {
namespace {

/// More classes than any model has; a larger number is damage, not a class.
constexpr std::size_t kMaxLabels = 1'000'000;

/// What Ultralytics' predictors do for each task. @source docs.ultralytics.com: tasks, modes/predict, modes/export
struct Task {
  const char *name, *model_type, *resize_type;
};
constexpr Task kTasks[] = {{"detect", "YOLOv8", "fit_to_window_letterbox"},
                           {"segment", "YOLOv8-seg", "fit_to_window_letterbox"},
                           {"pose", "YOLOv8-pose", "fit_to_window_letterbox"},
                           {"obb", "YOLOv8-obb", "fit_to_window_letterbox"},
                           {"classify", "Classification", "crop"}};

/// What is the same for all of them.
constexpr std::pair<const char*, const char*> kDefaults[] = {
    {"scale_values", "255"}, {"pad_value", "114"}, {"color_space", "RGB"}, {"iou_threshold", "0.7"}};

std::string text_at(const Model& model, const char* map, const std::string& key) {
  const std::vector<std::string> path{map, key};
  return model.has_rt_info(path) ? model.get_rt_info(path).as<std::string>() : std::string();
}

std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// The extent of an axis counted from the last; nothing if it is open or there is none.
std::optional<std::size_t> extent(const PartialShape& shape, std::size_t from_last) {
  if (shape.rank().is_dynamic() || shape.size() <= from_last) return std::nullopt;
  const Dimension& axis = shape[shape.size() - 1 - from_last];
  return axis.is_static() ? std::optional(static_cast<std::size_t>(axis.get_length())) : std::nullopt;
}

/// The extents that outputs of three axes may have beside the number of boxes.
std::vector<std::size_t> widths(const PartialShape& shape) {
  std::vector<std::size_t> found;
  for (const std::size_t axis : {1, 0}) {
    if (const auto one = extent(shape, axis)) found.push_back(*one);
  }
  return found;
}

}  // namespace

ModelInfo::ModelInfo(const Model& model) : model_(model) {
  const std::string type = lower_case(stated("model_type"));
  // A model that states another type in model_info is described there as a whole.
  if (!type.empty() && type != "yolo") return;
  is_ultralytics_ = type == "yolo" || (!entry("names").empty() && !(entry("task").empty() && entry("stride").empty()));
}

std::string ModelInfo::entry(const std::string& key) const {
  for (const char* map : {"framework", "metadata.yaml"}) {
    if (std::string text = text_at(model_, map, key); !text.empty()) return text;
  }
  return {};
}

std::string ModelInfo::stated(const std::string& key) const { return text_at(model_, "model_info", key); }

std::string ModelInfo::text(const std::string& key) const {
  std::string found = stated(key);
  if (!found.empty()) return found;
  // Anomaly models have their mean and scale inside, and take 0..1, as Model API gives it to them.
  if (key == "scale_values" && lower_case(stated("model_type")) == "anomalydetection") return "255";
  return is_ultralytics_ ? task_default(key) : found;
}

std::string ModelInfo::task_default(const std::string& key) const {
  // Both spellings of the order of channels are one statement.
  if (key == "color_space" && !stated("reverse_input_channels").empty()) return {};
  if (key == "resize_type") {
    const std::string type = model_type();
    for (const Task& task : kTasks) {
      if (type == task.model_type) return task.resize_type;
    }
    return "fit_to_window_letterbox";
  }
  for (const auto& [name, value] : kDefaults) {
    if (key == name) return value;
  }
  return {};
}

std::vector<std::string> ModelInfo::labels() const {
  std::vector<std::string> names;
  std::istringstream words(stated("labels"));
  for (std::string label; words >> label;) names.push_back(label);
  if (!names.empty() || !is_ultralytics_) return names;
  for (auto& [key, name] : read_literal_map(entry("names"))) {
    std::size_t number = 0;
    const auto read = std::from_chars(key.data(), key.data() + key.size(), number);
    if (read.ec != std::errc{} || read.ptr != key.data() + key.size() || number >= kMaxLabels) return {};
    while (names.size() <= number) names.push_back("#" + std::to_string(names.size()));
    names[number] = std::move(name);
  }
  return names;
}

std::string ModelInfo::model_type() const { return is_ultralytics_ ? yolo_type() : stated("model_type"); }

std::string ModelInfo::yolo_type() const {
  const std::string task = lower_case(entry("task"));
  const std::string by_shapes = type_by_shapes();
  if (task.empty()) return by_shapes;
  for (const Task& one : kTasks) {
    // Detectors of one task have several heads, which only their shapes tell apart.
    if (task == one.name) return task == "detect" && by_shapes == "RT-DETR" ? by_shapes : one.model_type;
  }
  return "YOLO of the task " + task;
}

std::string ModelInfo::type_by_shapes() const {
  const auto outputs = model_.outputs();
  if (outputs.empty()) return "YOLOv8";
  const PartialShape& first = outputs[0].get_partial_shape();
  if (first.rank().is_dynamic() || first.size() == 2) return first.rank().is_dynamic() ? "YOLOv8" : "Classification";
  const bool has_prototypes = std::any_of(outputs.begin(), outputs.end(), [](const auto& output) {
    const PartialShape& shape = output.get_partial_shape();
    return shape.rank().is_static() && shape.size() == 4;
  });
  if (has_prototypes) return "YOLOv8-seg";
  const std::size_t count = labels().size();
  if (count == 0) return "YOLOv8";
  const auto boxes = extent(first, 1), row = extent(first, 0);
  const bool is_list = row && (!boxes || *boxes > *row);  // One row for each box.
  // Exports of YOLOv5's own program have an objectness and no task.
  if (is_list && *row == 5 + count && entry("task").empty() && !entry("stride").empty()) return "YOLOv5";
  // Heads over grids have a box for each cell: 21 or 85 times the cells of the coarsest.
  const bool is_grid = boxes && (*boxes % 21 == 0 || *boxes % 85 == 0);
  if (is_list && *row == 4 + count && *row != 6 && !is_grid) return "RT-DETR";
  const std::vector<std::size_t> sizes = widths(first);
  const auto is_any = [&](std::size_t size) { return std::find(sizes.begin(), sizes.end(), size) != sizes.end(); };
  if (is_any(4 + count) || is_any(6)) return "YOLOv8";
  if (is_any(4 + count + 1) || is_any(7)) return "YOLOv8-obb";
  const std::size_t size = is_list ? *row : boxes.value_or(0), base = is_list ? 6 : 4 + count;
  return size > base && (size - base) % keypoint_values() == 0 ? "YOLOv8-pose" : "YOLOv8";
}

std::optional<bool> ModelInfo::is_end_to_end() const {
  if (!is_ultralytics_) return std::nullopt;
  bool is_inside = false;
  if (parse_text(lower_case(entry("end2end")), is_inside) && is_inside) return true;
  for (const auto& [key, value] : read_literal_map(entry("args"))) {
    if (key == "nms" && parse_text(lower_case(value), is_inside) && is_inside) return true;
  }
  return std::nullopt;  // Old exporters do not say it of models that have it.
}

std::vector<std::size_t> ModelInfo::keypoint_shape() const {
  const std::vector<std::size_t> shape = read_literal_sizes(is_ultralytics_ ? entry("kpt_shape") : std::string());
  const bool is_shape = shape.size() == 2 && shape[0] < kMaxLabels && (shape[1] == 2 || shape[1] == 3);
  return is_shape ? shape : std::vector<std::size_t>{0, 3};
}

std::size_t ModelInfo::keypoint_count() const { return keypoint_shape()[0]; }
std::size_t ModelInfo::keypoint_values() const { return keypoint_shape()[1]; }

std::vector<std::size_t> ModelInfo::picture_size() const {
  std::vector<std::size_t> size = read_literal_sizes(is_ultralytics_ ? entry("imgsz") : std::string());
  if (size.size() == 1) size.push_back(size[0]);
  const auto is_size = [](std::size_t one) { return one > 0 && one <= 65536; };
  return size.size() == 2 && is_size(size[0]) && is_size(size[1]) ? size : std::vector<std::size_t>();
}

}  // namespace v1
}  // namespace tenon
