// SPDX-License-Identifier: Apache-2.0
// tenon elements: lists the elements of which pipelines can be made, and the parameters of each.
#include <limits>
#include <memory>

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <tenon/elements/pipeline_schema.hpp>
#include <tenon/elements/registry.hpp>

#include <tenon/tools/tenon/commands/commands.hpp>
#include <tenon/tools/tenon/shared/json_text.hpp>
#include <tenon/tools/tenon/show/text/text_table.hpp>

namespace tenon::tool {
namespace {

using elements::Description;
using elements::Parameter;
using nlohmann::ordered_json;

struct ElementsOptions {
  std::string name;
  bool json = false, schema = false;
};

const char* role_name(elements::Role role) {
  constexpr const char* kNames[] = {"source", "transform", "transform in place", "sink"};
  return kNames[static_cast<std::size_t>(role)];
}

const char* type_name(const Parameter& parameter) {
  constexpr const char* kNames[] = {"true or false", "integer", "number", "text"};
  return kNames[parameter.default_value.index()];
}

bool has_least(const Parameter& parameter) { return parameter.least != std::numeric_limits<double>::lowest(); }
bool has_most(const Parameter& parameter) { return parameter.most != std::numeric_limits<double>::max(); }

/// The allowed values, for example "0 to 1" or "block, drop"; empty: any value of the type.
std::string allowed(const Parameter& parameter) {
  std::string choices;
  for (const std::string& choice : parameter.choices) choices += (choices.empty() ? "" : ", ") + choice;
  if (!choices.empty()) return choices;
  if (has_least(parameter) && has_most(parameter)) return fmt::format("{} to {}", parameter.least, parameter.most);
  if (has_least(parameter)) return fmt::format("at least {}", parameter.least);
  return has_most(parameter) ? fmt::format("at most {}", parameter.most) : "";
}

std::string default_text(const Parameter& parameter) {
  if (parameter.is_required) return "(required)";
  const std::string text = elements::to_text(parameter.default_value);
  return text.empty() ? "\"\"" : text;
}

/// A bound as a number of the parameter's type.
ordered_json bound_json(const Parameter& parameter, double bound) {
  return std::holds_alternative<std::int64_t>(parameter.default_value) ? ordered_json(static_cast<std::int64_t>(bound))
                                                                       : ordered_json(bound);
}

ordered_json parameter_json(const Parameter& parameter) {
  ordered_json one = {{"name", parameter.name}, {"about", parameter.about}, {"type", type_name(parameter)}};
  if (parameter.is_required)
    one["required"] = true;
  else
    one["default"] = std::visit([](const auto& held) { return ordered_json(held); }, parameter.default_value);
  if (has_least(parameter)) one["least"] = bound_json(parameter, parameter.least);
  if (has_most(parameter)) one["most"] = bound_json(parameter, parameter.most);
  if (!parameter.choices.empty()) one["choices"] = parameter.choices;
  return one;
}

ordered_json element_json(const Description& element) {
  ordered_json parameters = ordered_json::array();
  for (const Parameter& parameter : element.parameters) parameters.push_back(parameter_json(parameter));
  return {{"name", element.name},        {"about", element.about},           {"role", role_name(element.role)},
          {"shared", element.is_shared}, {"own_thread", element.has_thread}, {"parameters", parameters}};
}

void show_element(const Description& element) {
  fmt::print("{} ({}): {}\n", element.name, role_name(element.role), element.about);
  if (element.is_shared) fmt::print("One instance serves all its streams.\n");
  if (element.has_thread) fmt::print("It has a thread and a queue of its own.\n");
  if (element.parameters.empty()) {
    fmt::print("It has no parameters.\n");
    return;
  }
  std::vector<std::vector<std::string>> rows{{"parameter", "type", "default", "allowed", "about"}};
  for (const Parameter& parameter : element.parameters)
    rows.push_back(
        {parameter.name, type_name(parameter), default_text(parameter), allowed(parameter), parameter.about});
  fmt::print("\n{}", text_table(rows));
}

void show_all(bool json) {
  const auto known = elements::known_elements();
  const auto absent = elements::absent_elements();
  if (json) {
    ordered_json all = {{"elements", ordered_json::array()}, {"absent", ordered_json::array()}};
    for (const Description& element : known) all["elements"].push_back(element_json(element));
    for (const auto& module : absent) all["absent"].push_back({{"module", module.module}, {"reason", module.reason}});
    fmt::print("{}", json_text(all));
    return;
  }
  std::vector<std::vector<std::string>> rows{{"element", "role", "about"}};
  for (const Description& element : known) rows.push_back({element.name, role_name(element.role), element.about});
  fmt::print("{}\ntenon elements NAME shows the parameters of an element.\n", text_table(rows));
  for (const auto& module : absent) fmt::print("\nabsent: the elements of '{}': {}\n", module.module, module.reason);
}

void show(const ElementsOptions& options) {
  if (options.schema)
    fmt::print("{}", elements::pipeline_schema());
  else if (options.name.empty())
    show_all(options.json);
  else if (options.json)
    fmt::print("{}", json_text(element_json(elements::find_element(options.name))));
  else
    show_element(elements::find_element(options.name));
}

}  // namespace

void add_elements(CLI::App& app) {
  auto* command =
      app.add_subcommand("elements", "List the elements of which pipelines can be made, and their parameters");
  auto options = std::make_shared<ElementsOptions>();
  command->add_option("name", options->name, "Show only this element, with its parameters");
  command->add_flag("--json", options->json, "Print JSON");
  command->add_flag("--schema", options->schema, "Print the JSON schema of pipeline files, for editors");
  command->callback([options] { show(*options); });
}

}  // namespace tenon::tool
