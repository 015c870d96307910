// SPDX-License-Identifier: Apache-2.0
// Reads a state.
#pragma once

#include "openvino/op/util/make.hpp"
#include "openvino/op/util/read_value_base.hpp"

namespace ov {
namespace op {
namespace v3 {
class OPENVINO_API ReadValue : public util::ReadValueBase {
 public:
  OPENVINO_OP("ReadValue", "opset3", util::ReadValueBase)
  ReadValue(const Output<Node>& initial, const std::string& variable_id)
      : ReadValueBase(ov::detail::make_op("ReadValue", 3, {initial}, {{"variable_id", variable_id}})) {}
  explicit ReadValue(std::shared_ptr<Impl> impl) : ReadValueBase(std::move(impl)) {}
};
}  // namespace v3
namespace v6 {
class OPENVINO_API ReadValue : public util::ReadValueBase {
 public:
  OPENVINO_OP("ReadValue", "opset6", util::ReadValueBase)
  ReadValue(const Output<Node>& initial, const std::shared_ptr<util::Variable>& variable)
      : ReadValueBase(make({initial}, variable->get_info()), variable) {}
  /// It begins with zeros.
  explicit ReadValue(const std::shared_ptr<util::Variable>& variable)
      : ReadValueBase(make({}, variable->get_info()), variable) {}
  explicit ReadValue(std::shared_ptr<Impl> impl) : ReadValueBase(std::move(impl)) {}

 private:
  static std::shared_ptr<Impl> make(const OutputVector& inputs, const util::VariableInfo& info) {
    return ov::detail::make_op("ReadValue", 6, inputs,
                               {{"variable_id", info.variable_id},
                                {"variable_type", info.data_type},
                                {"variable_shape", info.data_shape.to_string()}});
  }
};
}  // namespace v6
}  // namespace op
}  // namespace ov
