// SPDX-License-Identifier: Apache-2.0
// Finds and turns the knobs of a pipeline.
#include <tenon/tools/tenon/tune/knobs.hpp>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include <nlohmann/json.hpp>

#include <tenon/core/error.hpp>
#include <tenon/elements/parameters.hpp>

#include <tenon/tools/tenon/shared/json_text.hpp>

namespace tenon::tool {
namespace {

using elements::NodeSpec;
using elements::PipelineSpec;

constexpr std::string_view kProperty = "properties:";
constexpr const char* kUnset = "auto";
/// In the names of with_streams()' copies.
constexpr const char* kCopy = " (copy ";

std::string key_of(const std::string& parameter) { return parameter.substr(kProperty.size()); }
bool is_property(const std::string& parameter) { return parameter.rfind(kProperty, 0) == 0; }

const NodeSpec& node_called(const PipelineSpec& spec, const std::string& name) {
  const auto at =
      std::find_if(spec.nodes.begin(), spec.nodes.end(), [&](const NodeSpec& node) { return node.name == name; });
  if (at == spec.nodes.end()) throw Error(Code::kInternal, "tune: there is no node '" + name + "'");
  return *at;
}

/// The entries "KEY=VALUE" of a text with blanks between them.
std::vector<std::string> entries_of(const std::string& text) {
  std::vector<std::string> entries;
  for (std::size_t at = text.find_first_not_of(' '); at < text.size(); at = text.find_first_not_of(' ', at)) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    entries.push_back(text.substr(at, end - at));
    at = end;
  }
  return entries;
}

/// The properties with `key` set to `value`, or without it.
std::string with_property(const std::string& text, const std::string& key, const std::string& value) {
  std::string made;
  const auto add = [&](const std::string& entry) { made += (made.empty() ? "" : " ") + entry; };
  for (const std::string& entry : entries_of(text))
    if (entry.rfind(key + "=", 0) != 0) add(entry);
  if (value != kUnset) add(key + "=" + value);
  return made;
}

std::string text_of(const NodeSpec& node, const std::string& parameter) {
  if (const auto given = node.parameters.find(parameter); given != node.parameters.end()) return given->second;
  for (const elements::Parameter& known : description_of(node).parameters)
    if (known.name == parameter) return elements::to_text(known.default_value);
  return "";
}

bool has(const NodeSpec& node, const std::string& parameter) {
  const auto& all = description_of(node).parameters;
  return std::any_of(all.begin(), all.end(), [&](const auto& known) { return known.name == parameter; });
}

/// Powers of two from 1 to `most`, and `most`.
std::vector<std::string> up_to(unsigned most) {
  std::vector<std::string> values;
  for (unsigned value = 1; value < most; value *= 2) values.push_back(std::to_string(value));
  values.push_back(std::to_string(std::max(1u, most)));
  return values;
}

void add_model_knobs(const NodeSpec& node, const std::vector<std::string>& devices, unsigned processors,
                     std::vector<Knob>& knobs) {
  if (!devices.empty()) knobs.push_back({node.name, "device", devices});
  std::vector<std::string> streams = up_to(std::min(processors, 16u));
  streams.insert(streams.begin(), kUnset);
  knobs.push_back({node.name, "properties:NUM_STREAMS", streams});
  if (text_of(node, "device").rfind("CPU", 0) == 0) {
    std::vector<std::string> threads = up_to(std::min(processors, 64u));
    threads.insert(threads.begin(), kUnset);
    knobs.push_back({node.name, "properties:INFERENCE_NUM_THREADS", threads});
  }
  knobs.push_back({node.name, "requests", {"0", "1", "2", "3", "4", "6", "8"}});
  knobs.push_back({node.name, "batch", {"1", "2", "4", "8"}});
}

}  // namespace

std::vector<Knob> knobs_of(const PipelineSpec& spec, const std::vector<std::string>& devices, unsigned processors) {
  std::vector<Knob> knobs;
  const auto is_fixed = [](const NodeSpec& node) { return node.own || node.name.find(kCopy) != std::string::npos; };
  for (const NodeSpec& node : spec.nodes)
    if (!is_fixed(node) && has(node, "requests") && has(node, "batch") && has(node, "device"))
      add_model_knobs(node, devices, processors, knobs);
  for (const NodeSpec& node : spec.nodes) {
    if (is_fixed(node)) continue;
    if (node.element == "convert") knobs.push_back({node.name, "by", {"auto", "cpu", "opencl", "va"}});
    if (!node.from.empty() || node.element != "file") continue;
    const auto path = node.parameters.find("path");
    const bool is_local = path != node.parameters.end() && path->second.find("://") == std::string::npos;
    if (is_local && std::filesystem::exists(text_of(node, "node")))
      knobs.push_back({node.name, "decode", {"cpu", "va"}});
    std::vector<std::string> threads = up_to(std::min(processors, 8u));
    threads.insert(threads.begin(), "0");
    knobs.push_back({node.name, "threads", threads});
  }
  for (const NodeSpec& node : spec.nodes)
    if (!is_fixed(node) && !node.from.empty() && (node.queue || description_of(node).has_thread) &&
        (!node.queue || node.queue->when_full == elements::WhenFull::kBlock))
      knobs.push_back({node.name, "queue", {"1", "2", "4", "8", "16"}});
  return knobs;
}

std::string value_of(const PipelineSpec& spec, const Knob& knob) {
  const NodeSpec& node = node_called(spec, knob.node);
  if (knob.parameter == "queue") return std::to_string(node.queue.value_or(elements::QueueOptions{}).size);
  if (!is_property(knob.parameter)) return text_of(node, knob.parameter);
  const std::string key = key_of(knob.parameter) + "=";
  for (const std::string& entry : entries_of(text_of(node, "properties")))
    if (entry.rfind(key, 0) == 0) return entry.substr(key.size());
  return kUnset;
}

std::string Change::text() const {
  return node + "." + (is_property(parameter) ? key_of(parameter) : parameter) + "=" + value;
}

void apply(PipelineSpec& spec, const Change& change) {
  // Copies of a source that stand for more streams change with it.
  for (NodeSpec& node : spec.nodes) {
    if (node.name != change.node && node.name.rfind(change.node + kCopy, 0) != 0) continue;
    if (change.parameter == "queue") {
      if (!node.queue) node.queue.emplace();
      node.queue->size = static_cast<std::size_t>(std::stoul(change.value));
    } else if (is_property(change.parameter)) {
      node.parameters["properties"] =
          with_property(text_of(node, "properties"), key_of(change.parameter), change.value);
    } else {
      node.parameters[change.parameter] = change.value;
    }
  }
}

std::string with_changes(const std::string& file, const std::vector<std::string>& names,
                         const std::vector<Change>& changes) {
  auto document = nlohmann::ordered_json::parse(file, nullptr, true, true);
  auto& nodes = document["nodes"];
  for (const Change& change : changes) {
    const auto at = std::find(names.begin(), names.end(), change.node);
    if (at == names.end()) throw Error(Code::kInternal, "tune: the file has no node '" + change.node + "'");
    auto& node = nodes[static_cast<std::size_t>(at - names.begin())];
    if (change.parameter == "queue") {
      node["queue"]["size"] = std::stoul(change.value);
    } else if (is_property(change.parameter)) {
      auto& parameters = node["parameters"];
      const std::string before = parameters.contains("properties") && parameters["properties"].is_string()
                                     ? parameters["properties"].get<std::string>()
                                     : "";
      parameters["properties"] = with_property(before, key_of(change.parameter), change.value);
    } else {
      node["parameters"][change.parameter] = change.value;
    }
  }
  return json_text(document);
}

}  // namespace tenon::tool
