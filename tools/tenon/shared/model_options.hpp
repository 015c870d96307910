// SPDX-License-Identifier: Apache-2.0
// Options that several commands share: new shapes for inputs, settings of the device, facts about the model.
#pragma once

#include <string>
#include <vector>

#include <tenon/core/any.hpp>
#include <tenon/graph/model.hpp>

namespace CLI {
class App;
}

namespace tenon::tool {

struct ModelOptions {
  std::vector<std::string> shapes;    ///< "images[1,3,480,640]", or "[1,3,?,?]" for the only input.
  std::vector<std::string> settings;  ///< "NUM_STREAMS=2"
  std::vector<std::string> facts;     ///< "scale_values=255"
  std::string side_file;
};

/// Adds --shape and --set.
void add_shape_option(CLI::App& command, ModelOptions& options);
void add_setting_option(CLI::App& command, ModelOptions& options);
/// Adds --fact and --side-file.
void add_fact_options(CLI::App& command, ModelOptions& options);

/// @errors kInvalidArgument: a shape that cannot be read, or that the model cannot have; kNotFound: no such input
void reshape(Model& model, const ModelOptions& options);
/// Puts what the user states of the model into it. @errors as read_side_file() and state(); kInvalidArgument: a fact is not KEY=VALUE
void describe(Model& model, const ModelOptions& options);
/// @errors kInvalidArgument: a setting is not KEY=VALUE
AnyMap properties_of(const ModelOptions& options);

/// A text such as "images f32 [1,3,640,640], scale f32 [1]".
template <typename Ports>
std::string ports_text(const Ports& ports) {
  std::string text;
  for (const auto& port : ports) {
    text += (text.empty() ? "" : ", ") +
            (port.get_names().empty() ? port.get_node()->get_friendly_name() : port.get_any_name()) + " " +
            std::string(name(port.get_element_type())) + " " + port.get_partial_shape().to_string();
  }
  return text;
}

}  // namespace tenon::tool
