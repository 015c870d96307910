// SPDX-License-Identifier: Apache-2.0
// What can be changed in a pipeline without changing what it does.
#pragma once

#include <string>
#include <vector>

#include <tenon/elements/pipeline_spec.hpp>

namespace tenon::tool {

/// A parameter of one node, and values to try.
struct Knob {
  std::string node;
  /// A parameter's name; "properties:KEY" for one of the device's properties; "queue" for the size of the queue before the node.
  std::string parameter;
  std::vector<std::string> values;
};

/// The knobs of a pipeline, those that change most first: the device, streams, threads, requests and batch of each model; where each converter
/// works; where each decoder works, and its threads; the size of each queue.
/// @param spec        As named() gives it.
/// @param devices     Devices that models may be moved to.
/// @param processors  Processors of this machine.
std::vector<Knob> knobs_of(const elements::PipelineSpec& spec, const std::vector<std::string>& devices,
                           unsigned processors);

/// The present value of a knob's parameter; where the file does not say, the element's default, or "auto" for a property.
std::string value_of(const elements::PipelineSpec& spec, const Knob& knob);

/// One change: a knob's parameter and its value.
struct Change {
  std::string node, parameter, value;
  /// "detect.requests=4"
  std::string text() const;
};

void apply(elements::PipelineSpec& spec, const Change& change);

/// The text of a pipeline file with the changes in it. Comments are lost, the order of entries is kept.
/// @param names  The name of each node of the file, in its order.
std::string with_changes(const std::string& file, const std::vector<std::string>& names,
                         const std::vector<Change>& changes);

}  // namespace tenon::tool
