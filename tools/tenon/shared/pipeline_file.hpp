// SPDX-License-Identifier: Apache-2.0
// Reads the file of a pipeline for commands.
#pragma once

#include <string>
#include <vector>

#include <tenon/elements/pipeline_spec.hpp>

namespace tenon::tool {

/// The text of a pipeline file. @param file  "-": standard input.
/// @errors kInvalidArgument: more than 16 MiB, or no regular file; kNotFound.
std::string pipeline_text(const std::string& file);

/// @errors as pipeline_text() and elements::parse_pipeline(); the message names the file.
elements::PipelineSpec read_pipeline(const std::string& file);
elements::PipelineSpec read_pipeline(const std::string& text, const std::string& file);

/// The same with a name and the nodes before it for every node, in the order of its plan. @errors as elements::plan_pipeline()
elements::PipelineSpec named(elements::PipelineSpec spec);

/// The names that the plan gives to the nodes of a file, in the file's order.
std::vector<std::string> names_of(const elements::PipelineSpec& spec);

/// Applies "node.parameter=value". @errors kInvalidArgument: not of that form; kNotFound: no such node.
void apply_setting(elements::PipelineSpec& spec, const std::string& setting);

}  // namespace tenon::tool
