// SPDX-License-Identifier: Apache-2.0
// Parses pipelines from JSON.
#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/elements/internal/json_reader.hpp>
#include <tenon/elements/pipeline_spec.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace {

QueueOptions queue_of(const Json& value, const Place& place) {
  QueueOptions queue;
  read_object(value, place,
              {{"size", [&](const Json& v, const Place& w) { queue.size = count_of(v, w, 1, QueueOptions::kMaxSize); }},
               {"when_full", [&](const Json& v, const Place& w) {
                  queue.when_full = choice_of<WhenFull>(v, w,
                                                        {{"block", WhenFull::kBlock},
                                                         {"drop_oldest", WhenFull::kDropOldest},
                                                         {"drop_newest", WhenFull::kDropNewest}});
                }}});
  return queue;
}

/// A parameter's value as text. A list of texts is joined by commas, as parameters that take several words want them; another list
/// stays JSON.
std::string parameter_of(const Json& value, const Place& place) {
  if (value.is_null() || value.is_object()) place.refuse("must be a text, a number, true, false or a list");
  if (value.is_string()) return value.get<std::string>();
  const auto is_text = [](const Json& one) {
    return one.is_string() && one.get<std::string>().find(',') == std::string::npos;
  };
  if (value.is_array() && std::all_of(value.begin(), value.end(), is_text))
    return joined(value.get<std::vector<std::string>>(), ",");
  return value.dump();
}

std::map<std::string, std::string> parameters_of(const Json& value, const Place& place) {
  if (!value.is_object()) place.refuse("must be an object, and is " + std::string(value.type_name()));
  std::map<std::string, std::string> parameters;
  for (const auto& [name, one] : value.items()) parameters[name] = parameter_of(one, place / name);
  return parameters;
}

/// @param more  Readers of more members.
NodeSpec node_of(const Json& value, const Place& place, Readers more = {}) {
  NodeSpec node;
  Readers readers{{"element", [&](const Json& v, const Place& w) { node.element = text_of(v, w); }},
                  {"name", [&](const Json& v, const Place& w) { node.name = text_of(v, w); }},
                  {"parameters", [&](const Json& v, const Place& w) { node.parameters = parameters_of(v, w); }},
                  {"queue", [&](const Json& v, const Place& w) { node.queue = queue_of(v, w); }},
                  {"from", [&](const Json& v, const Place& w) {
                     if (!v.is_array()) return node.from.push_back(text_of(v, w));
                     for (std::size_t i = 0; i < v.size(); ++i) node.from.push_back(text_of(v[i], w / i));
                   }}};
  readers.merge(more);
  read_object(value, place, readers);
  if (node.element.empty()) place.refuse("has no element");
  return node;
}

}  // namespace

PipelineSpec parse_pipeline(std::string_view text) {
  const Place whole{"pipeline file"};
  PipelineSpec spec;
  const auto milliseconds = [](const Json& v, const Place& w) { return std::chrono::milliseconds(count_of(v, w, 0)); };
  read_object(
      parse_json(text, whole), whole,
      {{"$schema", [](const Json&, const Place&) {}},
       {"on_error",
        [&](const Json& v, const Place& w) {
          spec.on_error = choice_of<OnError>(
              v, w, {{"stop", OnError::kStop}, {"end", OnError::kEnd}, {"restart", OnError::kRestart}});
        }},
       {"restarts", [&](const Json& v, const Place& w) { spec.restarts = count_of(v, w, 0); }},
       {"restart_delay_ms", [&](const Json& v, const Place& w) { spec.restart_delay = milliseconds(v, w); }},
       {"patience_ms", [&](const Json& v, const Place& w) { spec.patience = milliseconds(v, w); }},
       {"more_sources",
        [&](const Json& v, const Place& w) { spec.more_sources = count_of(v, w, 0, PipelineSpec::kMostMoreSources); }},
       {"nodes", [&](const Json& v, const Place& w) {
          for (std::size_t i = 0; i < list_of(v, w).size(); ++i) spec.nodes.push_back(node_of(v[i], w / i));
        }}});
  if (spec.nodes.empty()) (whole / "nodes").refuse("is empty: a pipeline needs a source and a sink");
  return spec;
}

SourceRequest parse_source(std::string_view text) {
  const Place whole{"source"};
  SourceRequest request;
  request.node = node_of(parse_json(text, whole), whole,
                         {{"like", [&](const Json& v, const Place& w) { request.like = text_of(v, w); }}});
  return request;
}

}  // namespace elements
}  // namespace v1
}  // namespace tenon
