// SPDX-License-Identifier: Apache-2.0
// From a model to a plan.
#pragma once

#include <memory>

#include <tenon/devices/gpu/lower/build/builder.hpp>
#include <tenon/devices/gpu/plan/launch_plan.hpp>
#include <tenon/graph/limits.hpp>
#include <tenon/graph/model.hpp>

namespace tenon::inline v1::gpu_device {

/// A copy of the model after the passes that this device's kernels benefit from.
/// @param fuses_attention  The nodes that exporters write for attention become one.
/// @param target  As for lower_model(): it decides which weights of few bits stay such.
std::shared_ptr<Model> run_passes(const Model& model, const TimeLimit& time, bool fuses_attention,
                                  const Target& target);

/// A copy of what run_passes() has made of a model with open shapes, after passes that hold whatever shapes it gets, as long as shape
/// inference accepts them.
std::shared_ptr<Model> run_moving_passes(const Model& prepared, const TimeLimit& time, bool fuses_attention);

/// @param model  After run_passes(); with known shapes.
/// @param is_special  For these shapes alone: they become constants of the kernels.
/// @param forms  How each input's tensor lies; none: all are plain.
/// @param choosing  Which of several kernels for a problem runs; none: rules decide.
/// @errors kUnimplemented: names every node that has no kernel, and why.
LaunchPlan lower_model(const Model& model, const Target& target, PackedWeights& weights, bool is_special,
                       const std::vector<InputForm>& forms, const TimeLimit& time, const Choosing& choosing = {});

}  // namespace tenon::inline v1::gpu_device
