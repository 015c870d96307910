// SPDX-License-Identifier: Apache-2.0
// The base of operations.
#pragma once

#include <memory>
#include <utility>

#include "openvino/core/attribute_adapter.hpp"
#include "openvino/core/attribute_visitor.hpp"
#include "openvino/core/node.hpp"
#include "openvino/core/rtti.hpp"

/// The name and version of an operation's class.
#define OPENVINO_OP(...) OPENVINO_RTTI(__VA_ARGS__)
#define OPENVINO_FRAMEWORK_MAP(...)

namespace ov {
namespace op {

/// A program may declare operations of its own. @errors NotImplemented: one is made, since no device computes it.
class OPENVINO_API Op : public Node {
 public:
  OPENVINO_RTTI("Op", "util")

 protected:
  Op();
  explicit Op(const OutputVector& arguments);
  explicit Op(std::shared_ptr<Impl> impl) : Node(std::move(impl)) {}
};

}  // namespace op
}  // namespace ov
