// SPDX-License-Identifier: Apache-2.0
// Reads pipeline files, and applies settings to them.
#include <tenon/tools/tenon/shared/pipeline_file.hpp>

#include <cstddef>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/file.hpp>
#include <tenon/elements/parameters.hpp>

namespace tenon::tool {
namespace {

using elements::PipelineSpec;

constexpr std::size_t kMaxFileBytes = std::size_t{16} << 20;  ///< Ten thousand nodes take one or two MiB.

/// @errors kInvalidArgument: more than kMaxFileBytes.
std::string read_all(std::istream& in) {
  std::string text(kMaxFileBytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > kMaxFileBytes)
    throw Error(Code::kInvalidArgument, "a pipeline file of more than " + std::to_string(kMaxFileBytes >> 20) +
                                            " MiB is not read; is it another file, or one with data in it?");
  text.shrink_to_fit();
  return text;
}

}  // namespace

std::string pipeline_text(const std::string& file) {
  if (file == "-") return read_all(std::cin);
  const RegularFile known(file);  // Throws, with the reason, if it is not a regular file.
  std::ifstream in(file, std::ios::binary);
  return read_all(in);
}

PipelineSpec read_pipeline(const std::string& text, const std::string& file) {
  try {
    return elements::parse_pipeline(text);
  } catch (const Error& error) {
    if (error.code() != Code::kInvalidArgument) throw;
    throw Error(error.code(), file + ": " + error.what());
  }
}
PipelineSpec read_pipeline(const std::string& file) { return read_pipeline(pipeline_text(file), file); }

PipelineSpec named(PipelineSpec spec) {
  const elements::PipelinePlan plan = elements::plan_pipeline(spec);
  spec.nodes.clear();
  for (const elements::PipelinePlan::Node& node : plan.nodes) spec.nodes.push_back(node.spec);
  return spec;
}

std::vector<std::string> names_of(const PipelineSpec& spec) {
  // As plan_pipeline() does, which sorts the nodes: the element's name, and a number if that is taken.
  std::set<std::string> taken;
  std::map<std::string, int> numbers;
  std::vector<std::string> names;
  for (const elements::NodeSpec& node : spec.nodes) taken.insert(node.name);
  for (const elements::NodeSpec& node : spec.nodes) {
    std::string name = node.name.empty() ? node.element : node.name;
    int& number = numbers.try_emplace(node.element, 1).first->second;
    while (node.name.empty() && !taken.insert(name).second) name = node.element + std::to_string(++number);
    names.push_back(std::move(name));
  }
  return names;
}

void apply_setting(PipelineSpec& spec, const std::string& setting) {
  const std::size_t equals = setting.find('='), dot = setting.rfind('.', equals);
  if (equals == std::string::npos || dot == std::string::npos || dot == 0 || dot + 1 == equals)
    throw Error(Code::kInvalidArgument, "--set \"" + setting + "\" is not NODE.PARAMETER=VALUE");
  const std::string node = setting.substr(0, dot);
  std::vector<std::string> names;
  for (elements::NodeSpec& one : spec.nodes) {
    if (one.name == node) {
      one.parameters[setting.substr(dot + 1, equals - dot - 1)] = setting.substr(equals + 1);
      return;
    }
    names.push_back(one.name);
  }
  const std::string nearest = elements::nearest_name(node, names);
  std::string known;
  for (const std::string& name : names) known += (known.empty() ? "" : ", ") + name;
  throw Error(Code::kNotFound, "--set \"" + setting + "\": there is no node '" + node + "'; " +
                                   (nearest.empty() ? "there are: " + known : "did you mean '" + nearest + "'?"));
}

}  // namespace tenon::tool
