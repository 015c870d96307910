// SPDX-License-Identifier: Apache-2.0
// The base of operations that matter although nothing reads them.
#pragma once

#include <memory>
#include <utility>

#include "openvino/op/op.hpp"

namespace ov {
namespace op {

/// Assign, and operations with bodies, in which an Assign may be.
class OPENVINO_API Sink : public Op {
 public:
  OPENVINO_RTTI("Sink", "util")

 protected:
  explicit Sink(std::shared_ptr<Impl> impl) : Op(std::move(impl)) {}
};

}  // namespace op
}  // namespace ov
