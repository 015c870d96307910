// SPDX-License-Identifier: Apache-2.0
// Builds the schema from the registry's descriptions.
#include <tenon/elements/pipeline_schema.hpp>

#include <limits>

#include <nlohmann/json.hpp>

#include <tenon/elements/queue.hpp>
#include <tenon/elements/registry.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace {

using Schema = nlohmann::ordered_json;

Schema count_schema(const char* about, std::int64_t by_default, std::int64_t min, std::int64_t max = 1'000'000'000) {
  return {{"type", "integer"}, {"description", about}, {"minimum", min}, {"maximum", max}, {"default", by_default}};
}

Schema choice_schema(const char* about, const Schema& choices) {
  return {{"description", about}, {"enum", choices}, {"default", choices.front()}};
}

Schema value_of(const Value& value) {
  return std::visit([](const auto& held) { return Schema(held); }, value);
}

Schema parameter_schema(const Parameter& parameter) {
  constexpr const char* kTypes[] = {"boolean", "integer", "number", "string"};
  Schema schema = {{"type", kTypes[parameter.default_value.index()]}, {"description", parameter.about}};
  // A text that holds a list as JSON may be that list itself.
  if (parameter.default_value == Value(std::string("[]"))) schema["type"] = {"string", "array"};
  const auto bound = [&](double value) {
    return std::holds_alternative<double>(parameter.default_value) ? Schema(value)
                                                                   : Schema(static_cast<std::int64_t>(value));
  };
  if (parameter.least != std::numeric_limits<double>::lowest()) schema["minimum"] = bound(parameter.least);
  if (parameter.most != std::numeric_limits<double>::max()) schema["maximum"] = bound(parameter.most);
  if (!parameter.choices.empty()) schema["enum"] = parameter.choices;
  if (!parameter.is_required) schema["default"] = value_of(parameter.default_value);
  return schema;
}

Schema parameters_schema(const Description& element) {
  Schema properties = Schema::object(), required = Schema::array();
  for (const Parameter& parameter : element.parameters) {
    properties[parameter.name] = parameter_schema(parameter);
    if (parameter.is_required) required.push_back(parameter.name);
  }
  Schema schema = {{"type", "object"}, {"properties", properties}, {"additionalProperties", false}};
  if (!required.empty()) schema["required"] = required;
  return schema;
}

/// The rule for nodes of this element: which parameters they take, and that sources have no `from`.
Schema rule_of(const Description& element) {
  Schema then = {{"properties", {{"parameters", {{"$ref", "#/$defs/" + element.name}}}}}};
  if (element.role == Role::kSource) then["properties"]["from"] = false;
  for (const Parameter& parameter : element.parameters)
    if (parameter.is_required) then["required"] = {"parameters"};
  return {{"if", {{"properties", {{"element", {{"const", element.name}}}}}}}, {"then", then}};
}

Schema node_schema(const std::vector<Description>& known) {
  Schema names = Schema::array(), rules = Schema::array();
  for (const Description& element : known) {
    names.push_back({{"const", element.name}, {"description", element.about}});
    rules.push_back(rule_of(element));
  }
  const Schema queue = {
      {"type", "object"},
      {"description", "Queue of frames before the node, which then runs in a thread of its own"},
      {"properties",
       {{"size", count_schema("Capacity in frames", 4, 1, QueueOptions::kMaxSize)},
        {"when_full",
         choice_schema(
             "block: the node before it waits; drop_oldest, drop_newest: the oldest or the newest frame is dropped",
             {"block", "drop_oldest", "drop_newest"})}}},
      {"additionalProperties", false}};
  return {{"type", "object"},
          {"properties",
           {{"element", {{"description", "Element that the node runs; 'tenon elements' lists all"}, {"oneOf", names}}},
            {"name",
             {{"type", "string"}, {"description", "Name for 'from' and for messages; default: the element's name"}}},
            {"parameters", {{"type", "object"}}},
            {"from",
             {{"description", "Names of the nodes that feed it; default: the node before it"},
              {"anyOf", {{{"type", "string"}}, {{"type", "array"}, {"items", {{"type", "string"}}}}}}}},
            {"queue", queue}}},
          {"required", {"element"}},
          {"additionalProperties", false},
          {"allOf", rules}};
}

}  // namespace

std::string pipeline_schema() {
  const std::vector<Description> known = known_elements();
  Schema definitions = Schema::object();
  for (const Description& element : known) definitions[element.name] = parameters_schema(element);
  const Schema schema = {
      {"$schema", "https://json-schema.org/draft/2020-12/schema"},
      {"title", "A pipeline of Tenon"},
      {"type", "object"},
      {"properties",
       {{"$schema", {{"type", "string"}}},
        {"on_error",
         choice_schema("What happens when a stream fails: the pipeline stops, the stream ends, or it starts again",
                       {"stop", "end", "restart"})},
        {"restarts", count_schema("How often a stream may start again", 3, 0)},
        {"restart_delay_ms",
         count_schema("Delay before the first restart, in milliseconds; it doubles before each further one", 500, 0)},
        {"patience_ms",
         count_schema("How long a source may take to open, and to deliver a frame, in milliseconds", 10000, 0)},
        {"more_sources", count_schema("How many sources may be added at a time while the pipeline runs; with it the "
                                      "pipeline does not end by itself",
                                      0, 0)},
        {"nodes", {{"type", "array"}, {"minItems", 1}, {"items", node_schema(known)}}}}},
      {"required", {"nodes"}},
      {"additionalProperties", false},
      {"$defs", definitions}};
  return schema.dump(2, ' ', false, Schema::error_handler_t::replace) + "\n";
}

}  // namespace elements
}  // namespace v1
}  // namespace tenon
