// SPDX-License-Identifier: Apache-2.0
// The walk over a model that fills a plan.
#pragma once

#include <tenon/engine/plan/plan.hpp>
#include <tenon/graph/limits.hpp>
#include <tenon/graph/model.hpp>

namespace tenon::inline v1::engine {

/// Fills the plan's buffers and steps from its model: folds constants, finds chains, looks each up in the table, falls
/// back to single nodes and to reference kernels.
/// @errors kUnimplemented: nodes without any kernel; kFailedPrecondition: a dynamic shape; kDeadlineExceeded: `time` is
/// over.
void lower(PlanImpl& plan, const Model& model, const TimeLimit& time);

}  // namespace tenon::inline v1::engine
