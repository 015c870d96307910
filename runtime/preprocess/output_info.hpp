// SPDX-License-Identifier: Apache-2.0
// One output of a model under PrePostProcessor.
#pragma once

#include <memory>

#include <tenon/core/export.hpp>
#include <tenon/runtime/preprocess/output_model_info.hpp>
#include <tenon/runtime/preprocess/output_tensor_info.hpp>
#include <tenon/runtime/preprocess/postprocess_steps.hpp>

namespace tenon {
inline namespace v1 {
namespace preprocess {

class TENON_API OutputInfo final {
 public:
  OutputInfo(OutputInfo&& other) noexcept;
  OutputInfo& operator=(OutputInfo&& other) noexcept;
  ~OutputInfo();

  OutputModelInfo& model();
  PostProcessSteps& postprocess();
  OutputTensorInfo& tensor();

 private:
  friend class PrePostProcessor;
  OutputInfo();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace preprocess
}  // namespace v1
}  // namespace tenon
