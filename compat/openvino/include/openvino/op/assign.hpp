// SPDX-License-Identifier: Apache-2.0
// Writes a state.
#pragma once

#include "openvino/op/util/assign_base.hpp"
#include "openvino/op/util/make.hpp"

namespace ov {
namespace op {
namespace v3 {
class OPENVINO_API Assign : public util::AssignBase {
 public:
  OPENVINO_OP("Assign", "opset3", util::AssignBase)
  Assign(const Output<Node>& value, const std::string& variable_id)
      : AssignBase(ov::detail::make_op("Assign", 3, {value}, {{"variable_id", variable_id}})) {}
  explicit Assign(std::shared_ptr<Impl> impl) : AssignBase(std::move(impl)) {}
};
}  // namespace v3
namespace v6 {
class OPENVINO_API Assign : public util::AssignBase {
 public:
  OPENVINO_OP("Assign", "opset6", util::AssignBase)
  Assign(const Output<Node>& value, const std::shared_ptr<util::Variable>& variable)
      : AssignBase(ov::detail::make_op("Assign", 6, {value},
                                       {{"variable_id", variable->get_info().variable_id},
                                        {"variable_type", variable->get_info().data_type},
                                        {"variable_shape", variable->get_info().data_shape.to_string()}}),
                   variable) {}
  explicit Assign(std::shared_ptr<Impl> impl) : AssignBase(std::move(impl)) {}
};
}  // namespace v6
}  // namespace op
}  // namespace ov
