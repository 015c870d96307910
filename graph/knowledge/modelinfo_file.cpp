// SPDX-License-Identifier: Apache-2.0
// GStreamer's .modelinfo. @source gstreamer.freedesktop.org, analytics/modelinfo: GstAnalyticsModelInfo (1.28), tensor ids
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/graph/internal/trimmed.hpp>
#include <tenon/graph/knowledge/internal/document.hpp>
#include <tenon/graph/knowledge/internal/values.hpp>

namespace tenon {
inline namespace v1 {
namespace {

constexpr std::size_t kMaxLines = 100'000;

/// Parts of the ids of tensors and groups, the longer ones first, and the type of results.
constexpr std::pair<const char*, const char*> kIds[] = {{"yolo-v8-segmentation", "YOLOv8-seg"},
                                                        {"yolo-v8-obb", "YOLOv8-obb"},
                                                        {"yolo-v8-pose", "YOLOv8-pose"},
                                                        {"yolo-v8", "YOLOv8"},
                                                        {"yolo-v5", "YOLOv5"},
                                                        {"yolo26", "YOLO26"},
                                                        {"yolo-v26", "YOLO26"},
                                                        {"yolo-v10", "YOLOv10"},
                                                        {"ssd-mobilenet", "SSD"},
                                                        {"classification-generic", "Classification"},
                                                        {"ultra-lightweight-face-detection", "UltraFace"}};

/// @errors kInvalidArgument: the model has no such input or output, or its extents are others.
void check_port(const std::string& name, const Tree& section, const Model& model, bool is_input) {
  const PartialShape shape = shape_of_port(model, is_input, name);
  const std::string dims = text_of(member(section, "dims"));
  if (dims.empty() || shape.rank().is_dynamic()) return;
  const auto refuse = [&] {
    throw Error(Code::kInvalidArgument, "[" + name + "] has dims=" + dims + ", and the model " + shape.to_string());
  };
  std::vector<double> extents;
  if (!read_numbers(dims, extents) || extents.size() != shape.size()) refuse();
  for (std::size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] >= 0 && shape[i].is_static() && extents[i] != static_cast<double>(shape[i].get_length())) refuse();
  }
}

/// "0.0,1.0;-1.0,1.0": what 0 and 255 become, for all channels or for each.
void read_ranges(const std::string& text, SideFacts& to) {
  std::vector<double> means, scales;
  for (const std::string& one : split_names(text, ';')) {
    std::vector<double> range;
    if (!read_numbers(one, range) || range.size() != 2 || range[0] == range[1])
      throw Error(Code::kInvalidArgument,
                  "ranges=" + text + " must be pairs of two numbers, as 0.0,1.0;0.0,1.0;0.0,1.0");
    scales.push_back(255 / (range[1] - range[0]));
    means.push_back(0 - range[0] * scales.back());
  }
  to.add("mean_values", numbers_text(means));
  to.add("scale_values", numbers_text(scales));
}

}  // namespace

Tree parse_ini(std::string_view text) {
  Tree root = Tree::object();
  std::string section;
  for (std::size_t line = 1; !text.empty(); ++line) {
    if (line > kMaxLines)
      throw Error(Code::kInvalidArgument, "it has more than " + std::to_string(kMaxLines) + " lines");
    const std::size_t end = text.find('\n');
    const std::string content(trimmed(text.substr(0, end)));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (content.empty() || content[0] == '#') continue;
    const std::size_t equals = content.find('=');
    if (content[0] == '[' && content.back() == ']') {
      section = content.substr(1, content.size() - 2);
      root[section] = Tree::object();
    } else if (equals != std::string::npos && equals > 0 && root.contains(section)) {
      root[section][std::string(trimmed(std::string_view(content).substr(0, equals)))] =
          trimmed(std::string_view(content).substr(equals + 1));
    } else {
      throw Error(Code::kInvalidArgument,
                  "line " + std::to_string(line) + " is neither [section] nor key=value in one");
    }
  }
  return root;
}

void read_modelinfo(const Tree& root, const Model& model, SideFacts& to) {
  std::string ids = text_of(member(member(root, "modelinfo"), "group-id"));
  for (const auto& [name, section] : root.items()) {
    if (name == "modelinfo") continue;
    const std::string direction = text_of(member(section, "dir"));
    if (direction != "input" && direction != "output")
      throw Error(Code::kInvalidArgument, "[" + name + "] has dir=" + direction + "; it must be input or output");
    if (direction == "input") {
      check_port(name, section, model, true);
      if (const std::string ranges = text_of(member(section, "ranges")); !ranges.empty()) read_ranges(ranges, to);
    } else {
      check_port(name, section, model, false);
      ids += " " + text_of(member(section, "id")) + " " + text_of(member(section, "group-id"));
    }
  }
  for (const auto& [part, type] : kIds) {
    if (ids.find(part) != std::string::npos) return to.add("model_type", type);
  }
}

}  // namespace v1
}  // namespace tenon
