// SPDX-License-Identifier: Apache-2.0
// The launches of a plan, as a model.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include <tenon/devices/gpu/open_model.hpp>
#include <tenon/graph/model.hpp>

namespace tenon::inline v1::gpu_device {

/// Of the launches of each stage; may be empty.
using StageTimes = std::vector<std::vector<std::chrono::nanoseconds>>;

/// One node for each launch, joined as values flow through memory.
/// @param given  The model that was compiled, whose inputs and outputs have their names and order.
/// @param stages  That ran one after the other.
std::shared_ptr<Model> runtime_model(const Model& given, const std::vector<std::shared_ptr<const Stage>>& stages,
                                     const StageTimes& times);

}  // namespace tenon::inline v1::gpu_device
