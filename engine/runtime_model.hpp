// SPDX-License-Identifier: Apache-2.0
// The steps that the engine executes, as a model.
#pragma once

#include <memory>
#include <span>

#include <tenon/engine/engine.hpp>
#include <tenon/engine/staged.hpp>
#include <tenon/graph/model.hpp>

namespace tenon::inline v1::engine {

/// A model of exec_model_info::ExecutionNode, one for each step, between the given model's inputs and outputs: steps are
/// joined as values flow through memory, their kinds, kernels, layouts and bytes are in the run-time information of
/// each. Reorders that the engine inserted are steps as well; weights are bytes of the steps that read them; the value
/// that a state has before the run is a node of type ReadValue.
/// @param times  How long the plan's steps took; may be empty.
/// @thread any.
std::shared_ptr<Model> runtime_model(const Plan& plan, std::span<const Execution::Timing> times = {});
/// The same for what ran last: plans, and between them the nodes at which the model was cut. A loop at which it was cut
/// is one node.
/// @param model  The one that ran, whose inputs and outputs have their names and order.
std::shared_ptr<Model> runtime_model(const Model& model, const LastRun& run);

}  // namespace tenon::inline v1::engine
