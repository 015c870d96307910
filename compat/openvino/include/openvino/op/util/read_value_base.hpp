// SPDX-License-Identifier: Apache-2.0
// What the versions of ReadValue have in common.
#pragma once

#include <memory>
#include <utility>

#include "openvino/op/op.hpp"
#include "openvino/op/util/variable_extension.hpp"

namespace ov {
namespace op {
namespace util {

class OPENVINO_API ReadValueBase : public Op, public VariableExtension {
 public:
  OPENVINO_OP("ReadValueBase", "util", Op)

 protected:
  explicit ReadValueBase(std::shared_ptr<Impl> impl, std::shared_ptr<Variable> variable = {})
      : Op(std::move(impl)), VariableExtension(std::move(variable)) {}
};

}  // namespace util
}  // namespace op
}  // namespace ov
