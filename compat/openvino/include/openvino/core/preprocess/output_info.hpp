// SPDX-License-Identifier: Apache-2.0
// One output of a model under PrePostProcessor.
#pragma once

#include "openvino/core/preprocess/output_model_info.hpp"
#include "openvino/core/preprocess/output_tensor_info.hpp"
#include "openvino/core/preprocess/postprocess_steps.hpp"

namespace ov {
namespace preprocess {

/// One output of a model under PrePostProcessor.
class OPENVINO_API OutputInfo final {
 public:
  OutputModelInfo& model() { return model_; }
  PostProcessSteps& postprocess() { return postprocess_; }
  OutputTensorInfo& tensor() { return tensor_; }

 private:
  friend class PrePostProcessor;
  explicit OutputInfo(void* there);
  OutputModelInfo model_;
  PostProcessSteps postprocess_;
  OutputTensorInfo tensor_;
};

}  // namespace preprocess
}  // namespace ov
