// SPDX-License-Identifier: Apache-2.0
// The table of sources, and what several of them say together.
#include <tenon/graph/knowledge/model_info.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include <tenon/core/any.hpp>
#include <tenon/core/error.hpp>
#include <tenon/graph/knowledge/internal/side_file_kinds.hpp>
#include <tenon/graph/knowledge/internal/ultralytics.hpp>
#include <tenon/graph/knowledge/internal/values.hpp>
#include <tenon/graph/knowledge/keys.hpp>
#include <tenon/graph/model.hpp>

namespace tenon {
inline namespace v1 {
namespace {

constexpr const char* kOptions = "options";
constexpr const char* kPredictor = "Ultralytics' predictor";
constexpr const char* kModelApi = "Model API";
constexpr const char* kAnomalib = "anomalib's outputs";

// Exporters; those of side files are named in their table.
constexpr const char* kByUser = "user";
constexpr const char* kByModelApi = "model_api";
constexpr const char* kByUltralytics = "ultralytics";

AnyMap map_in(const AnyMap& map, const std::string& name) {
  const auto found = map.find(name);
  return found != map.end() && found->second.is<AnyMap>() ? found->second.as<AnyMap>() : AnyMap();
}

AnyMap map_of(const Model& model, const std::string& name) { return map_in(model.get_rt_info(), name); }

std::string text_at(const AnyMap& map, const std::string& key) {
  const auto found = map.find(key);
  return found == map.end() || found->second.is<AnyMap>() ? std::string() : found->second.as<std::string>();
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

/// What anomalib writes of a model is the names of its outputs alone.
bool is_of_anomalib(const Model& model) {
  const auto outputs = model.outputs();
  const auto has = [&](const char* name) {
    return std::any_of(outputs.begin(), outputs.end(), [&](const auto& one) { return one.get_names().count(name); });
  };
  return has("pred_score") && (has("pred_label") || has("anomaly_map"));
}

/// Sources that are no statement, but what a program does where nothing is stated.
bool is_habit(const std::string& source) { return source == kPredictor || source == kModelApi || source == kAnomalib; }

std::vector<std::string> names_of(const std::string& text) {
  return !text.empty() && text[0] == '{' ? names_by_number(text) : split_names(text, ' ');
}

std::string plain(std::string text) {
  text = lower_case(std::move(text));
  std::erase_if(text, [](char c) { return c == '_' || c == '-' || c == ' '; });
  return text;
}

bool is_same(const std::string& key, const std::string& a, const std::string& b) {
  const FactKey* const known = find_fact_key(key);
  std::vector<double> left, right;
  if (known && known->form == FactForm::kNumbers && read_numbers(a, left) && read_numbers(b, right)) {
    const auto is_one = [](std::vector<double>& values) {
      if (std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end()) values.resize(1);
    };
    is_one(left), is_one(right);  // One number stands for all channels.
    const auto is_near = [](double x, double y) {
      return std::abs(x - y) <= 1e-4 * std::max(std::abs(x), std::abs(y));
    };
    return std::equal(left.begin(), left.end(), right.begin(), right.end(), is_near);
  }
  if (known && known->form == FactForm::kNames) {
    const auto left_names = names_of(a), right_names = names_of(b);
    return std::equal(left_names.begin(), left_names.end(), right_names.begin(), right_names.end(),
                      [](const std::string& x, const std::string& y) { return plain(x) == plain(y); });
  }
  return plain(a) == plain(b);
}

std::string count_and_text(const std::string& key, const std::string& value) {
  const FactKey* const known = find_fact_key(key);
  if (!known || known->form != FactForm::kNames) return short_form(value);
  return std::to_string(names_of(value).size()) + " names " + short_form(value);
}

}  // namespace

std::string Fact::short_value() const { return short_form(value); }

ModelInfo::ModelInfo(const Model& model, const std::map<std::string, std::string>& options) : model_(model) {
  add_options(options);
  std::map<std::string, std::string> own;
  for (const auto& [key, value] : map_of(model, kOptions)) own[key] = value.as<std::string>();
  add_options(own);
  add_side_file(kNamedSideFile);
  add_model_info(map_of(model, "model_info"));
  const AnyMap entries = map_of(model, "framework");
  for (auto& [key, value] : ultralytics_facts([&](const char* name) { return text_at(entries, name); }, remarks_))
    add(key, value, "metadata_props", kByUltralytics);
  finish(kByUltralytics);
  for (const SideFileKind& kind : side_file_kinds()) add_side_file(kind.name);
  add_defaults();
}

void ModelInfo::add(const std::string& key, const std::string& value, const std::string& source,
                    const std::string& exporter) {
  if (value.empty()) return;
  const bool counts = whole_.empty() || whole_ == exporter || exporter == kByUser;
  if (key == "model_type" && exporter != kByUser) has_type_ = true;
  statements_.push_back({{key, value, source}, counts});
}

void ModelInfo::finish(const std::string& exporter) {
  if (std::exchange(has_type_, false) && whole_.empty()) whole_ = exporter;
}

void ModelInfo::add_options(const std::map<std::string, std::string>& options) {
  for (const auto& [key, value] : options) add(key, value, "option", kByUser);
}

void ModelInfo::add_model_info(const AnyMap& entries) {
  const bool is_yolo = lower_case(text_at(entries, "model_type")) == "yolo";
  const std::string exporter = is_yolo ? kByUltralytics : kByModelApi;
  for (const auto& [key, value] : entries) {
    if (value.is<AnyMap>()) continue;
    const std::string text = value.as<std::string>();
    bool is_reversed = false;
    // Callers of Model API pass BGR pictures, so that YES means RGB. Both spellings of the order are one fact.
    if (key == "reverse_input_channels" && read_flag(text, is_reversed)) {
      if (!entries.count("color_space")) add("color_space", is_reversed ? "RGB" : "BGR", "model_info", exporter);
    } else {
      add(key, text, "model_info", exporter);
    }
  }
  finish(exporter);
}

void ModelInfo::add_side_file(const std::string& kind) {
  const AnyMap facts = map_in(map_of(model_, kSideFiles), kind);
  if (facts.empty()) return;
  const std::string file = text_at(facts, kFileEntry);
  const std::string exporter = text_at(facts, kExporterEntry);
  for (const auto& [key, value] : facts) {
    if (key != kFileEntry && key != kExporterEntry && key != kRemarksEntry)
      add(key, value.as<std::string>(), file, exporter);
  }
  for (const std::string& remark : split_names(text_at(facts, kRemarksEntry), '\n'))
    remarks_.push_back(file + ": " + remark);
  finish(exporter);
}

void ModelInfo::add_defaults() {
  const bool is_yolo = std::any_of(statements_.begin(), statements_.end(), [](const Statement& statement) {
    return statement.counts && statement.fact.key == "model_type" && statement.fact.source != "option" &&
           lower_case(statement.fact.value) == "yolo";
  });
  const auto add_default = [&](const std::string& key, const std::string& value, const char* program) {
    if (!find(key)) statements_.push_back({{key, value, program}, true});
  };
  if (is_yolo) {
    for (auto& [key, value] : ultralytics_defaults(model_type())) {
      // Ultralytics' IRs ask for a letterbox whatever their head is. Its predictor stretches pictures for some.
      for (Statement& one : statements_) {
        if (key == "resize_type" && value == "standard" && one.fact.key == key && one.fact.source == "model_info")
          one.counts = false;
      }
      add_default(key, value, kPredictor);
    }
  }
  // Anomaly models have their mean and scale inside, and take 0..1, as Model API and anomalib give it to them.
  const std::string type = lower_case(text("model_type"));
  if (type == "anomalydetection" && source("model_type") == "model_info") add_default("scale_values", "255", kModelApi);
  if ((type.empty() || type == "anomalydetection") && is_of_anomalib(model_)) {
    for (const auto& [key, value] : {std::pair("model_type", "AnomalyDetection"), std::pair("scale_values", "255"),
                                     std::pair("color_space", "RGB")})
      add_default(key, value, kAnomalib);
  }
}

const Fact* ModelInfo::find(const std::string& key) const {
  for (const Statement& statement : statements_) {
    if (statement.counts && statement.fact.key == key) return &statement.fact;
  }
  return nullptr;
}

std::string ModelInfo::text(const std::string& key) const {
  const Fact* const found = find(key);
  return found ? found->value : std::string();
}

std::string ModelInfo::stated(const std::string& key) const {
  const std::string from = source(key);
  return is_habit(from) ? std::string() : text(key);
}

std::string ModelInfo::source(const std::string& key) const {
  const Fact* const found = find(key);
  return found ? found->source : std::string();
}

std::string ModelInfo::quoted(const std::string& key) const {
  const Fact* const found = find(key);
  return found ? key + " \"" + short_form(found->value) + "\" (" + found->source + ")" : key;
}

std::vector<std::string> ModelInfo::labels() const {
  std::vector<std::string> names = names_of(text("labels"));
  if (names.size() > kMaxLabels) names.resize(kMaxLabels);
  return names;
}

std::string ModelInfo::model_type() const {
  const std::string type = text("model_type");
  return lower_case(type) == "yolo" ? yolo_type() : type;
}

std::string ModelInfo::yolo_type() const {
  // What the predictors of Ultralytics call the results of their tasks.
  constexpr std::pair<const char*, const char*> tasks[] = {
      {"detect", "YOLOv8"},           {"segment", "YOLOv8-seg"},    {"pose", "YOLOv8-pose"}, {"obb", "YOLOv8-obb"},
      {"classify", "Classification"}, {"semantic", "Segmentation"}, {"depth", "Depth"}};
  const std::string task = lower_case(text("task"));
  if (text("head") == "RTDETRDecoder") return "RT-DETR";
  const std::string by_shapes = type_by_shapes();
  if (task.empty()) return by_shapes;
  for (const auto& [name, type] : tasks) {
    if (task == name) return task == "detect" && by_shapes == "RT-DETR" && text("head").empty() ? by_shapes : type;
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
  if (is_list && *row == 5 + count && text("task").empty() && !text("stride").empty()) return "YOLOv5";
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
  bool is_inside = false;
  return read_flag(text("end_to_end"), is_inside) ? std::optional(is_inside) : std::nullopt;
}

std::vector<std::size_t> ModelInfo::keypoint_shape() const {
  std::vector<double> shape;
  const bool is_shape = read_numbers(text("keypoints"), shape) && shape.size() == 2 && shape[0] >= 0 &&
                        shape[0] < static_cast<double>(kMaxLabels) && (shape[1] == 2 || shape[1] == 3);
  if (!is_shape) return {0, 3};
  return {static_cast<std::size_t>(shape[0]), static_cast<std::size_t>(shape[1])};
}

std::size_t ModelInfo::keypoint_count() const { return keypoint_shape()[0]; }
std::size_t ModelInfo::keypoint_values() const { return keypoint_shape()[1]; }

std::vector<std::size_t> ModelInfo::picture_size() const {
  std::vector<double> size;
  if (!read_numbers(text("input_size"), size)) return {};
  if (size.size() == 1) size.push_back(size[0]);
  const auto is_size = [](double one) { return one >= 1 && one <= 65536; };
  if (size.size() != 2 || !is_size(size[0]) || !is_size(size[1])) return {};
  return {static_cast<std::size_t>(size[0]), static_cast<std::size_t>(size[1])};
}

std::vector<Fact> ModelInfo::facts() const {
  std::vector<Fact> all;
  for (const FactKey& key : fact_keys()) {
    if (const Fact* const found = find(key.name)) all.push_back(*found);
  }
  for (const Statement& statement : statements_) {
    const Fact& fact = statement.fact;
    if (statement.counts && !find_fact_key(fact.key) && find(fact.key) == &fact) all.push_back(fact);
  }
  return all;
}

std::vector<std::string> ModelInfo::remarks() const {
  std::vector<std::string> all;
  for (const FactKey& key : fact_keys()) {
    const Fact* const chosen = find(key.name);
    if (!chosen) continue;
    for (const Statement& statement : statements_) {
      const Fact& other = statement.fact;
      // An option is there to override, and a program's habit is no statement.
      const bool is_compared =
          other.key == key.name && &other != chosen && chosen->source != "option" && !is_habit(other.source);
      if (is_compared && !is_same(key.name, chosen->value, other.value))
        all.push_back(std::string(key.name) + " is " + count_and_text(key.name, chosen->value) + " in " +
                      chosen->source + " and " + count_and_text(key.name, other.value) + " in " + other.source + "; " +
                      chosen->source + " counts");
    }
  }
  const std::string interpolation = lower_case(text("interpolation"));
  if (!interpolation.empty() && interpolation != "linear" && interpolation != "nearest")
    all.push_back(quoted("interpolation") + " is not done here; pictures are resized linearly");
  all.insert(all.end(), remarks_.begin(), remarks_.end());
  return all;
}

void state(Model& model, const std::map<std::string, std::string>& options) {
  AnyMap all = map_of(model, kOptions);
  for (const auto& [key, value] : options) all[key] = Any(checked_fact(key, value));
  if (!all.empty()) model.get_rt_info()[kOptions] = std::move(all);
}

}  // namespace v1
}  // namespace tenon
