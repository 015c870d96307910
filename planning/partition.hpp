// SPDX-License-Identifier: Apache-2.0
// Partitions of models at values that decide shapes, for engines that plan a part, run it, and plan the rest.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tenon/graph/model.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/node.hpp>

namespace tenon::inline v1::planning {

/// Output `second` of a node, as the key of a value.
using ValueKey = std::pair<const Node*, std::size_t>;
inline ValueKey key_of(const Output<Node>& output) { return {output.get_node(), output.get_index()}; }

/// The values that cross the boundary among those that these nodes read, each once, in the order in which they are
/// read.
OutputVector crossing_values(const NodeVector& readers,
                             const std::function<bool(const Node& reader, const Output<Node>& source)>& crosses);

/// A parameter that stands for a value which another part makes.
std::shared_ptr<op::v0::Parameter> parameter_for(const Output<Node>& value, const std::string& friendly_name);

/// What comes after the boundary, as a model of its own.
struct Remainder {
  std::shared_ptr<Model> model;
  std::vector<ValueKey> inputs;  ///< For each of its parameters, the value of the given model that it stands for.
};

/// Takes nodes out of their model: what they read of other nodes, constants apart, is replaced.
/// @param nodes  In the model's order. @param results  Values of these nodes. @param name  The made model's.
/// @param stand_in  Makes what they read instead of a value: a parameter (parameter_for()), or a constant if the value
///        is known. Called once for each value.
Remainder take_remainder(const NodeVector& nodes, const OutputVector& results, const std::string& name,
                         const std::function<Output<Node>(const Output<Node>& value)>& stand_in);

}  // namespace tenon::inline v1::planning
