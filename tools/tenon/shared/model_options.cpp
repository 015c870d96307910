// SPDX-License-Identifier: Apache-2.0
// The options --shape, --set, --fact and --side-file.
#include <tenon/tools/tenon/shared/model_options.hpp>

#include <map>
#include <utility>

#include <CLI/CLI.hpp>

#include <tenon/core/error.hpp>
#include <tenon/graph/knowledge/model_info.hpp>
#include <tenon/graph/knowledge/side_files.hpp>

#include <tenon/tools/tenon/shared/option_checks.hpp>

namespace tenon::tool {

void add_shape_option(CLI::App& command, ModelOptions& options) {
  command
      .add_option(
          "--shape", options.shapes,
          "New shape of an input: \"images[1,3,480,640]\"; ? is any extent, 1..8 a range; without a name: the only "
          "input. May be given several times")
      ->allow_extra_args(false);
}

void add_setting_option(CLI::App& command, ModelOptions& options) {
  command
      .add_option(
          "--set", options.settings,
          "Setting of the device, KEY=VALUE: NUM_STREAMS=2, INFERENCE_PRECISION_HINT=bf16. May be given several "
          "times")
      ->allow_extra_args(false);
}

void add_fact_options(CLI::App& command, ModelOptions& options) {
  command
      .add_option("--fact", options.facts,
                  "What you know of the model, KEY=VALUE, instead of what it says: scale_values=255, color_space=BGR, "
                  "model_type=YOLOv8, labels=cat,dog. May be given several times; docs/guide/models.md lists the keys")
      ->allow_extra_args(false);
  command
      .add_option("--side-file", options.side_file,
                  "File that describes the model: a model-proc, metadata.yaml, config.json, preprocessor_config.json, "
                  "inference.yml or .modelinfo; without it, those beside the model are read")
      ->type_name(kSideFile);
}

namespace {

/// Splits KEY=VALUE. @errors kInvalidArgument
std::pair<std::string, std::string> key_and_value(const std::string& option, const std::string& text,
                                                  const char* example) {
  const auto equals = text.find('=');
  if (equals == 0 || equals == std::string::npos)
    throw Error(Code::kInvalidArgument, option + " \"" + text + "\" is not KEY=VALUE, as " + example);
  return {text.substr(0, equals), text.substr(equals + 1)};
}

}  // namespace

void describe(Model& model, const ModelOptions& options) {
  if (!options.side_file.empty()) read_side_file(options.side_file, model);
  std::map<std::string, std::string> facts;
  for (const std::string& text : options.facts) {
    const auto [key, value] = key_and_value("--fact", text, "scale_values=255");
    facts[key] = value;
  }
  state(model, facts);
}

void reshape(Model& model, const ModelOptions& options) {
  if (options.shapes.empty()) return;
  std::map<std::string, PartialShape> by_name;
  for (const std::string& text : options.shapes) {
    const auto bracket = text.find('[');
    if (bracket == std::string::npos || text.back() != ']')
      throw Error(Code::kInvalidArgument, "--shape \"" + text + "\" is not NAME[extent,extent,...]");
    std::string name = text.substr(0, bracket);
    if (name.empty()) {
      const auto inputs = model.inputs();
      if (inputs.size() != 1) {
        throw Error(Code::kInvalidArgument, "--shape \"" + text + "\" names no input, and the model has " +
                                                std::to_string(inputs.size()) + ": " + ports_text(inputs));
      }
      return model.reshape(PartialShape(text.substr(bracket)));
    }
    by_name[name] = PartialShape(text.substr(bracket));
  }
  model.reshape(by_name);
}

AnyMap properties_of(const ModelOptions& options) {
  AnyMap properties;
  for (const std::string& text : options.settings) {
    const auto [key, value] = key_and_value("--set", text, "NUM_STREAMS=2");
    properties[key] = Any(value);
  }
  return properties;
}

}  // namespace tenon::tool
