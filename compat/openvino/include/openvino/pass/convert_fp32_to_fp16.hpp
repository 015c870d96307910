// SPDX-License-Identifier: Apache-2.0
// A model of single precision becomes one of half precision.
#pragma once

#include <memory>

#include "openvino/pass/pass.hpp"

namespace ov {
namespace pass {

/// Inputs, constants and conversions of f32 become f16, in bodies, too; the types of everything else follow.
class OPENVINO_API ConvertFP32ToFP16 : public ModelPass {
 public:
  OPENVINO_MODEL_PASS_RTTI("ConvertFP32ToFP16")
  bool run_on_model(const std::shared_ptr<Model>& model) override;
};

}  // namespace pass
}  // namespace ov
