// SPDX-License-Identifier: Apache-2.0
// compute-layers-with-higher-precision: layers that stay in f32 when the rest of a graph is rounded.
#pragma once

#include <string>
#include <vector>

#include <tenon/graph/model.hpp>

namespace tenon::npu::compiler {

/// Marks the model's nodes of these types (also in bodies) for the engine. Types are those of operation sets,
/// in any case, plus the hardware compilers' names: FullyConnected is MatMul, Add_RMSNorm an addition between
/// a mean and a square root.
/// @return warnings: types that are in no operation set.
std::vector<std::string> mark_precise_layers(Model& model, const std::vector<std::string>& types);

}  // namespace tenon::npu::compiler
