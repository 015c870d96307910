// SPDX-License-Identifier: Apache-2.0
// Parses pipelines from JSON.
#include <functional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include <tenon/core/error.hpp>
#include <tenon/elements/internal/text.hpp>
#include <tenon/elements/parameters.hpp>
#include <tenon/elements/pipeline_spec.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace {

using nlohmann::json;

/// The format has 5 levels. More would only cost time and stack.
constexpr int kMaxDepth = 64;

[[noreturn]] void refuse(const std::string& where, const std::string& message) {
  throw Error(Code::kInvalidArgument, "pipeline file: " + (where.empty() ? "" : where + ": ") + message);
}

/// The members that an object may have, each with the function that reads it. Unknown members are refused.
using Readers = std::map<std::string, std::function<void(const json& value, const std::string& where)>>;

void read_object(const json& object, const std::string& where, const Readers& readers) {
  if (!object.is_object()) refuse(where, "must be an object, and is " + std::string(object.type_name()));
  for (const auto& [name, value] : object.items()) {
    const auto found = readers.find(name);
    const std::string place = where + "/" + name;
    if (found != readers.end()) {
      found->second(value, place);
      continue;
    }
    std::vector<std::string> names;
    for (const auto& [known, reader] : readers) names.push_back(known);
    const std::string nearest = nearest_name(name, names);
    refuse(place,
           "is not known; " + (nearest.empty() ? "there are: " + joined(names) : "did you mean '" + nearest + "'?"));
  }
}

std::string text_of(const json& value, const std::string& where) {
  if (!value.is_string()) refuse(where, "must be a text, and is " + std::string(value.type_name()));
  return value.get<std::string>();
}

std::uint32_t count_of(const json& value, const std::string& where, std::uint32_t min,
                       std::uint32_t max = 1'000'000'000) {
  if (!value.is_number_integer() || value.get<std::int64_t>() < min || value.get<std::int64_t>() > max)
    refuse(where, "must be an integer from " + std::to_string(min) + " to " + std::to_string(max) + ", and is " +
                      (value.is_number() ? value.dump() : std::string(value.type_name())));
  return value.get<std::uint32_t>();
}

template <typename T>
T choice_of(const json& value, const std::string& where, const std::vector<std::pair<std::string, T>>& choices) {
  const std::string text = text_of(value, where);
  std::vector<std::string> names;
  for (const auto& [name, choice] : choices) {
    if (name == text) return choice;
    names.push_back(name);
  }
  refuse(where, "is " + in_quotes(text) + "; it must be one of " + joined(names));
}

QueueOptions queue_of(const json& value, const std::string& where) {
  QueueOptions queue;
  read_object(
      value, where,
      {{"size", [&](const json& v, const std::string& w) { queue.size = count_of(v, w, 1, QueueOptions::kMaxSize); }},
       {"when_full", [&](const json& v, const std::string& w) {
          queue.when_full = choice_of<WhenFull>(v, w,
                                                {{"block", WhenFull::kBlock},
                                                 {"drop_oldest", WhenFull::kDropOldest},
                                                 {"drop_newest", WhenFull::kDropNewest}});
        }}});
  return queue;
}

std::map<std::string, std::string> parameters_of(const json& value, const std::string& where) {
  if (!value.is_object()) refuse(where, "must be an object, and is " + std::string(value.type_name()));
  std::map<std::string, std::string> parameters;
  for (const auto& [name, one] : value.items()) {
    if (!one.is_primitive() || one.is_null()) refuse(where + "/" + name, "must be a text, a number, true or false");
    parameters[name] = one.is_string() ? one.get<std::string>() : one.dump();
  }
  return parameters;
}

NodeSpec node_of(const json& value, const std::string& where) {
  NodeSpec node;
  read_object(value, where,
              {{"element", [&](const json& v, const std::string& w) { node.element = text_of(v, w); }},
               {"name", [&](const json& v, const std::string& w) { node.name = text_of(v, w); }},
               {"parameters", [&](const json& v, const std::string& w) { node.parameters = parameters_of(v, w); }},
               {"queue", [&](const json& v, const std::string& w) { node.queue = queue_of(v, w); }},
               {"from", [&](const json& v, const std::string& w) {
                  if (!v.is_array()) return node.from.push_back(text_of(v, w));
                  for (std::size_t i = 0; i < v.size(); ++i)
                    node.from.push_back(text_of(v[i], w + "/" + std::to_string(i)));
                }}});
  if (node.element.empty()) refuse(where, "has no element");
  return node;
}

}  // namespace

PipelineSpec parse_pipeline(std::string_view text) {
  json document;
  const auto shallow = [](int depth, json::parse_event_t, const json&) {
    if (depth > kMaxDepth)
      refuse("", "lists and objects lie deeper within each other than " + std::to_string(kMaxDepth) + " levels");
    return true;
  };
  try {
    document = json::parse(text, shallow, true, true);
  } catch (const json::exception& error) {
    refuse("", error.what());
  }
  PipelineSpec spec;
  const auto milliseconds = [](const json& v, const std::string& w) {
    return std::chrono::milliseconds(count_of(v, w, 0));
  };
  read_object(
      document, "",
      {{"$schema", [](const json&, const std::string&) {}},
       {"on_error",
        [&](const json& v, const std::string& w) {
          spec.on_error = choice_of<OnError>(
              v, w, {{"stop", OnError::kStop}, {"end", OnError::kEnd}, {"restart", OnError::kRestart}});
        }},
       {"restarts", [&](const json& v, const std::string& w) { spec.restarts = count_of(v, w, 0); }},
       {"restart_delay_ms", [&](const json& v, const std::string& w) { spec.restart_delay = milliseconds(v, w); }},
       {"patience_ms", [&](const json& v, const std::string& w) { spec.patience = milliseconds(v, w); }},
       {"nodes", [&](const json& v, const std::string& w) {
          if (!v.is_array()) refuse(w, "must be a list, and is " + std::string(v.type_name()));
          for (std::size_t i = 0; i < v.size(); ++i) spec.nodes.push_back(node_of(v[i], w + "/" + std::to_string(i)));
        }}});
  if (spec.nodes.empty()) refuse("/nodes", "is empty: a pipeline needs a source and a sink");
  return spec;
}

}  // namespace elements
}  // namespace v1
}  // namespace tenon
