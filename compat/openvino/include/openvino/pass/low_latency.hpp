// SPDX-License-Identifier: Apache-2.0
// Loops over time become states.
#pragma once

#include <memory>

#include "openvino/pass/pass.hpp"

namespace ov {
namespace pass {

/// What an iteration of a TensorIterator or Loop hands to the next one is kept from inference to inference, too, in a state named
/// loop/parameter/variable_N. Loops of one iteration become the operations of their bodies.
class OPENVINO_API LowLatency2 : public ModelPass {
 public:
  OPENVINO_MODEL_PASS_RTTI("LowLatency2")
  /// @param use_const_initializer States begin with zeros; false: with what the loop's input has.
  explicit LowLatency2(bool use_const_initializer = true) : starts_with_zeros_(use_const_initializer) {}
  bool run_on_model(const std::shared_ptr<Model>& model) override;

 private:
  bool starts_with_zeros_;
};

}  // namespace pass
}  // namespace ov
