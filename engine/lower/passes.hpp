// SPDX-License-Identifier: Apache-2.0
// The passes that a model goes through before lowering.
#pragma once

#include <memory>

#include <tenon/engine/engine.hpp>
#include <tenon/graph/limits.hpp>
#include <tenon/graph/model.hpp>

namespace tenon::inline v1::engine {

/// A copy of the model with the passes run that kernels of this engine profit from.
std::shared_ptr<const Model> run_passes(const Model& model, const Options& options, const TimeLimit& time);

}  // namespace tenon::inline v1::engine
