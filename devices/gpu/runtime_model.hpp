// SPDX-License-Identifier: Apache-2.0
// The launches of a plan, as a model.
#pragma once

#include <chrono>
#include <memory>
#include <span>

#include <tenon/devices/gpu/plan/plan.hpp>
#include <tenon/graph/model.hpp>

namespace tenon::inline v1::gpu_device {

/// One node for each launch, joined as values flow through memory.
/// @param given  The model that was compiled, whose inputs and outputs have their names and order.
/// @param times  Of the plan's launches; may be empty.
std::shared_ptr<Model> runtime_model(const Model& given, const Plan& plan,
                                     std::span<const std::chrono::nanoseconds> times);

}  // namespace tenon::inline v1::gpu_device
