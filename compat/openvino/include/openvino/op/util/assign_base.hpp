// SPDX-License-Identifier: Apache-2.0
// What the versions of Assign have in common.
#pragma once

#include <memory>
#include <utility>

#include "openvino/op/sink.hpp"
#include "openvino/op/util/variable_extension.hpp"

namespace ov {
namespace op {
namespace util {

class OPENVINO_API AssignBase : public Sink, public VariableExtension {
 public:
  OPENVINO_OP("AssignBase", "util", Sink)

 protected:
  explicit AssignBase(std::shared_ptr<Impl> impl, std::shared_ptr<Variable> variable = {})
      : Sink(std::move(impl)), VariableExtension(std::move(variable)) {}
};

}  // namespace util
}  // namespace op
}  // namespace ov
