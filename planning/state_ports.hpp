// SPDX-License-Identifier: Apache-2.0
// States as inputs and outputs, for models whose states may change their shape from run to run.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include <tenon/graph/model.hpp>
#include <tenon/planning/growth.hpp>

namespace tenon::inline v1::planning {

/// A model without states. Those that have a value are parameters behind the model's own; what a run leaves in states
/// are results behind the model's own.
struct StatePorts {
  std::shared_ptr<const Model> model;
  std::vector<std::string> inputs, outputs;  ///< Ids of the states of these parameters and results.
  std::vector<Growth> growths;               ///< Those that can grow in place, without a capacity yet.
};

/// The ids that the model reads or assigns, in the order of its nodes.
std::vector<std::string> state_ids(const Model& model);

/// @param is_set  The ids of states that have a value; others take what the model initialises them with.
StatePorts state_ports(const Model& model, const std::set<std::string>& is_set);

}  // namespace tenon::inline v1::planning
