// SPDX-License-Identifier: Apache-2.0
// Kernels of nodes at which a model is cut: how many elements they make depends on values.
#pragma once

#include <vector>

#include <tenon/core/tensor.hpp>
#include <tenon/graph/node.hpp>

namespace tenon::inline v1::engine {

/// Computes the node on packed tensors, as its reference kernel does, split over the workers of the calling arena.
/// @param inputs  Have the shapes that the node was inferred with.
/// @return the kernel's name; null if there is none for these types: nothing has been done then.
const char* run_cut_kernel(const Node& node, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs);

}  // namespace tenon::inline v1::engine
