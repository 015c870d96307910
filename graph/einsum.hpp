// SPDX-License-Identifier: Apache-2.0
// Labels of the axes in an Einsum's equation, shared by all implementations.
#pragma once

#include <string>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/graph/node.hpp>

namespace tenon {
inline namespace v1 {

/// One label for each axis: a letter, or a number below 'A' for the axes of an ellipsis, which broadcast.
struct EinsumLabels {
  std::vector<std::string> inputs;
  std::string output;
};

/// @pre the inputs' ranks are known. @errors kInvalidArgument: an equation that does not fit them.
TENON_API EinsumLabels einsum_labels(const Node& node);

}  // namespace v1
}  // namespace tenon
