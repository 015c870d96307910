// SPDX-License-Identifier: Apache-2.0
// The files of all elements of a pipeline.
#include <tenon/core/error.hpp>
#include <tenon/elements/pipeline_spec.hpp>
#include <tenon/elements/registry.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {

void add_files(UsedFiles& files, const PipelinePlan& plan) {
  for (const PipelinePlan::Node& node : plan.nodes) {
    const Environment environment{node.spec.name, nullptr, node.streams};
    const ElementFiles own = element_files(description_of(node.spec), node.spec.parameters, environment);
    const std::string who = "element '" + node.spec.name + "':";
    for (const std::string& path : own.read) files.add_input(path, who);
    for (const std::string& path : own.written) files.add_output(path, who, own.appends);
  }
}

}  // namespace elements
}  // namespace v1
}  // namespace tenon
