// SPDX-License-Identifier: Apache-2.0
// Notes on nodes that go over from replaced nodes to those that replace them.
#pragma once

#include <memory>

#include "openvino/core/node.hpp"

namespace ov {

/// Copies what may be copied; the entries of several sources are joined, earlier ones first.
OPENVINO_API void copy_runtime_info(const std::shared_ptr<Node>& from, const std::shared_ptr<Node>& to);
OPENVINO_API void copy_runtime_info(const std::shared_ptr<Node>& from, NodeVector to);
OPENVINO_API void copy_runtime_info(const NodeVector& from, const std::shared_ptr<Node>& to);
OPENVINO_API void copy_runtime_info(const NodeVector& from, NodeVector to);
OPENVINO_API void copy_output_runtime_info(const OutputVector& from, OutputVector to);

}  // namespace ov
