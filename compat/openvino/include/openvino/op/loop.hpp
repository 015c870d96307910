// SPDX-License-Identifier: Apache-2.0
// A loop that ends by a count or by a condition.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "openvino/op/constant.hpp"
#include "openvino/op/util/sub_graph_base.hpp"

namespace ov {
namespace op {
namespace v5 {
/// Runs its body at most trip_count times (negative: any number) while a condition holds: first the input's, then that of the body's result.
class OPENVINO_API Loop : public util::SubGraphOp {
 public:
  /// The parameter that gets the iteration's number, -1: none; and the result that says whether to go on, which is required.
  struct SpecialBodyPorts {
    SpecialBodyPorts() = default;
    SpecialBodyPorts(std::int64_t in_current_iteration_input_idx, std::int64_t in_body_condition_output_idx)
        : current_iteration_input_idx(in_current_iteration_input_idx),
          body_condition_output_idx(in_body_condition_output_idx) {}
    std::int64_t current_iteration_input_idx = -1;
    std::int64_t body_condition_output_idx = -1;
  };
  OPENVINO_OP("Loop", "opset5", util::SubGraphOp)
  Loop();
  Loop(const Output<Node>& trip_count, const Output<Node>& execution_condition);
  explicit Loop(std::shared_ptr<Impl> impl) : SubGraphOp(std::move(impl)) {}
  void set_special_body_ports(const SpecialBodyPorts& special_body_ports);
  SpecialBodyPorts get_special_body_ports() const;
};
}  // namespace v5
}  // namespace op
}  // namespace ov
