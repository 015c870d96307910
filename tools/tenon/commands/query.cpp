// SPDX-License-Identifier: Apache-2.0
// tenon query: says what is known of a model, which of its nodes a device runs, and why it does not run others.
#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <tenon/graph/knowledge/model_info.hpp>
#include <tenon/graph/operation_table.hpp>
#include <tenon/runtime/core.hpp>
#include <tenon/vision/decode.hpp>

#include <tenon/tools/tenon/commands/commands.hpp>
#include <tenon/tools/tenon/shared/json_text.hpp>
#include <tenon/tools/tenon/shared/known_device.hpp>
#include <tenon/tools/tenon/shared/model_options.hpp>
#include <tenon/tools/tenon/shared/option_checks.hpp>
#include <tenon/tools/tenon/show/models/stage.hpp>
#include <tenon/tools/tenon/show/text/text_table.hpp>

namespace tenon::tool {
namespace {

struct QueryOptions {
  std::string model, device = "CPU";
  ModelOptions model_options;
  bool json = false, all = false;
};

struct NodeAnswer {
  std::string name, type, version, shape, device, reason;
  bool supported() const { return !device.empty(); }
};

struct TypeCount {
  std::size_t supported = 0, lacking = 0;
};

struct Answer {
  std::vector<NodeAnswer> nodes;
  std::map<std::string, TypeCount> types;
  std::size_t lacking = 0;
  std::string device_says;  ///< The error of compiling the model, if nodes are not supported.
};

/// Why a device does not run a node, as far as that can be found out from outside the device.
std::string reason_for(const Node& node, const std::string& device) {
  if (!node.operation().evaluate)
    return device + " has no kernel for " + node.get_type_name() + ", and the operation table has no reference kernel";
  return device + " has no kernel for " + std::string(node.get_type_name()) + " " + node.operation().version +
         " with these types, shapes or attributes (the operation table has a reference kernel)";
}

std::string outputs_text(const Node& node) {
  std::string text;
  for (std::size_t i = 0; i < node.get_output_size(); ++i) {
    text += (i ? ", " : "") + std::string(name(node.get_output_element_type(i))) + " " +
            node.get_output_partial_shape(i).to_string();
  }
  return text;
}

Answer ask(Core& core, const std::shared_ptr<Model>& model, const QueryOptions& options) {
  Answer answer;
  const AnyMap properties = properties_of(options.model_options);
  const SupportedOpsMap supported = core.query_model(model, options.device, properties);
  for (const auto& node : model->get_ordered_ops()) {
    const auto found = supported.find(node->get_friendly_name());
    NodeAnswer one{node->get_friendly_name(),
                   node->get_type_name(),
                   node->operation().version,
                   outputs_text(*node),
                   found == supported.end() ? "" : found->second,
                   ""};
    TypeCount& type = answer.types[one.type + " " + one.version];
    if (one.supported()) {
      ++type.supported;
    } else {
      one.reason = reason_for(*node, options.device);
      ++type.lacking;
      ++answer.lacking;
    }
    answer.nodes.push_back(std::move(one));
  }
  if (answer.lacking == 0) return answer;
  try {
    core.compile_model(model, options.device, properties);
  } catch (const std::exception& error) {
    answer.device_says = error.what();
  }
  return answer;
}

nlohmann::json json_of(const ModelInfo& info, const std::vector<std::string>& fitting) {
  nlohmann::json facts = nlohmann::json::array();
  for (const Fact& fact : info.facts())
    facts.push_back({{"key", fact.key}, {"value", fact.value}, {"source", fact.source}});
  return {{"facts", std::move(facts)},
          {"labels", info.labels()},
          {"decoder", info.model_type()},
          {"fitting_decoders", fitting},
          {"remarks", info.remarks()}};
}

/// What is known of the model, a line for each fact.
void print_facts(const ModelInfo& info, const std::vector<std::string>& fitting) {
  std::vector<std::vector<std::string>> rows{{"fact", "value", "from"}};
  for (const Fact& fact : info.facts()) {
    const std::string count = fact.key == "labels" ? std::to_string(info.labels().size()) + ": " : "";
    rows.push_back({fact.key, count + fact.short_value(), fact.source});
  }
  if (const std::string type = info.model_type(); !type.empty() && type != info.text("model_type"))
    rows.push_back({"decoder", type, "task and shapes"});
  if (rows.size() > 1) fmt::print("{}\n", text_table(rows));
  if (info.model_type().empty() && !fitting.empty())
    fmt::print("it does not say what its outputs mean; they fit {}\n", fmt::join(fitting, ", "));
  for (const std::string& remark : info.remarks()) fmt::print("note: {}\n", remark);
}

void print_json(const Answer& answer, const ModelInfo& info, const std::vector<std::string>& fitting,
                const QueryOptions& options) {
  nlohmann::json nodes = nlohmann::json::array(), types = nlohmann::json::array();
  for (const NodeAnswer& node : answer.nodes) {
    nlohmann::json one{{"name", node.name},
                       {"type", node.type},
                       {"version", node.version},
                       {"outputs", node.shape},
                       {"supported", node.supported()}};
    if (node.supported())
      one["device"] = node.device;
    else
      one["reason"] = node.reason;
    nodes.push_back(std::move(one));
  }
  for (const auto& [type, count] : answer.types)
    types.push_back({{"type", type}, {"supported", count.supported}, {"not_supported", count.lacking}});
  nlohmann::json all{{"model", options.model}, {"device", options.device},        {"nodes", nodes},
                     {"types", types},         {"not_supported", answer.lacking}, {"whole_model", answer.lacking == 0}};
  if (!answer.device_says.empty()) all["device_says"] = answer.device_says;
  all["known"] = json_of(info, fitting);
  fmt::print("{}", json_text(all));
}

void print_text(const Answer& answer, const QueryOptions& options) {
  std::vector<std::vector<std::string>> rows{{"node", "operation", "outputs", "runs on", "why not"}};
  for (const NodeAnswer& node : answer.nodes) {
    if (node.supported() && !options.all) continue;
    rows.push_back(
        {node.name, node.type + " " + node.version, node.shape, node.supported() ? node.device : "-", node.reason});
  }
  if (rows.size() > 1) fmt::print("{}\n", text_table(rows));
  rows = {{"operation", "runs", "does not"}};
  for (const auto& [type, count] : answer.types)
    rows.push_back({type, std::to_string(count.supported), count.lacking ? std::to_string(count.lacking) : ""});
  fmt::print("{}\n", text_table(rows));
  if (answer.lacking == 0) {
    fmt::print("{} runs all {} nodes of {}\n", options.device, answer.nodes.size(), options.model);
    return;
  }
  fmt::print("{} runs {} of {} nodes of {}\n", options.device, answer.nodes.size() - answer.lacking,
             answer.nodes.size(), options.model);
  if (!answer.device_says.empty()) fmt::print("compiling it fails with: {}\n", answer.device_says);
  if (!options.all) fmt::print("all nodes: --all\n");
}

void query(const QueryOptions& options) {
  Core core;
  check_device(core, options.device);
  const auto model = [&] {
    const Stage stage("reading " + options.model);
    return core.read_model(options.model);
  }();
  describe(*model, options.model_options);
  reshape(*model, options.model_options);
  const ModelInfo info(*model);
  const Answer answer = [&] {
    const Stage stage("asking " + options.device);
    return ask(core, model, options);
  }();
  const std::vector<std::string> fitting = vision::fitting_decoders(*model);
  if (options.json) return print_json(answer, info, fitting, options);
  print_facts(info, fitting);
  print_text(answer, options);
}

}  // namespace

void add_query(CLI::App& app) {
  auto* command = app.add_subcommand(
      "query", "Say what is known of a model, which of its nodes a device runs, and why it does not run others");
  auto options = std::make_shared<QueryOptions>();
  command->add_option("model", options->model, "ONNX file, or the .xml of an OpenVINO IR")
      ->type_name(kModelFile)
      ->required();
  command->add_option("-d,--device", options->device, "Device, as 'tenon devices' lists it")->capture_default_str();
  add_shape_option(*command, options->model_options);
  add_setting_option(*command, options->model_options);
  add_fact_options(*command, options->model_options);
  command->add_flag("-a,--all", options->all, "List the nodes that run, too");
  command->add_flag("--json", options->json, "Print JSON");
  command->footer(
      "\nFacts about the model come with the place that states them: an option, the model itself, a file beside it.\n"
      "Nodes that the device does not run are listed with the reason; then their number for each operation.\n"
      "Nothing runs. The exit status is 0 even if nodes are left out: look at \"whole_model\" of --json.\n"
      "\nExamples:\n"
      "  tenon query model.onnx                         the nodes that the CPU does not run\n"
      "  tenon query model.xml --device GPU.1 --all     every node\n"
      "  tenon query model.onnx --shape \"x[1,3,?,?]\"    with other shapes\n"
      "  tenon query model.onnx --json | jq '.nodes[] | select(.supported | not) | .type' | sort | uniq -c\n");
  command->callback([options] { query(*options); });
}

}  // namespace tenon::tool
