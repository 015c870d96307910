// SPDX-License-Identifier: Apache-2.0
// The options --shape and --set.
#include <tenon/tools/tenon/shared/model_options.hpp>

#include <CLI/CLI.hpp>

#include <tenon/core/error.hpp>

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
    const auto equals = text.find('=');
    if (equals == 0 || equals == std::string::npos)
      throw Error(Code::kInvalidArgument, "--set \"" + text + "\" is not KEY=VALUE, as NUM_STREAMS=2");
    properties[text.substr(0, equals)] = Any(text.substr(equals + 1));
  }
  return properties;
}

}  // namespace tenon::tool
