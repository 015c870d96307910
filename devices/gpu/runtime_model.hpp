// SPDX-License-Identifier: Apache-2.0
// The launches of a plan, as a model.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include <tenon/devices/gpu/deferred_model.hpp>
#include <tenon/graph/model.hpp>

namespace tenon::inline v1::gpu_device {

/// Times of the launches of each subgraph; may be empty.
using SubgraphTimes = std::vector<std::vector<std::chrono::nanoseconds>>;

/// One node for each launch, joined as values flow through memory.
/// @param given  The model that was compiled, whose inputs and outputs have their names and order.
/// @param subgraphs  That ran one after the other.
std::shared_ptr<Model> runtime_model(const Model& given,
                                     const std::vector<std::shared_ptr<const PlannedSubgraph>>& subgraphs,
                                     const SubgraphTimes& times);

}  // namespace tenon::inline v1::gpu_device
