// SPDX-License-Identifier: Apache-2.0
// The reference interpreter: runs a model with the operation table's kernels. It is the reference in tests and every
// device's fallback.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/node.hpp>

namespace tenon {
inline namespace v1 {

/// State of ReadValue and Assign between runs, by variable_id.
using VariableMap = std::map<std::string, Tensor>;

/// Called with the outputs of each node, for dumps and comparisons.
using NodeHook = std::function<void(const Node& node, const std::vector<Tensor>& outputs)>;

/// Runs a node instead of its reference kernel. @return false: use the kernel.
using NodeRunner =
    std::function<bool(const Node& node, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs)>;

/// Runs the model once on the calling thread. Dynamic shapes are resolved from the inputs' shapes.
///
/// @param inputs     One per parameter, in order; types must be equal, shapes must fit.
/// @param variables  State; missing entries are initialised from ReadValue's input (zeros if it has none).
/// @return one packed tensor per result, in order.
/// @errors kInvalidArgument: an input that does not fit. kUnimplemented: an operation without a kernel (named).
/// @cost float accumulators, no blocking: correctness, not speed.
TENON_API std::vector<Tensor> evaluate(const Model& model, const std::vector<Tensor>& inputs,
                                       VariableMap* variables = nullptr, const NodeHook& hook = {});
/// As above; `runner` is called before each kernel.
TENON_API std::vector<Tensor> evaluate(const Model& model, const std::vector<Tensor>& inputs, VariableMap* variables,
                                       const NodeHook& hook, const NodeRunner& runner);

/// A tensor of zeros, or of empty strings.
TENON_API Tensor zero_tensor(ElementType type, const Shape& shape);

/// Whether an input or output of the node holds strings: objects, not bytes, which only the table's kernels take.
TENON_API bool has_strings(const Node& node);

/// Runs the node's kernel. `outputs` are the first of `planned` at the beginning, and the results at the end: what a kernel
/// makes in tensors of its own, since extents follow from values, is copied into the planned ones. Behind these, such
/// tensors stay. @errors kInternal: such a tensor is of another type or shape than the planned one.
TENON_API void evaluate_planned(const Node& node, std::span<const Tensor> inputs, std::span<const Tensor> planned,
                                std::span<Tensor> outputs);

/// Runs one node; output shapes are inferred from the inputs' actual shapes. @errors as above.
TENON_API std::vector<Tensor> evaluate_node(const Node& node, const std::vector<Tensor>& inputs);

}  // namespace v1
}  // namespace tenon
