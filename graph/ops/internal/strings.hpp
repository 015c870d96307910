// SPDX-License-Identifier: Apache-2.0
// Kernels over strings: those of the operations on text, and movement by any other kernel.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <tenon/core/tensor.hpp>
#include <tenon/graph/node.hpp>

namespace tenon {
inline namespace v1 {

/// All elements in order; the tensor may be strided.
std::vector<std::string> strings_of(const Tensor& tensor);
Tensor strings_tensor(const Shape& shape, std::vector<std::string> values);

/// Runs the kernel of a node of which an input or output holds strings. Where the operation only moves or compares elements, its
/// kernel sees numbers in their place, one for each distinct string, in their order.
/// @errors kUnimplemented: the operation takes no strings
void evaluate_strings(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs);

}  // namespace v1
}  // namespace tenon
