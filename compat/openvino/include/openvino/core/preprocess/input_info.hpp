// SPDX-License-Identifier: Apache-2.0
// One input of a model under PrePostProcessor.
#pragma once

#include "openvino/core/preprocess/input_model_info.hpp"
#include "openvino/core/preprocess/input_tensor_info.hpp"
#include "openvino/core/preprocess/preprocess_steps.hpp"

namespace ov {
namespace preprocess {

/// One input of a model under PrePostProcessor.
class OPENVINO_API InputInfo final {
 public:
  InputTensorInfo& tensor() { return tensor_; }
  PreProcessSteps& preprocess() { return preprocess_; }
  InputModelInfo& model() { return model_; }

 private:
  friend class PrePostProcessor;
  explicit InputInfo(void* there);
  InputTensorInfo tensor_;
  PreProcessSteps preprocess_;
  InputModelInfo model_;
};

}  // namespace preprocess
}  // namespace ov
